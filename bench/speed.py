"""How fast is a crawl of real pages? Headgate beside others, in one run, nothing limited.

    python -m bench.speed                     everything, some ten minutes on two cores
    python -m bench.speed --only headgate     a part: headgate, wget, scrapy, crawlee
    python -m bench.speed --against 772d084   Headgate and Headgate as of a commit, in turns

Eleven sites of documentation from Debian's packages (`bench.documentation`), 13,900 pages of 24 KB
in the mean, served by nginx on loopback, each at an address of its own. Headgate archives what it
gets, keeps its frontier durable, and ends with its tables and its index made; wget and wget2 write
the bare files, one process for each site, all at once; Scrapy and Crawlee keep nothing. Those that
take long get one site of 1,200 pages, and are held against Headgate on all.

Columns: pages; pages per second by the clock, from the command's start to its end; microseconds of
CPU per page; peak memory of all its processes; Headgate's pages per second in that many processes,
as a multiple. Runs of less than ten seconds are done three times and the median by the clock is
told. The clock is shared with nginx and whatever else the machine does: where it seems odd, CPU
tells more.

Where Debian's own Python is another one than ours, the first line is told for both. Runs that are
held against each other by a few per cent are done in turns, and the median by CPU is told; with a
commit there are five turns of each, of all sites, one site, ten pages and `--help`.

Needs nginx and openssl; wget and wget2 are left out where they are missing. Scrapy and Crawlee, and
every Headgate, this one, as of a commit or under Debian's Python, are installed alike, into virtual
environments of their own in the user's cache folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from shlex import join
from shutil import rmtree, which

from bench.documentation import SITES, Documentation
from bench.speed_peers.cost import Cost, cost_of
from bench.speed_peers.environments import (
    headgate_here,
    headgate_under,
    other_interpreter,
    peers,
    revision,
)
from bench.speed_peers.web import Web, nginx_program, served

PEER_PACKAGES = ("scrapy", "crawlee[parsel]", "uvloop")
SCRIPTS = Path(__file__).parent / "speed_peers"
PACKAGES = (
    "postgresql-doc-15", "cmake-doc", "gimp-help-en", "git-doc", "llvm-14-doc", "octave-doc",
    "python-django-doc", "python3.11-doc", "qtbase5-doc-html", "sqlite3-doc", "python-scipy-doc",
)  # fmt: skip
"""The last has the most pages: it is the one that is crawled alone, and by https."""
FIRST_HALF = (
    "python-scipy-doc", "python3.11-doc", "git-doc", "octave-doc", "postgresql-doc-15",
)  # fmt: skip
"""What the first of two Scrapys gets, half of the bytes; the second gets the others."""
MOST_SECONDS = 600.0
WGET2_SECONDS = 30
SHORT_SECONDS = 10.0
SAME_PAGES = 0.97
"""Crawlers differ in what they take for a link; with fewer pages than that it is another crawl."""
TIMES_WGET, TIMES_SCRAPY, TIMES_TWO_SCRAPYS = 1.5, 8.0, 5.0
TURNS = 5
MOST_CPU_OF_BEFORE = 1.03
SHARE_OVER_TLS = 0.8
TEN_PAGES_SECONDS, TEN_PAGES_BYTES = 0.5, 80_000_000


@dataclass(frozen=True, slots=True)
class Runner:
    """One line of the table."""

    name: str
    family: str
    command: Callable[[], list[str]]
    count: Callable[[Path, Cost], int]
    """The pages it got, by its folder and its output."""
    processes: int = 1
    """Of Headgate, that it is held against."""
    in_turn_with: str = ""
    """Its runs alternate with those of this one, so that both meet the same machine."""
    to_last_page: bool = False
    """Its time is up to the last page that it wrote, not to its end."""


@dataclass(frozen=True, slots=True)
class Result:
    runner: Runner
    cost: Cost
    got: int

    @property
    def rate(self) -> float:
        return self.got / self.cost.seconds

    @property
    def cpu_micros(self) -> float:
        return self.cost.cpu_seconds / max(self.got, 1) * 1e6

    def line(self, reference: Result | None) -> str:
        ratio = f"{reference.rate / self.rate:6.2f}" if reference and self.got else "     –"
        wrong = f"  exit code {self.cost.exit_code}" if self.cost.exit_code else ""
        return (
            f"{self.runner.name:<32} {self.got:7,} {self.cost.seconds:7.2f} {self.rate:8,.0f}"
            f" {self.cpu_micros:8,.0f} {self.cost.peak_bytes / 1e6:6,.0f} {ratio}{wrong}"
        )


HEADING = f"{'':<32} {'pages':>7} {'s':>7} {'pages/s':>8} {'CPU µs':>8} {'MB':>6} {'×':>6}"
ONE, TWO = "Headgate, one process", "Headgate, two processes"
ALONE, OVER_TLS = "Headgate, one site", "Headgate, one site by https"
TEN, HELP = "Headgate, ten pages", "Headgate, --help"
BEFORE = {ours: ours.replace("Headgate", "Headgate before") for ours in (ONE, ALONE, TEN, HELP)}
DEBIANS = "Headgate, Debian's Python"
WGET, WGET2 = "wget, one per site", "wget2, one per site"
SCRAPY, SCRAPYS = "Scrapy, fastest", "Scrapy, fastest, two processes"


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    if nginx_program() is None:
        print("needs nginx: apt-get install nginx-light", file=sys.stderr)
        return 2
    sites = sorted(
        (site for site in SITES if site.package in PACKAGES),
        key=lambda site: PACKAGES.index(site.package),
    )
    with tempfile.TemporaryDirectory(prefix="headgate-speed-") as name:
        folder = Path(name)
        with served(folder, options.cache, sites) as web:
            runners = [
                runner
                for runner in _runners(web, sites, options.against)
                if not options.only or runner.family in options.only
            ]
            print(f"{_interpreter()}; {_versions(runners)}; {os.cpu_count()} cores\n\n{HEADING}")
            for missing in sorted(_missing(runners, options.only)):
                print(f"{missing:<32} NOT HERE, not measured")
            os.environ["SSL_CERT_FILE"] = str(web.certificate)
            results = _measure(runners, folder, turns=TURNS if options.against else 3)
    return _judge({result.runner.name: result for result in results})


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=("headgate", "scrapy", "crawlee", "wget"), default=[]
    )
    parser.add_argument("--against", metavar="REVISION", default="", help="one of git's names")
    parser.add_argument(
        "--cache", metavar="FOLDER", type=Path,
        default=Path(tempfile.gettempdir()) / "headgate-documentation",
        help="keeps the documentation",
    )  # fmt: skip
    return parser.parse_args(arguments)


def _missing(runners: Sequence[Runner], only: Sequence[str]) -> set[str]:
    """What was asked for and cannot be had on this machine."""
    families = {DEBIANS: "headgate", WGET: "wget", WGET2: "wget"}
    asked = {name for name, family in families.items() if not only or family in only}
    return asked - {runner.name for runner in runners}


def _runners(web: Web, sites: Sequence[Documentation], against: str) -> Iterator[Runner]:
    seeds = list(web.seeds.values())
    small, large = seeds[0], seeds[-1]
    halves = [
        [web.seeds[site.package] for site in sites if (site.package in FIRST_HALF) is first]
        for first in (True, False)
    ]
    ours = partial(Runner, family="headgate", count=_stored_by_headgate)
    here = headgate_here()
    if against:
        before = revision(against)
        for name, urls in ((ONE, seeds), (ALONE, [large]), (TEN, [web.ten_pages])):
            yield ours(name, command=partial(_headgate, here, urls))
            command = partial(_headgate, before, urls)
            yield ours(BEFORE[name], command=command, in_turn_with=name)
        asked = partial(Runner, family="headgate", count=lambda *_: 1)
        yield asked(HELP, command=partial(_help, here))
        yield asked(BEFORE[HELP], command=partial(_help, before), in_turn_with=HELP)
        return
    yield ours(ONE, command=partial(_headgate, here, seeds))
    debians = other_interpreter()
    if debians is not None:
        under = headgate_under(debians)
        yield ours(DEBIANS, command=partial(_headgate, under, seeds), in_turn_with=ONE)
    yield ours(TWO, command=partial(_headgate, here, seeds, "--processes", "2"))
    yield ours(ALONE, command=partial(_headgate, here, [large]))
    yield ours(OVER_TLS, command=partial(_headgate, here, [web.over_tls]))
    yield ours(TEN, command=partial(_headgate, here, [web.ten_pages]))
    for program, name in (("wget", WGET), ("wget2", WGET2)):
        if which(program):
            command = partial(_at_once, *_wgets(program, seeds))
            yield Runner(name, "wget", command, _files, 2, to_last_page=program == "wget2")
    yield Runner(SCRAPY, "scrapy", partial(_peer, "scrapy_spider.py", "fast", *seeds), _said)
    both = partial(_two_peers, *(("scrapy_spider.py", "fast", *half) for half in halves))
    yield Runner(SCRAPYS, "scrapy", both, _said, 2)
    plain = partial(_peer, "scrapy_spider.py", "plain", small)
    yield Runner("Scrapy, defaults, one site", "scrapy", plain, _said)
    yield Runner("Crawlee, one site", "crawlee", partial(_peer, "crawlee_spider.py", small), _said)


def _headgate(python: str, urls: Sequence[str], *options: str) -> list[str]:
    delay = ["--delay", "0"] if _has_delay(python) else []
    wanted = [*urls, "--crawlers", str(len(urls)), *delay, *options]
    program = [python, "-E", "-m", "headgate", "crawl"]
    return [*program, *wanted, "--quiet", "--contact", "bench@example.org"]


def _help(python: str) -> list[str]:
    return [python, "-E", "-m", "headgate", "--help"]


@cache
def _has_delay(python: str) -> bool:
    """Headgate once had no polite delay to be left out."""
    asking = [python, "-E", "-m", "headgate", "crawl", "--help"]
    return "--delay" in subprocess.check_output(asking, text=True)


def _wgets(program: str, seeds: Sequence[str]) -> Iterator[list[str]]:
    """Pages only, as the others: no pictures, scripts and styles. The time-out is for wget2, which
    now and then waits for an answer that it has; often it does not end, so it is ended."""
    ended = ["timeout", "-s", "KILL", str(WGET2_SECONDS)] if program == "wget2" else []
    for seed in seeds:
        options = ["-q", "-T", "1", "-r", "-l", "inf", "--follow-tags=a,area,frame,iframe"]
        yield [*ended, program, *options, seed]


def _peer(script: str, *arguments: str) -> list[str]:
    return [_peer_python(), str(SCRIPTS / script), *arguments]


def _two_peers(*calls: tuple[str, ...]) -> list[str]:
    return _at_once(*(_peer(*call) for call in calls))


def _at_once(*commands: Sequence[str]) -> list[str]:
    return ["sh", "-c", " & ".join(map(join, commands)) + " & wait"]


@cache
def _peer_python() -> str:
    return peers(PEER_PACKAGES)


def _interpreter() -> str:
    if Path("/etc/debian_version").exists() and sys.base_prefix == "/usr":
        return f"Python {platform.python_version()}, Debian's own, profile-guided"
    how = sysconfig.get_config_var("CONFIG_ARGS") or ""
    optimised = "with" if "--enable-optimizations" in how else "without"
    return f"Python {platform.python_version()} {optimised} profile-guided optimisation"


def _versions(runners: Sequence[Runner]) -> str:
    """Of those that are about to run."""
    families = dict.fromkeys(runner.family for runner in runners)
    commands = [command for family in families for command in _asking_versions(family)]
    said = [subprocess.check_output(command, text=True).split() for command in commands]
    return ", ".join(" ".join(words[: 3 if "Wget" in words[1] else 2]) for words in said)


def _asking_versions(family: str) -> list[list[str]]:
    if family == "wget":
        return [[program, "--version"] for program in ("wget", "wget2") if which(program)]
    python = sys.executable if family == "headgate" else _peer_python()
    code = f"import importlib.metadata as m; print({family!r}, m.version({family!r}))"
    return [[python, "-c", code]]


def _stored_by_headgate(folder: Path, _: Cost) -> int:
    """Pages in the table that the crawl left, read by a process of its own."""
    code = (
        "import sys, pyarrow.parquet as p\n"
        "columns = ['role', 'status', 'content_type']\n"
        "rows = [r for f in sys.argv[1:] for r in p.read_table(f, columns=columns).to_pylist()]\n"
        "rows = [r for r in rows if (r['role'], r['status']) == ('page', 200)]\n"
        "print(sum('html' in (r['content_type'] or '') for r in rows))"
    )
    tables = [str(path) for path in folder.glob("headgate-data/**/pages.parquet")]
    said = subprocess.check_output([sys.executable, "-c", code, *tables], text=True)
    return int(said)


def _said(_: Path, cost: Cost) -> int:
    """By its lines "pages N"."""
    lines = [line.split() for line in cost.output.splitlines()]
    return sum(int(words[1]) for words in lines if words[:1] == ["pages"] and len(words) == 2)


def _written(path: Path) -> float:
    """When it was, by us: what it was changed by is the server's word."""
    return path.stat().st_ctime


def _files(folder: Path, _: Cost) -> int:
    return sum(1 for path in folder.rglob("*.htm*") if path.is_file())


def _measure(runners: Sequence[Runner], folder: Path, *, turns: int) -> list[Result]:
    results: list[Result] = []
    by_processes: dict[int, Result] = {}
    for group in _in_turns(runners):
        for result in _median_runs(group, folder / "work", turns):
            print(result.line(by_processes.get(result.runner.processes)), flush=True)
            if result.cost.exit_code or not result.got:
                print("\n".join(result.cost.output.splitlines()[-5:]), file=sys.stderr)
            results.append(result)
            if result.runner.name in (ONE, TWO):
                by_processes[1 if result.runner.name == ONE else 2] = result
    return results


def _in_turns(runners: Sequence[Runner]) -> list[list[Runner]]:
    groups: list[list[Runner]] = []
    for runner in runners:
        if groups and runner.in_turn_with == groups[-1][0].name:
            groups[-1].append(runner)
        else:
            groups.append([runner])
    return groups


def _median_runs(group: Sequence[Runner], place: Path, turns: int) -> list[Result]:
    """Of each the median, where runs are short (by the clock) or are done in turns (by CPU)."""
    rounds = [[_run(runner, place) for runner in group]]
    if len(group) > 1 or rounds[0][0].cost.seconds < SHORT_SECONDS:
        rounds += [[_run(runner, place) for runner in group] for _ in range(turns - 1)]

    def cost(run: Result) -> float:
        return run.cpu_micros if len(group) > 1 else run.cost.seconds

    each = (sorted(runs, key=cost) for runs in zip(*rounds, strict=True))
    return [runs[len(runs) // 2] for runs in each]


def _run(runner: Runner, place: Path) -> Result:
    place.mkdir()
    began = time.time()
    cost = cost_of(runner.command(), place, MOST_SECONDS)
    if runner.to_last_page:
        cost = replace(cost, seconds=max(map(_written, place.rglob("*.htm*"))) - began)
    result = Result(runner, cost, runner.count(place, cost))
    rmtree(place)
    return result


def _judge(by_name: dict[str, Result]) -> int:
    """What was wanted and what is; the answer is the exit code."""
    print()
    verdicts = [
        *_times(by_name),
        *_of_ten_pages(by_name),
        *_whole(by_name),
        *_beside_before(by_name),
    ]
    for text, kept in verdicts:
        print("kept  " if kept else "MISSED", text)
    for ours, other in ((TWO, WGET2), (ONE, DEBIANS)):
        if ours in by_name and other in by_name:
            print(f"       {ours}: {by_name[ours].rate / by_name[other].rate:.2f} × {other}")
    return 0 if all(kept for _, kept in verdicts) else 1


def _times(by_name: dict[str, Result]) -> Iterator[tuple[str, bool]]:
    for ours, other, wanted in (
        (TWO, WGET, TIMES_WGET),
        (ONE, SCRAPY, TIMES_SCRAPY),
        (TWO, SCRAPYS, TIMES_TWO_SCRAPYS),
        (OVER_TLS, ALONE, SHARE_OVER_TLS),
    ):
        if ours in by_name and other in by_name:
            ratio = by_name[ours].rate / by_name[other].rate
            yield f"{ours}: {ratio:.2f} × {other}, ≥ {wanted:g}", ratio >= wanted


def _beside_before(by_name: dict[str, Result]) -> Iterator[tuple[str, bool]]:
    for ours, before in BEFORE.items():
        if ours in by_name and before in by_name:
            ratio = by_name[ours].cpu_micros / by_name[before].cpu_micros
            text = f"{ours}: {ratio:.3f} × the CPU of before, ≤ {MOST_CPU_OF_BEFORE:g}"
            yield text, ratio <= MOST_CPU_OF_BEFORE


def _of_ten_pages(by_name: dict[str, Result]) -> Iterator[tuple[str, bool]]:
    if TEN in by_name:
        cost = by_name[TEN].cost
        seconds, peak = cost.seconds, cost.peak_bytes
        yield f"{TEN}: {seconds:.2f} s, ≤ {TEN_PAGES_SECONDS:g}", seconds <= TEN_PAGES_SECONDS
        yield f"{TEN}: {peak / 1e6:.0f} MB, ≤ {TEN_PAGES_BYTES / 1e6:g}", peak <= TEN_PAGES_BYTES


def _whole(by_name: dict[str, Result]) -> Iterator[tuple[str, bool]]:
    """Whether all that crawled all sites got about the same."""
    counts = [by_name[name].got for name in (ONE, TWO, WGET, WGET2, SCRAPY, SCRAPYS)
              if name in by_name]  # fmt: skip
    if len(counts) > 1:
        least, most = min(counts), max(counts)
        yield f"all got {least:,} to {most:,} pages", least >= SAME_PAGES * most


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
