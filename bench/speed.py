"""How fast is a crawl? Headgate beside others, on the same pages in one run, nothing limited.

    python -m bench.speed                   everything, some minutes
    python -m bench.speed --quick           small sites, under a minute
    python -m bench.speed --only headgate   a part: headgate, scrapy, crawlee, wget

Pages of 14 KB with 50 links each, served by nginx on loopback. Headgate archives what it gets and
keeps its frontier durable, and ends with its tables and its index made; Scrapy and Crawlee keep
nothing, wget and wget2 write the bare files. Two processes crawl two sites, since a site is never
split. Peers that take long get fewer pages.

Columns: pages; pages per second by the clock, from the command's start to its end; microseconds of
CPU per page; peak memory of all its processes; how many times faster Headgate's one process was.
The clock is shared with nginx and whatever else the machine does: where it seems odd, CPU tells
more.

Needs nginx; wget and wget2 are left out where they are missing. Scrapy and Crawlee are installed
into a virtual environment of their own in the user's cache folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from shutil import rmtree, which

from bench.speed_peers.cost import Cost, cost_of
from bench.speed_peers.web import nginx_program, served, site_url

PEER_PACKAGES = ("scrapy", "crawlee[parsel]", "uvloop")
SCRIPTS = Path(__file__).parent / "speed_peers"
MOST_SECONDS = 600.0
MOST_MEMORY = 200_000_000
FLAT_WITHIN = 1.15
TARGETS = {"Scrapy, fastest": 5.0, "Scrapy, defaults": 10.0, "Crawlee": 10.0}
"""How many times faster one process of Headgate is to be."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pages of the sites, by who crawls them."""

    headgate: tuple[int, ...]
    """The last for the comparison, half of it on each of two sites for two processes."""
    scrapy: int
    crawlee: int

    @property
    def half(self) -> int:
        return self.headgate[-1] // 2

    @property
    def all(self) -> list[int]:
        return sorted({*self.headgate, self.half, self.scrapy, self.crawlee})


FULL = Sizes((1_000, 5_000, 20_000), 5_000, 2_500)
QUICK = Sizes((500, 1_000, 2_000), 500, 200)


@dataclass(frozen=True, slots=True)
class Runner:
    """One line of the table."""

    name: str
    family: str
    pages: int
    command: Callable[[], list[str]]
    count: Callable[[Path, Cost], int]
    """The pages it got, by its folder and its output."""


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
        wrong = "" if self.got >= self.runner.pages else f"  only {self.got} pages"
        if self.cost.exit_code:
            wrong += f"  exit code {self.cost.exit_code}"
        return (
            f"{self.runner.name:<26} {self.runner.pages:7,} {self.rate:9,.0f}"
            f" {self.cpu_micros:9,.0f} {self.cost.peak_bytes / 1e6:8,.0f} {ratio}{wrong}"
        )


HEADING = f"{'':<26} {'pages':>7} {'pages/s':>9} {'CPU µs':>9} {'MB':>8} {'×':>6}"


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    sizes = QUICK if options.quick else FULL
    if nginx_program() is None:
        print("needs nginx: apt-get install nginx-light", file=sys.stderr)
        return 2
    runners = [
        runner for runner in _runners(sizes) if not options.only or runner.family in options.only
    ]
    with tempfile.TemporaryDirectory(prefix="headgate-speed-") as name:
        folder = Path(name)
        with served(folder, sizes.all):
            print(f"{_versions(runners)}; {os.cpu_count()} cores\n\n{HEADING}")
            results = _measure(runners, folder)
    return _judge(results)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--only", action="append", choices=("headgate", "scrapy", "crawlee", "wget"), default=[]
    )
    return parser.parse_args(arguments)


def _runners(sizes: Sizes) -> Iterator[Runner]:
    def url(pages: int, number: int = 0) -> str:
        return site_url(pages, sizes.all, number)

    for pages in reversed(sizes.headgate):
        yield Runner(
            "Headgate, one process", "headgate", pages,
            partial(_headgate, [url(pages)]), _stored_by_headgate,
        )  # fmt: skip
    half = sizes.half
    yield Runner(
        "Headgate, two processes", "headgate", 2 * half,
        partial(_headgate, [url(half), url(half, 1)], "--processes", "2"), _stored_by_headgate,
    )  # fmt: skip
    for manner, name in (("fast", "Scrapy, fastest"), ("plain", "Scrapy, defaults")):
        yield Runner(
            name, "scrapy", sizes.scrapy,
            partial(_peer, "scrapy_spider.py", url(sizes.scrapy), manner), _said,
        )  # fmt: skip
    yield Runner(
        "Crawlee", "crawlee", sizes.crawlee,
        partial(_peer, "crawlee_spider.py", url(sizes.crawlee)), _said,
    )  # fmt: skip
    largest = sizes.headgate[-1]
    for program in ("wget", "wget2"):
        if which(program):
            command = [program, "-q", "-r", "-l", "0", url(largest)]
            yield Runner(program, "wget", largest, partial(list, command), _files)


def _headgate(urls: Sequence[str], *options: str) -> list[str]:
    program = [sys.executable, "-m", "headgate", "crawl", *urls]
    return [*program, "--quiet", "--contact", "bench@example.org", *options]


def _peer(script: str, *arguments: str) -> list[str]:
    return [_peer_python(), str(SCRIPTS / script), *arguments]


@cache
def _peer_python() -> str:
    """The peers' own Python, set up when first needed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "headgate-peers" / "venv"
    ready = home / "ready"
    if not ready.exists():
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin/pip", "install", "--quiet", *PEER_PACKAGES], check=True)
        ready.touch()
    return str(home / "bin/python")


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
        "rows = [p.read_table(f, columns=['role', 'status']).to_pylist() for f in sys.argv[1:]]\n"
        "print(sum(r['role'] == 'page' and r['status'] == 200 for t in rows for r in t))"
    )
    tables = [str(path) for path in folder.glob("headgate-data/**/pages.parquet")]
    said = subprocess.check_output([sys.executable, "-c", code, *tables], text=True)
    return int(said)


def _said(_: Path, cost: Cost) -> int:
    """By its last line, "pages N"."""
    words = cost.output.split()
    return int(words[-1]) if words and words[-1].isdigit() else 0


def _files(folder: Path, _: Cost) -> int:
    return sum(1 for _ in folder.rglob("*.html"))


def _measure(runners: Sequence[Runner], folder: Path) -> list[Result]:
    results: list[Result] = []
    for runner in runners:
        command = runner.command()
        place = folder / "work"
        place.mkdir()
        cost = cost_of(command, place, MOST_SECONDS)
        result = Result(runner, cost, runner.count(place, cost))
        reference = results[0] if results and results[0].runner.family == "headgate" else None
        print(result.line(reference), flush=True)
        if cost.exit_code or not result.got:
            print("\n".join(cost.output.splitlines()[-5:]), file=sys.stderr)
        results.append(result)
        rmtree(place)
    return results


def _added_micros(larger: Result, smaller: Result) -> float:
    """What each page beyond the smaller site's costs: start and end are left out of it."""
    added = larger.cost.cpu_seconds - smaller.cost.cpu_seconds
    return added / max(larger.got - smaller.got, 1) * 1e6


def _judge(results: Sequence[Result]) -> int:
    """What was wanted and what is; the answer is the exit code."""
    one = [result for result in results if result.runner.name == "Headgate, one process"]
    by_name = {result.runner.name: result for result in results}
    verdicts: list[tuple[str, bool]] = []
    if one:
        peak = one[0].cost.peak_bytes
        verdicts.append((f"peak memory {peak / 1e6:.0f} MB, < 200", peak < MOST_MEMORY))
        late, early = (_added_micros(one[k], one[k + 1]) for k in (0, 1))
        verdicts.append((
            f"a page more costs {early:.0f} µs of CPU up to {one[1].got:,}, {late:.0f} beyond",
            late <= FLAT_WITHIN * early,
        ))  # fmt: skip
        for name, wanted in TARGETS.items():
            if name in by_name:
                ratio = one[0].rate / by_name[name].rate
                verdicts.append((f"{ratio:.1f} × {name}, ≥ {wanted:g}", ratio >= wanted))
    two = by_name.get("Headgate, two processes")
    for name in ("wget", "wget2"):
        if two and name in by_name:
            ratio = two.rate / by_name[name].rate
            verdicts.append((f"two processes {ratio:.2f} × {name}, ≥ 1", ratio >= 1.0))
    print()
    for text, kept in verdicts:
        print("kept  " if kept else "MISSED", text)
    return 0 if all(kept for _, kept in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
