"""Does the line see the limit, and use it? Wire bytes at an interface, against the promise.

    python -m bench.bandwidth                    all parts, about fifteen minutes
    python -m bench.bandwidth --parts near       one of them: near, far, odd
    python -m bench.bandwidth --parts tools      wget, aria2 and HTTrack on the same bed
    python -m bench.bandwidth --parts changes    budgets that change while files are under way
    python -m bench.bandwidth --rates 1e6 --sites 10 --rtts 0.1 --kinds real --seconds 20
    python -m bench.bandwidth --rates 1e6 --against 49157d5    and as of a commit, cell by cell

Kinds: real pages by their sizes (Debian's postgresql-doc-15), drops (the same in TCP segments of
one byte), large files, or bytes as a number. A round trip of "loopback" has no distance and packets
of 64 KB.

Columns: mean use of the limit from the start to the end of the run, while work remains; the worst
window of 0.1, 1 and 5 seconds, as multiples of the limit; the farthest any site was from its equal
share over any 5 seconds after the first; connections per site; the longest time, in milliseconds,
for which the machine itself stood still. The start is part of everything but the sites' column. A
cell fails when it breaks one of PROMISES. While the machine stands still the line does, and what it
held back then comes at once; so a cell that fails with such a pause in it is measured again, up to
--attempts times, and the last try counts. Where a limit is not used, the same cell is run without
one, since a machine may not give more.

Needs root, network namespaces and a C compiler (apt-get install gcc libc6-dev iproute2 ethtool
postgresql-doc-15); the tools also need wget, aria2 and httrack.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count, product
from pathlib import Path

import numpy as np
from bench.bed.client import ClientSettings
from bench.bed.tools import TOOLS, missing_tools, tool_bins
from bench.bed.trial import run_client
from bench.speed_peers.environments import revision

from headgate.model.units import format_rate
from headgate_lab.bed.network import loopback_address, missing, server_address
from headgate_lab.bed.readings import Bins, windows
from headgate_lab.bed.server import LARGE_BYTES

PROMISES = """\
used 95 %, from 100 ms on 90 %, and never over 101 %; worst second 110 %, from 500 KB/s on 105 %;
worst five seconds 103 %, from 500 KB/s on 102 %; a changed budget holds after one second."""

LEAST_USED, LEAST_USED_FAR, MOST_USED = 0.95, 0.90, 1.01
FAR_SECONDS = 0.1
WORST_SECOND, WORST_SECOND_WHEN_SLOW = 1.05, 1.10
WORST_FIVE, WORST_FIVE_WHEN_SLOW = 1.02, 1.03
SLOW = 500_000.0

LONGEST_PAUSE_SECONDS = 0.01
UNLIMITED_SECONDS = 6.0
UNLIMITED_CONNECTIONS = 200

REAL_PAGES = Path("/usr/share/doc/postgresql-doc-15/html")
"""From Debian's package of that name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the matrix."""

    rate: float
    sites: int
    rtt: float | None
    """None: loopback."""
    kind: str = "real"

    @property
    def addresses(self) -> list[str]:
        address = loopback_address if self.rtt is None else server_address
        return [address(number) for number in range(self.sites)]

    @property
    def sizes(self) -> list[int]:
        if self.kind in ("real", "drops"):
            return [path.stat().st_size for path in sorted(REAL_PAGES.glob("*.html"))]
        return [LARGE_BYTES if self.kind == "large" else int(self.kind)]

    @property
    def targets(self) -> list[str]:
        folder = "drops" if self.kind == "drops" else "bytes"
        return [f"/{folder}/{size}/" for size in self.sizes]

    def urls(self, total_bytes: float) -> Iterator[str]:
        """So much of it, the sites taking turns."""
        pages, addresses = list(zip(self.targets, self.sizes, strict=True)), self.addresses
        for number in count():
            if total_bytes <= 0:
                return
            target, size = pages[number % len(pages)]
            yield f"http://{addresses[number % self.sites]}{target}{number}"
            total_bytes -= size

    @property
    def least_used(self) -> float:
        return LEAST_USED_FAR if (self.rtt or 0.0) >= FAR_SECONDS else LEAST_USED

    def settings(
        self, seconds: float, changes: Iterable[tuple[float, float]] = ()
    ) -> ClientSettings:
        return ClientSettings(
            self.rate, self.addresses, self.targets, seconds, changes=list(changes)
        )

    def __str__(self) -> str:
        sites = f"{self.sites} site" + "s" * (self.sites > 1)
        distance = "loopback" if self.rtt is None else f"{self.rtt * 1000:.0f} ms"
        return f"{format_rate(self.rate)}, {sites}, {distance}, {self.kind}"


@dataclass(slots=True)
class Result:
    """What the interface saw, as multiples of the limit."""

    name: str
    mean: float
    worst_tenth: float
    worst_second: float
    worst_five: float
    site_error: float = math.nan
    connections: int = 0
    pause: float = 0.0
    attempts: int = 1
    unlimited: float = math.nan
    """Bytes per second that the machine gives without a limit, where that was asked."""
    broken: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        tried = f" (at try {self.attempts})" if self.attempts > 1 else ""
        machine = "" if math.isnan(self.unlimited) else f"; without limit {self.unlimited:.3f}"
        return ("broken: " + ", ".join(self.broken) if self.broken else "kept") + tried + machine

    def line(self) -> str:
        five = "     –" if math.isnan(self.worst_five) else f"{self.worst_five:6.3f}"
        site = "    –" if math.isnan(self.site_error) else f"{self.site_error:5.1%}"
        return (
            f"{self.name:<44} {self.mean:6.3f} {self.worst_tenth:6.2f} {self.worst_second:6.3f} "
            f"{five} {site} {self.connections:4d} {self.pause * 1000:5.0f}  {self.verdict}"
        )


HEADING = f"{'':<44} {'mean':>6} {'0.1 s':>6} {'1 s':>6} {'5 s':>6} {'site':>5} {'conn':>4} pause"


def judge(cell: Cell, result: Result) -> None:
    """Note what was promised and not kept."""
    slow = cell.rate < SLOW
    least = cell.least_used * min(1.0, 1.0 if math.isnan(result.unlimited) else result.unlimited)
    rules = [
        (result.mean >= least, "used"),
        (result.mean <= MOST_USED, "mean"),
        (result.worst_second <= (WORST_SECOND_WHEN_SLOW if slow else WORST_SECOND), "1 s"),
        (not result.worst_five > (WORST_FIVE_WHEN_SLOW if slow else WORST_FIVE), "5 s"),
    ]
    result.broken += [name for kept, name in rules if not kept]


def measure(cell: Cell, seconds: float, python: str = sys.executable, of: str = "") -> Result:
    """By the Headgate of that Python, which is ``of`` a commit, or as it stands here."""
    report, readings = run_client(cell.settings(seconds), cell.rtt, python)
    times, addresses = (report.started, report.ended), cell.addresses
    result = summed_up(f"{of} {cell}".strip(), readings.received(*times, *addresses), cell.rate)
    share = cell.rate / cell.sites
    after = [readings.received(report.started + 1.0, report.ended, site) for site in addresses]
    errors = [np.abs(windows(bins, 5.0) / (5.0 * share) - 1.0) for bins in after]
    result.site_error = float(
        max((error.max() for error in errors if len(error)), default=math.nan)
    )
    result.connections = report.most_connections
    result.pause = readings.longest_pause(*times)
    if result.mean < cell.least_used:
        result.unlimited = unlimited(cell) / cell.rate
    result.broken += sorted(set(report.failures))
    judge(cell, result)
    return result


def unlimited(cell: Cell) -> float:
    """Bytes per second of the same without a limit, when it has begun."""
    at_once = max(2, UNLIMITED_CONNECTIONS // cell.sites)
    settings = replace(cell.settings(UNLIMITED_SECONDS), rate=0.0, connections_per_host=at_once)
    report, readings = run_client(settings, cell.rtt)
    begun = report.started + 1.0
    whole = readings.received(begun, report.ended, *cell.addresses).sum()
    return float(whole) / (report.ended - begun)


def summed_up(name: str, bins: Bins, rate: float) -> Result:
    def worst(seconds: float) -> float:
        sums = windows(bins, seconds)
        return float(sums.max()) / (rate * seconds) if len(sums) else math.nan

    mean = float(bins.sum()) / (rate * len(bins) * 0.01)
    return Result(name, mean, worst(0.1), worst(1.0), worst(5.0))


def measure_change(cell: Cell, to_rate: float) -> Result:
    """A budget changed in the middle: what comes a second later is held to the new one."""
    moment, seconds = 8.0, 20.0
    report, readings = run_client(cell.settings(seconds, [(moment, to_rate)]), cell.rtt)
    after = readings.received(report.started + moment + 1.0, report.ended, *cell.addresses)
    result = summed_up(f"{cell} → {format_rate(to_rate)}", after, to_rate)
    result.pause = readings.longest_pause(report.started, report.ended)
    judge(Cell(to_rate, cell.sites, cell.rtt, cell.kind), result)
    return result


def undisturbed(run: Callable[[], Result], attempts: int) -> Result:
    """A result that is the program's, not the machine's, if one can be had."""
    for attempt in range(1, attempts + 1):
        result = run()
        result.attempts = attempt
        if not result.broken or result.pause < LONGEST_PAUSE_SECONDS:
            break
    return result


PARTS = {
    "near": [
        *(Cell(rate, sites, 0.0) for rate in (5e4, 5e5, 5e6, 5e7) for sites in (1, 100)),
        *(Cell(rate, 10, 0.02) for rate in (1e5, 1e6, 1e7)),
    ],
    "far": [
        *(Cell(rate, sites, 0.1) for rate in (5e4, 5e5, 5e6, 5e7) for sites in (1, 100)),
        *(Cell(1e6, sites, rtt) for sites, rtt in ((1, 0.05), (10, 0.05), (10, 0.1))),
    ],
    "odd": [
        Cell(3e7, 1, None, "20000"),
        *(Cell(rate, sites, None) for rate, sites in ((5e4, 1), (1e6, 10), (3e7, 1), (3e7, 100))),
        *(Cell(rate, sites, 0.0, "drops") for rate, sites in ((5e4, 1), (5e4, 10), (5e5, 10))),
        Cell(5e4, 1, 0.1, "drops"),
        *(Cell(1e6, sites, 0.1, "large") for sites in (1, 10)),
    ],
}
"""The corners: 50 KB/s to 50 MB/s, 1 to 100 sites, 0 to 100 ms and loopback."""


CHANGES = [
    (Cell(1e6, 10, 0.1), 3e5),
    (Cell(1e6, 10, 0.1, "large"), 3e5),
    (Cell(3e5, 10, 0.1), 1e6),
    (Cell(1e7, 10, 0.02), 1e6),
    (Cell(1e6, 10, 0.02, "large"), 1e7),
]


TOOL_CELLS = [Cell(5e4, 1, 0.02), Cell(1e6, 10, 0.1), Cell(5e6, 1, 0.0)]


def tool_results(seconds: float, attempts: int) -> Iterator[Result]:
    for cell in TOOL_CELLS:
        urls = list(cell.urls(2.0 * cell.rate * seconds))
        for tool in TOOLS:
            bins = tool_bins(
                tool, cell.rate, urls=urls, addresses=cell.addresses, rtt=cell.rtt, seconds=seconds
            )
            result = summed_up(f"{tool} {cell}", bins, cell.rate)
            judge(cell, result)
            yield result
        yield undisturbed(partial(measure, cell, seconds), attempts)


def main(words: list[str]) -> int:
    arguments = parse(words)
    with_tools = not arguments.rates and "tools" in arguments.parts
    reason = missing() or (missing_tools() if with_tools else None)
    real = not arguments.rates or {"real", "drops"} & set(arguments.kinds)
    if reason is None and real and not REAL_PAGES.exists():
        reason = "real pages are missing (apt-get install postgresql-doc-15)"
    if reason is not None:
        print(f"cannot measure here: {reason}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results: list[Result] = []
    print(PROMISES, "", HEADING, sep="\n", flush=True)
    for result in chosen(arguments):
        results.append(result)
        print(result.line(), flush=True)
    others = tuple(f"{tool} " for tool in (*TOOLS, *filter(None, [arguments.against])))
    ours = [result for result in results if not result.name.startswith(others)]
    kept = sum(not result.broken for result in ours)
    print(f"\nHeadgate kept every promise in {kept} of {len(ours)} cells")
    if arguments.against:
        print(compared(results, arguments.against))
    if arguments.json:
        print(json.dumps([asdict(result) for result in results]))
    return 0 if kept == len(ours) else 1


def compared(results: list[Result], against: str) -> str:
    """Now against then, over the cells that were measured both ways."""
    now = {result.name: result for result in results}
    pairs = [
        (now[name.removeprefix(f"{against} ")], then)
        for name, then in now.items()
        if name.startswith(f"{against} ")
    ]
    use = [new.mean / then.mean for new, then in pairs]
    worst = [new.worst_second - then.worst_second for new, then in pairs]
    kept = sum(not then.broken for _, then in pairs)
    return (
        f"As of {against}: {kept} of {len(pairs)}. Use of the limit, now over then: median"
        f" {np.median(use):.3f}, {min(use):.3f} to {max(use):.3f}; worst second, now minus then:"
        f" median {np.median(worst):+.3f}, {min(worst):+.3f} to {max(worst):+.3f}"
    )


def chosen(arguments: argparse.Namespace) -> Iterator[Result]:
    seconds, attempts = arguments.seconds, arguments.attempts
    before = revision(arguments.against) if arguments.against else ""

    def measured(cells: Iterable[Cell]) -> Iterator[Result]:
        for cell in cells:
            yield undisturbed(partial(measure, cell, seconds), attempts)
            if before:
                older = partial(measure, cell, seconds, before, arguments.against)
                yield undisturbed(older, attempts)

    if arguments.rates:
        choices = product(arguments.rates, arguments.sites, arguments.rtts, arguments.kinds)
        yield from measured(Cell(*choice) for choice in choices)
        return
    for part in arguments.parts:
        if part == "tools":
            yield from tool_results(seconds, attempts)
        elif part == "changes":
            for cell, rate in CHANGES:
                yield undisturbed(partial(measure_change, cell, rate), attempts)
        else:
            yield from measured(PARTS[part])


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.bandwidth", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parts = [*PARTS, "tools", "changes"]
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--json", action="store_true", help="print the results as JSON at the end")
    parser.add_argument("--rates", type=float, nargs="+", help="cells of your own, all products")
    parser.add_argument("--sites", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rtts", type=_rtt, nargs="+", default=[0.0, 0.02, 0.1])
    parser.add_argument("--kinds", nargs="+", default=["real"])
    parser.add_argument("--against", metavar="REVISION", default="", help="near, far, odd, or own")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--attempts", type=int, default=3)
    return parser.parse_args(words)


def _rtt(word: str) -> float | None:
    return None if word == "loopback" else float(word)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
