"""Does a crawl ask for every page that is linked, and for nothing else? Real documentation.

    python -m bench.coverage [--only PACKAGE,...] [--ways WAY,...] [--cache FOLDER] [--report FILE]

nginx serves eleven documentation sites from Debian's packages (`bench.documentation`), each on a
port of its own on loopback, some of them compressed. `bench.whole_closure`, which shares nothing
with Headgate, finds what can be reached there by links. Then all sites are crawled at once by
``headgate crawl`` with one process and with two, and by ``headgate manager`` with two nodes, which
share every other site between them. Each of the three in one leg; ended at a third and at two
thirds of the requests by Ctrl-C, as a terminal sends it to all processes of a command; and ended
there by ``kill -9`` of all of them. Then once more over what is known by then, in the same way.

A row is one site in one crawl. What counts is the server's log and the run's ``pages.parquet``:

    missing  to be reached by links and not asked for, or a page that is not in the table
    extra    asked for, or in the table, and reached by no link
    twice    in the table twice, or asked for again once it was stored; in one leg, asked for twice
    links    a page whose links in ``links.parquet`` lead elsewhere than by the independent program

Where a grid is ended, a node may ask again for what another has in a result that the manager does
not have yet; one of the two counts. That is no fault, and told beside. Anything else but 0 is named
and makes the exit code 1. ``--report`` writes the tables as Markdown.

Needs Debian 12 and nginx; packages are downloaded, not installed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from bench.arguments import parser
from bench.documentation import SITES, fetched, free_ports, served
from bench.ended_with_us import ended_with_us
from bench.speed import PACKAGES
from bench.whole_closure import Closure, Reply, Wanted
from xxhash import xxh3_64_intdigest

HEADGATE = [sys.executable, "-m", "headgate"]
END_AT = (1 / 3, 2 / 3)
CRAWLS = ("first", "second")
MOST_NAMED = 10
MASK = 2**64 - 1
MOST_SECONDS = 600.0
ENDING_SECONDS = 60.0
LATE_SECONDS = 0.05
"""nginx may log a request with the time of what it did before."""
INTERRUPTED = 130
NODES = ("n1", "n2")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to crawl."""

    by: str
    ended: signal.Signals | None

    def __str__(self) -> str:
        how = {None: "one leg", signal.SIGINT: "Ctrl-C twice", signal.SIGKILL: "killed twice"}
        return f"{self.by}, {how[self.ended]}"

    @property
    def has_leases(self) -> bool:
        return self.by == "2 nodes"


WAYS = [
    Way(by, ended)
    for by in ("1 process", "2 processes", "2 nodes")
    for ended in (None, signal.SIGINT, signal.SIGKILL)
]


@dataclass(frozen=True, slots=True)
class Site:
    """What there is to be found."""

    name: str
    seed: str
    closure: Closure
    statuses: dict[str, int]
    """Of all URLs of the closure."""
    links: dict[str, int]
    """Of each page that has some: `mark` of them together."""

    @property
    def home(self) -> str:
        return "://".join(urlsplit(self.seed)[:2])

    @property
    def pages(self) -> set[str]:
        """Without what is there for crawlers."""
        beside = {f"{self.home}/robots.txt", f"{self.home}/sitemap.xml"}
        return {url for url in self.closure.asked if self.statuses[url] == 200} - beside


@dataclass(slots=True)
class Row:
    site: str
    asked: int
    stored: int
    missing: list[str]
    extra: list[str]
    twice: list[str]
    links: list[str]
    leased: int
    """Asked for again under another lease."""

    @property
    def counts(self) -> tuple[int, ...]:
        wrong = (len(self.missing), len(self.extra), len(self.twice), len(self.links))
        return self.asked, self.stored, *wrong, self.leased


@dataclass(slots=True)
class Crawl:
    way: Way
    number: str
    """Of `CRAWLS`."""
    seconds: float
    rows: list[Row]

    @property
    def sums(self) -> list[int]:
        """As `Row.counts`."""
        return [sum(counts) for counts in zip(*(row.counts for row in self.rows), strict=True)]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--only", metavar="PACKAGE,...", help=f"of {', '.join(PACKAGES)}")
    options.add_argument("--ways", metavar="WAY,...", help="their numbers, from 1 to 9; all")
    options.add_argument(
        "--cache", metavar="FOLDER", type=Path, help="keeps the documentation",
        default=Path(tempfile.gettempdir()) / "headgate-documentation",
    )  # fmt: skip
    options.add_argument("--report", metavar="FILE", type=Path)
    chosen = options.parse_args()
    packages = chosen.only.split(",") if chosen.only else list(PACKAGES)
    ways = [WAYS[int(number) - 1] for number in chosen.ways.split(",")] if chosen.ways else WAYS
    if unknown := set(packages) - set(PACKAGES):
        options.error(f"no such package: {', '.join(sorted(unknown))}")
    folders = fetched(chosen.cache, [site for site in SITES if site.package in packages])
    with tempfile.TemporaryDirectory(prefix="headgate-") as name:
        log = Path(name) / "requests.log"
        log.touch()
        with served(folders, log) as seeds:
            sites = [closure_of(name, seed) for name, seed in seeds.items()]
            crawls = []
            for way in ways:
                for crawl in crawled(way, Path(name) / str(way).replace(" ", "-"), sites, log):
                    crawls.append(crawl)
                    print(line(crawl), flush=True)
    if chosen.report:
        chosen.report.write_text(report(sites, crawls), encoding="utf-8")
    return 1 if any(sum(crawl.sums[2:6]) for crawl in crawls) else 0


def line(crawl: Crawl) -> str:
    asked, stored, missing, extra, twice, links, leased = crawl.sums
    wrong = f"missing {missing}, extra {extra}, twice {twice}, links {links}"
    found = f"{asked:,} asked for, {stored:,} pages"
    words = [f"{crawl.way}, {crawl.number} crawl: {found}; {wrong}; {crawl.seconds:.1f} s"]
    if leased:
        words.append(f"    under two leases {leased}")
    for row in crawl.rows:
        for kind in ("missing", "extra", "twice", "links"):
            words += [f"    {row.site}: {kind} {url}" for url in getattr(row, kind)[:MOST_NAMED]]
    return "\n".join(words)


def closure_of(name: str, seed: str) -> Site:
    began = time.monotonic()
    statuses: dict[str, int] = {}
    replies: dict[str, Reply] = {}
    with closing(HTTPConnection(urlsplit(seed).netloc, timeout=30)) as connection:

        def get(url: str) -> Reply:
            if url not in replies:
                parts = urlsplit(url)
                connection.request("GET", f"{parts.path}?{parts.query}".rstrip("?"))
                response = connection.getresponse()
                headers = tuple(response.getheaders())
                replies[url] = Reply(response.status, headers, response.read())
                statuses[url] = response.status
            return replies[url]

        found = Closure(Wanted(name, (seed,)), get, linked=None)
        found.follow()
    counts = Counter(statuses[url] for url in found.asked)
    others = ", ".join(f"{n} × {status}" for status, n in sorted(counts.items()) if status != 200)
    seconds = time.monotonic() - began
    print(f"{name}: {counts[200]:,} in {seconds:.1f} s; besides {others}", flush=True)
    links = {url: marked(targets) for url, targets in found.links.items() if targets}
    found.links.clear()
    return Site(name, seed, found, statuses, links)


def crawled(way: Way, out: Path, sites: Sequence[Site], log: Path) -> Iterator[Crawl]:
    """The first crawl and the second."""
    out.mkdir()
    (out / "sites.toml").write_text(
        '[grid]\nlease = "10s"\n'
        + "".join(
            f'[site."{site.name}"]\nseeds = ["{site.seed}"]\ndelay = "0s"\n'
            f"nodes_at_once = {1 + number % 2}\n"
            for number, site in enumerate(sites)
        )
    )
    runner = Grid(out) if way.has_leases else Command(out, way.by.partition(" ")[0])
    urls = sum(len(site.closure.asked) for site in sites)
    for number in CRAWLS:
        before = log.stat().st_size
        began = time.monotonic()
        if way.ended is not None:
            begin_and_end(runner, way.ended, partial(lines, log, before), urls)
        else:
            runner.start()
        runner.finish()
        seconds = time.monotonic() - began
        asked = requests(log, before)
        run = max((out / "data" / "runs").iterdir())
        stored, links = table(run / "pages.parquet"), marks(run / "links.parquet")
        rows = [
            compared(
                site,
                asked.get(site.home, {}),
                stored.get(site.name, {}),
                links.get(site.name, {}),
                way,
            )
            for site in sites
        ]
        yield Crawl(way, number, seconds, rows)


def begin_and_end(
    runner: Command | Grid, how: signal.Signals, asked: Callable[[], int], urls: int
) -> None:
    """Start, and end on the way; what is left is to be started again."""
    for part in END_AT:
        runner.start()
        until = time.monotonic() + MOST_SECONDS
        while asked() < part * urls:
            runner.check()
            if time.monotonic() > until:
                raise SystemExit(f"nothing came of it: {asked()} of {urls} requests")
            time.sleep(0.01)
        runner.end(how)
    runner.start()


# The commands.


@dataclass(slots=True)
class Command:
    """``headgate crawl``."""

    out: Path
    processes: str
    _running: subprocess.Popen[bytes] | None = None
    _ended: bool = False
    """The run that is there is to be resumed."""

    def start(self) -> None:
        words = [str(self.out / "sites.toml"), "--bandwidth", "unlimited"]
        words = ["--resume"] if self._ended else [*words, "--processes", self.processes]
        self._running = started(self.out, "crawl", *words, "--out", "data", "--quiet")
        self._ended = False

    def check(self) -> None:
        assert self._running is not None
        if self._running.poll() is not None:
            raise SystemExit(f"the crawl ended before its time: {said(self.out)}")

    def end(self, how: signal.Signals) -> None:
        assert self._running is not None
        wanted = INTERRUPTED if how is signal.SIGINT else -signal.SIGKILL
        ended(self._running, how, wanted, self.out)
        self._ended = True

    def finish(self) -> None:
        assert self._running is not None
        await_end(self._running, MOST_SECONDS, (0,), self.out)


@dataclass(slots=True)
class Grid:
    """``headgate manager`` and two nodes."""

    out: Path
    _port: int = 0
    _manager: subprocess.Popen[bytes] | None = None
    _nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        self._port = self._port or free_ports(1)[0]
        where = ["--serve-nats", f"127.0.0.1:{self._port}", "--host", "127.0.0.1"]
        common = ["--bandwidth", "unlimited", "--once", "--quiet"]
        self._manager = started(self.out, "manager", "sites.toml", *where, *common, "--out", "data")
        self._nodes = [self._node(name) for name in NODES]

    def _node(self, name: str) -> subprocess.Popen[bytes]:
        until = time.monotonic() + ENDING_SECONDS
        while not (self.out / f"{name}.token").exists() and time.monotonic() < until:
            words = [*HEADGATE, "manager", "invite", name, "--out", "data"]
            subprocess.run(words, cwd=self.out, check=False, capture_output=True)
            self.check()
        usual = ("--allow-private", "--until-idle", "--quiet")
        return started(self.out, "node", f"{name}.token", *usual)

    def check(self) -> None:
        assert self._manager is not None
        if self._manager.poll() is not None:
            raise SystemExit(f"the manager ended before its time: {said(self.out)}")

    def end(self, how: signal.Signals) -> None:
        assert self._manager is not None
        killed = how is signal.SIGKILL
        of_node = (-how,) if killed else (0, -how)  # Ctrl-C may come before it has begun
        for process in (self._manager, *self._nodes):
            os.killpg(process.pid, how)
        await_end(self._manager, ENDING_SECONDS, (-how if killed else INTERRUPTED,), self.out)
        for node in self._nodes:
            await_end(node, ENDING_SECONDS, of_node, self.out)

    def finish(self) -> None:
        assert self._manager is not None
        await_end(self._manager, MOST_SECONDS, (0,), self.out)
        for node in self._nodes:
            await_end(node, ENDING_SECONDS, (0,), self.out)


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """In a process group of its own, which gets signals as from a terminal."""
    with (folder / "said.txt").open("ab") as errors:
        return subprocess.Popen(
            ended_with_us([*HEADGATE, *words]),
            cwd=folder, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
        )  # fmt: skip


def ended(process: subprocess.Popen[bytes], how: signal.Signals, code: int, out: Path) -> None:
    os.killpg(process.pid, how)
    await_end(process, ENDING_SECONDS, (code,), out)


def await_end(
    process: subprocess.Popen[bytes], seconds: float, codes: Sequence[int], out: Path
) -> None:
    """``codes``: with which it may end."""
    try:
        found = process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{name_of(process)} does not end: {said(out)}") from None
    if found not in codes:
        raise SystemExit(f"{name_of(process)} ended with {found}: {said(out)}")


def name_of(process: subprocess.Popen[bytes]) -> str:
    assert isinstance(process.args, list)
    return " ".join(map(str, process.args))


def said(out: Path) -> str:
    return (out / "said.txt").read_text(errors="replace")[-2000:]


# What came of it.


def lines(log: Path, begin: int) -> int:
    with log.open("rb") as file:
        file.seek(begin)
        return file.read().count(b"\n")


def requests(log: Path, begin: int) -> dict[str, dict[str, list[float]]]:
    """When each URL was answered, by site."""
    found: dict[str, dict[str, list[float]]] = {}
    with log.open("rb") as file:
        file.seek(begin)
        for told in file.read().decode().splitlines():
            at, port, target, _ = told.split(" ")
            home = f"http://127.0.0.1:{port}"
            found.setdefault(home, {}).setdefault(home + target, []).append(float(at))
    return found


Stored = dict[str, list[tuple[int, float]]]
"""Status and time of each row of a URL."""


def table(path: Path) -> dict[str, Stored]:
    """By site, pages only."""
    columns = ["site", "url", "role", "status", "fetched_at"]
    found: dict[str, Stored] = {}
    for row in pq.read_table(path, columns=columns).to_pylist():
        if row["role"] == "page":
            at = row["fetched_at"].timestamp()
            found.setdefault(row["site"], {}).setdefault(row["url"], []).append((row["status"], at))
    return found


def mark(url: str) -> int:
    return xxh3_64_intdigest(url.encode())


def marked(urls: Iterable[str]) -> int:
    """The same in any order."""
    return sum(map(mark, set(urls))) & MASK


def marks(path: Path) -> dict[str, dict[str, int]]:
    """By site, of the links of each page."""
    found: dict[str, dict[str, int]] = {}
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["site", "source", "target"]):
            for site, source, target in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                pages = found.setdefault(site, {})
                pages[source] = (pages.get(source, 0) + mark(target)) & MASK
    return found


def compared(
    site: Site,
    asked: dict[str, list[float]],
    stored: Stored,
    links: dict[str, int],
    way: Way,
) -> Row:
    pages = {url for url, rows in stored.items() if any(status in (200, 304) for status, _ in rows)}
    missing = (site.closure.asked - asked.keys()) | (site.pages - pages)
    extra = (asked.keys() - site.closure.asked) | (pages - site.pages)
    again = set()
    for url, rows in stored.items():
        since = 0.0 if way.ended is None else rows[0][1] - LATE_SECONDS
        if sum(at >= since for at in asked.get(url, ())) > 1:
            again.add(url)
    again -= site.closure.repeated
    twice = {url for url, rows in stored.items() if len(rows) > 1}
    if way.has_leases and way.ended is not None:
        leased = len(again)
    else:
        leased, twice = 0, twice | again
    wrong = {
        url for url in site.links.keys() | links.keys() if site.links.get(url) != links.get(url)
    }
    return Row(
        site.name,
        len(asked),
        len(pages),
        missing=sorted(missing),
        extra=sorted(extra),
        twice=sorted(twice),
        links=sorted(wrong),
        leased=leased,
    )


HEAD = """\
# Measured: every page that is linked, and no other

{sites} sites of documentation from Debian's packages, served by nginx on loopback, each crawled \
in every way below, and what was asked for
compared with the closure of links that a program finds which shares nothing with Headgate: its \
own parser, and `whatwg-url` as resolver. Of
{rows} rows, a site in a crawl each, {wrong} missed a page, asked for one that no link leads to, \
or for one twice, or has a wrong link;
only a grid that was ended asks for some again under a second lease, counted below
(`python -m bench.coverage --report FILE`, {cores} cores, {minutes:.0f} minutes of crawling; the \
head of `bench/coverage.py` says how).

| site | pages | other answers | most missing, extra, twice, links in a crawl |
|---|---|---|---|
"""
MIDDLE = """
Other answers are links that lead nowhere there, redirects, robots.txt and sitemap.xml.

| all at once, by | crawl | asked for | pages | missing | extra | twice | links | two leases | s |
|---|---|---|---|---|---|---|---|---|---|
"""
FOOT = """
Missing: to be reached by links and not asked for, or not in the table. Extra: asked for or in the \
table, and reached by no link. Twice: in
the table twice, or asked for again once it was stored; what was on its way when a leg ended is \
asked for again. Links: pages whose links in the
table lead elsewhere than by that program. Two leases: of a grid that was ended, a node asked for \
it again while another had a result that the
manager did not have yet; one of the two counts ([leases](../algorithms/leases.md)).
"""


def report(sites: Sequence[Site], crawls: Sequence[Crawl]) -> str:
    """As docs/measured/coverage.md."""
    rows = [row for crawl in crawls for row in crawl.rows]
    head = HEAD.format(
        sites=len(sites),
        rows=len(rows),
        wrong=sum(any(row.counts[2:6]) for row in rows) or "none",
        cores=os.cpu_count(),
        minutes=sum(crawl.seconds for crawl in crawls) / 60,
    )
    corpora = ""
    for place, site in enumerate(sites):
        most = [max(crawl.rows[place].counts[k] for crawl in crawls) for k in (2, 3, 4, 5)]
        others = len(site.closure.asked) - len(site.pages)
        worst = ", ".join(map(str, most))
        corpora += f"| {site.name} | {len(site.pages):,} | {others:,} | {worst} |\n"
    ways = ""
    for crawl in crawls:
        counts = " | ".join(f"{count:,}" for count in crawl.sums)
        ways += f"| {crawl.way} | {crawl.number} | {counts} | {crawl.seconds:.0f} |\n"
    return head + corpora + MIDDLE + ways + FOOT


if __name__ == "__main__":
    sys.exit(main())
