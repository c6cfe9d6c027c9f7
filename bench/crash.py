"""Is anything lost when a crawl dies? Kills it at random moments and resumes it, again and again.

    python -m bench.crash [--kills 100] [--pages 700] [--seed 3]
    python -m bench.crash --kind "many sites"

A small web on loopback (two sites; pages, copies, redirects, dead links) answers slowly enough to
be hit in the midst. It is crawled once undisturbed. Then each round crawls it into a fresh folder
and kills (``kill -9``) at moments drawn from a seeded generator: during the start, while crawling,
while tables are written. Rounds take turns: one process; two; two of which only the first, that
holds the collection, is killed, and the others have to notice; two with so many sites, of a few
pages each, that they share journals and WARC files.

After every kill the journals are read: what they held after the kill before must still be there.
At the end of a round,

- every row that any journal held is in pages.parquet, and no URL is there twice,
- pages, with status and digest, are those of the undisturbed crawl,
- index.cdxj names no URL twice, and each of its lines names a record that is there,
- warcio reads all WARC files, all digests right, and finds no page in two records,
- the sites' memories know the pages of the table and no others, each asked for once.

Prints a table of rounds; the exit code is 1 when anything was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, cycle
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headgate.storage.journals.journal import read_pages
from headgate.storage.memory.site import SiteMemory
from headgate.storage.warc.records import digest_text

CONSOLE = Console(width=100)
HEADGATE = [sys.executable, "-m", "headgate", "crawl", "--delay", "0"]
SITES = 2
MANY_SITES, MANY_SITES_PAGES = 120, 7
ANSWER_SECONDS = 0.02
LONGEST_START_SECONDS = 1.5
LONGEST_CRAWL_SECONDS = 2.0
LONGEST_END_SECONDS = 0.2
PHASES = ("start", "crawl", "end")

Row = tuple[str, int | None, str | None]
"""URL, status, digest."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a round kills."""

    name: str
    processes: int
    whole_group: bool = True
    many: bool = False
    """So many sites that they share files, of a few pages each."""


KINDS = (
    Kind("one process", 1),
    Kind("two processes", 2),
    Kind("the first of two", 2, whole_group=False),
    Kind("many sites", 2, many=True),
)


@dataclass(slots=True)
class Web:
    """Page k leads to 2k + 1 and 2k + 2; some by way of a redirect, some leaves are copies."""

    pages: int
    hosts: list[str] = field(default_factory=list)
    """With their ports; a site each."""
    answered: int = 0

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, Location, body."""
        self.answered += 1
        name = path.removeprefix("/").removesuffix(".html")
        if name.startswith("to-"):
            return 302, f"/{name[3:]}.html", b""
        if not name.isdigit() or int(name) >= self.pages:
            return 404, "", b"no such page"
        return 200, "", self._page(int(name))

    def _page(self, number: int) -> bytes:
        links = [k for k in (2 * number + 1, 2 * number + 2) if k < self.pages]
        if not links and number % 5 == 0:
            return b"<title>A copy</title>" + b"." * 3000
        names = [f"/to-{k}" if k % 7 == 0 else f"/{k}.html" for k in links]
        names += [f"/{number * 3 % self.pages}.html", f"/dead-{number // 100}.html"]
        text = "".join(f"<a href={name}>x</a>" for name in names)
        return f"<title>Page {number}</title>{text}".encode().ljust(1000 + number * 37 % 9000, b".")


@dataclass(slots=True)
class Round:
    """What happened in one round."""

    kind: Kind
    kills: Counter[str] = field(default_factory=Counter)
    stored: dict[str, list[Row]] = field(default_factory=dict)
    """Of each journal, all that it held when last looked at."""
    faults: list[str] = field(default_factory=list)
    pages: int = 0

    def look(self, out: Path) -> None:
        """Read the journals; nothing may have gone."""
        for path in out.glob("spool/[!.]*/*.journal"):
            rows = [
                (row.url, row.status or None, digest_text(row.digest) if row.digest else None)
                for row in chain.from_iterable(read_pages(path))
            ]
            before = self.stored.get(path.name, [])
            if rows[: len(before)] != before:
                self.faults.append(f"{path.name}: {len(before)} rows were there, now {len(rows)}")
            self.stored[path.name] = rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--pages", type=int, default=700, help="of each of the two sites")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS], help="only this one")
    args = parser.parse_args()
    kinds = [kind for kind in KINDS if args.kind in (None, kind.name)]
    chance = np.random.default_rng(args.seed)
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory(prefix="headgate-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        subjects = {
            many: stack.enter_context(undisturbed(folder / f"many-{many}", args.pages, many=many))
            for many in {kind.many for kind in kinds}
        }
        turns = cycle(kinds)
        while (left := args.kills - sum(done.kills.total() for done in rounds)) > 0:
            out = folder / f"round-{len(rounds)}"
            rounds.append(Round(next(turns)))
            subject = subjects[rounds[-1].kind.many]
            crawl_killing(
                rounds[-1], subject.sites, out=out, web=subject.web, most=left, chance=chance
            )
            check(rounds[-1], out, subject.expected)
    show(rounds)
    return 1 if any(done.faults for done in rounds) else 0


@dataclass(frozen=True, slots=True)
class Subject:
    """What is crawled, and what a crawl must find."""

    web: Web
    sites: Path
    expected: set[Row]


@contextlib.contextmanager
def undisturbed(folder: Path, pages: int, *, many: bool) -> Iterator[Subject]:
    """A web, served meanwhile, and its pages by a crawl that nobody kills."""
    folder.mkdir()
    with serving_many() if many else serving(pages) as web:
        sites = folder / "sites.toml"
        sites.write_text(site_file(web))
        if start([str(sites)], folder / "crawl", KINDS[0]).wait(timeout=600):
            raise SystemExit("the undisturbed crawl failed")
        yield Subject(web, sites, set(table_rows(folder / "crawl")))


@dataclass(frozen=True, slots=True)
class Life:
    """A crawl from one start to its end or its death."""

    process: subprocess.Popen[bytes]
    out: Path
    web: Web
    answered: int
    """Requests before it."""
    began: float

    def asking(self) -> bool:
        """Whether it has made a request."""
        return self.web.answered > self.answered

    def sealing(self) -> bool:
        """Whether it has begun to make tables."""
        newest = 0.0
        for path in self.out.glob("runs/*/*index.cdxj*"):
            with contextlib.suppress(FileNotFoundError):
                newest = max(newest, path.stat().st_mtime)
        return newest >= self.began

    def phase(self) -> str:
        if self.sealing():
            return "end"
        return "crawl" if self.asking() else "start"

    def last(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let it live until then, so many seconds at the most."""
        late = time.monotonic() + seconds
        while time.monotonic() < late and self.process.poll() is None and not until():
            time.sleep(0.002)

    def last_a_while(self, chance: np.random.Generator) -> None:
        """Until the moment to kill: one in five while starting, one in five at the end, if it
        comes. Without that, nearly all would be in the crawl's midst, where it spends its time."""
        aim = PHASES[chance.choice(3, p=(0.2, 0.6, 0.2))]
        if aim == "start":
            self.last(chance.uniform(0, LONGEST_START_SECONDS))
            return
        self.last(60, until=self.asking)
        if aim == "crawl":
            self.last(chance.uniform(0, LONGEST_CRAWL_SECONDS))
            return
        self.last(LONGEST_CRAWL_SECONDS, until=self.sealing)
        self.last(chance.uniform(0, LONGEST_END_SECONDS))


def crawl_killing(
    done: Round, sites: Path, out: Path, web: Web, most: int, chance: np.random.Generator
) -> None:
    """Crawl to the end, killing up to ``most`` times."""
    while True:
        words = ["--resume"] if any(out.glob("spool/[!.]*/request.state")) else [str(sites)]
        began = time.time()
        life = Life(start(words, out, done.kind), out, web, web.answered, began)
        if done.kills.total() < most:
            life.last_a_while(chance)
            kill(life.process, done.kind)
        if (code := life.process.wait(timeout=600)) != -signal.SIGKILL:
            if code:
                done.faults.append(f"exit code {code} after {done.kills.total()} kills")
            return
        done.look(out)
        done.kills[life.phase()] += 1
        if any(out.glob("runs/*/report.json")) and not any(out.glob("spool/[!.]*")):
            return


def kill(running: subprocess.Popen[bytes], kind: Kind) -> None:
    if running.poll() is not None:
        return
    if kind.whole_group:
        os.killpg(running.pid, signal.SIGKILL)
    else:
        running.kill()
    running.wait()


def start(words: list[str], out: Path, kind: Kind) -> subprocess.Popen[bytes]:
    """In a process group of its own, so that all of it can be killed."""
    return subprocess.Popen(
        [*HEADGATE, *words, "--out", str(out), "--processes", str(kind.processes), "--quiet"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def check(done: Round, out: Path, expected: set[Row]) -> None:
    """What a round must leave behind."""
    rows = table_rows(out)
    pages = set(rows)
    done.pages = len(pages)
    stored = {row for part in done.stored.values() for row in part if not is_robots(row[0])}
    twice = [url for url, count in Counter(url for url, *_ in rows).items() if count > 1]
    for wrong, what in (
        (stored - pages, "stored, then lost"),
        (expected - pages, "missing"),
        (pages - expected, "extra"),
        (twice, "twice in pages.parquet"),
        (index_faults(out), "wrong in index.cdxj or WARC"),
        (memory_faults(out, {url for url, *_ in rows}), "wrong in what is known"),
    ):
        if wrong:
            done.faults.append(f"{len(wrong)} {what}: {sorted(map(str, wrong))[:3]}")


def table_rows(out: Path) -> list[Row]:
    """The pages of a finished run."""
    (path,) = out.glob("runs/*/pages.parquet")
    columns = ["url", "status", "digest", "role"]
    rows = pq.read_table(path, columns=columns).to_pylist()
    return [(row["url"], row["status"], row["digest"]) for row in rows if row["role"] == "page"]


def index_faults(out: Path) -> list[str]:
    """URLs that are twice in the index or the archive, and lines that name no such record."""
    records = dict(archived(out))
    (path,) = out.glob("runs/*/index.cdxj")
    lines = [json.loads(line.split(" ", 2)[2]) for line in path.read_text().splitlines()]
    named = Counter(line["url"] for line in lines if not is_robots(line["url"]))
    held = Counter(url for url, _ in records.values() if not is_robots(url))
    faults = [url for count in (named, held) for url, times in count.items() if times > 1]
    for line in lines:
        place = (line["filename"], int(line["offset"]))
        if records.get(place) != (line["url"], int(line["length"])):
            faults.append(f"{line['url']} is not at {place}")
    return faults


def memory_faults(out: Path, urls: set[str]) -> list[str]:
    """URLs that are not known, or wrongly."""
    looks: Counter[str] = Counter()
    for path in out.glob("sites/*.pages"):
        with SiteMemory.checked(path, path.stem) as memory:
            looks.update({page.url: page.looks for page in memory})
    return [url for url in urls | set(looks) if looks[url] != 1 or url not in urls]


def archived(out: Path) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """File and offset, URL and length, of every response and revisit; raises at a wrong digest."""
    for path in sorted(out.glob("runs/*/warc/*.warc.gz")):
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests="raise")
            for record in records:
                kind, url = record.rec_type, record.rec_headers.get_header("WARC-Target-URI")
                record.content_stream().read()
                offset = records.get_record_offset()
                if kind in ("response", "revisit"):
                    place = (path.relative_to(out).as_posix(), offset)
                    yield place, (url, records.get_record_length())


def is_robots(url: str) -> bool:
    """Or a sitemap, which is looked for beside it: what a crawl asks for once it goes on, too."""
    return url.endswith(("/robots.txt", "/sitemap.xml"))


def site_file(web: Web) -> str:
    """A site for each host, no limit."""
    sites = (
        f'[site.s{number}]\nseeds = ["http://{host}/0.html"]\n'
        for number, host in enumerate(web.hosts)
    )
    return '[budget]\nbandwidth = "unlimited"\ncrawlers = 20\n' + "".join(sites)


def show(rounds: list[Round]) -> None:
    table = Table("round", "killed", *(f"kills, {name}" for name in PHASES), "pages", "faults")
    for number, done in enumerate(rounds, 1):
        kills = (str(done.kills[name]) for name in PHASES)
        table.add_row(str(number), done.kind.name, *kills, str(done.pages), str(len(done.faults)))
    CONSOLE.print(table)
    print(f"{sum(done.kills.total() for done in rounds)} kills")
    for done in rounds:
        for fault in done.faults:
            print(f"{done.kind.name}: {fault}")


@contextlib.contextmanager
def serving(pages: int) -> Iterator[Web]:
    web = Web(pages)
    with contextlib.ExitStack() as stack:
        for _ in range(SITES):
            port = stack.enter_context(_server(web, "127.0.0.1"))
            web.hosts.append(f"127.0.0.1:{port}")
        yield web


@contextlib.contextmanager
def serving_many() -> Iterator[Web]:
    """Each site at an address of its own, all of them one server."""
    web = Web(MANY_SITES_PAGES)
    with _server(web, "0.0.0.0") as port:
        web.hosts += [f"127.8.0.{number}:{port}" for number in range(1, MANY_SITES + 1)]
        yield web


@contextlib.contextmanager
def _server(web: Web, address: str) -> Iterator[int]:
    """Answers until left; its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            time.sleep(ANSWER_SECONDS)
            status, location, body = web.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    with Server((address, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
