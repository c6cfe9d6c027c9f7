"""Does the crawler make way? A line of 10 Mbit/s, shared with a user, on network namespaces.

    python -m bench.make_way                         crawlers × wishes, about ten minutes
    python -m bench.make_way --trace                 on the line of a phone on a bus, about as long
    python -m bench.make_way --crawlers way --wishes bulk idle

The user downloads a file without end (bulk), reads a page of 10 KB five times a second (small),
does both, or nothing (idle). Beside the user runs no crawler, `headgate crawl` without a limit, at
half of the line, or with --make-way, begun some seconds before. Columns: the user's download
against that without a crawler; the time of small pages (median, 95th percentile, and what that is
longer by); the crawler's part of the line, counted at the interface; for how much of the time the
report says that way was made. Fails when one of PROMISES is broken.

Needs root, network namespaces, tc and a C compiler.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headgate_lab.bed.network import Bed, ServerPath, missing, server_address
from headgate_lab.bed.readings import Readings

PROMISES = """\
with --make-way: the download keeps 95 % of what it has alone, small pages take 50 ms longer at the
most (95th percentile), and the crawler uses 88 % of the line while the user is idle."""

LEAST_BULK, MOST_LONGER, LEAST_USE = 0.95, 0.050, 0.88
LINE = 1_250_000.0
ROUND_TRIPS = (0.02, 0.03, 0.04, 0.06, 0.08, 0.12)
"""One crawled site each."""
USER_SERVER = ServerPath("10.78.9.1", 0.02)
WARM_UP_SECONDS = 8.0
CRAWLERS: dict[str, list[str] | None] = {
    "none": None,
    "unlimited": ["--bandwidth", "unlimited"],
    "half": ["--bandwidth", "5 Mbit/s"],
    "way": ["--bandwidth", "unlimited", "--make-way"],
}
WISHES = {"small": ["small"], "bulk": ["bulk"], "both": ["bulk", "small"], "idle": []}
TRACE = Path(__file__).with_name("traces") / "norway_bus_1"


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The line over time: ``rates`` hold for a second each, the last one for ever."""

    rates: tuple[float, ...]
    queue_bytes: int

    @classmethod
    def of_trace(cls, file: Path) -> Bottleneck:
        table = np.loadtxt(file)
        seconds = np.arange(0.5, table[-1, 0])
        rates = np.interp(seconds, table[:, 0], table[:, 1]) * 1e6 / 8
        return cls(tuple(map(float, rates)), queue_bytes=100_000)

    def carries(self, begin: float, end: float) -> float:
        """Bytes between two times."""
        moments = np.arange(begin, end, 0.01)
        return sum(self.rates[min(int(at), len(self.rates) - 1)] for at in moments) * 0.01

    def apply(self, bed: Bed, over: threading.Event) -> None:
        began = time.monotonic()
        for second, rate in enumerate(self.rates):
            bed.set_line(rate, self.queue_bytes)
            if over.wait(max(began + second + 1 - time.monotonic(), 0.0)):
                return


STEADY = Bottleneck((LINE,), queue_bytes=225_000)
"""The queue is 180 ms of the line: what home routers have, or less."""


@dataclass(slots=True)
class Cell:
    """What came of one crawler beside one user."""

    crawler: str
    wish: str
    use: float
    bulk_bytes: float
    small_median: float
    small_p95: float
    way_made: float

    def line(self, alone: Cell | None) -> str:
        bulk = f"{self.bulk_bytes / alone.bulk_bytes:6.1%}" if alone else ""
        longer = f"{(self.small_p95 - alone.small_p95) * 1e3:+6.0f}" if alone else ""
        cells = (
            f"{self.crawler:<10} {self.wish:<6}",
            f"{self.bulk_bytes / 1e6:6.2f} MB {bulk:>6}",
            f"{self.small_median * 1e3:6.0f} {self.small_p95 * 1e3:6.0f} {longer:>6}",
            f"{self.use:6.1%} {self.way_made:6.1%}",
        )
        return "  ".join(cells).replace("nan%", "   –").replace("nan", "  –")

    def broken(self, alone: Cell | None) -> list[str]:
        if self.crawler != "way":
            return []
        if self.wish == "idle":
            return [] if self.use >= LEAST_USE else ["use"]
        if alone is None:
            return []
        found = []
        if self.bulk_bytes < LEAST_BULK * alone.bulk_bytes:
            found.append("bulk")
        if self.small_p95 > alone.small_p95 + MOST_LONGER:
            found.append("small")
        return found


HEADING = (
    f"{'crawler':<10} {'user':<6}  {'download':>9} {'kept':>6}  "
    f"{'median':>6} {'p95 ms':>6} {'longer':>6}  {'use':>6} {'way':>6}"
)


def measure(crawler: str, wish: str, line: Bottleneck, seconds: float) -> Cell:
    sites = [ServerPath(server_address(n), rtt) for n, rtt in enumerate(ROUND_TRIPS)]
    with Bed([*sites, USER_SERVER]) as bed:
        bed.start_server(sys.executable, "-m", "bench.line_web", "80")
        bed.set_line(line.rates[0], line.queue_bytes)
        records, pauses = bed.folder / "records", bed.folder / "pauses"
        over = threading.Event()
        with records.open("wb") as out, pauses.open("wb") as late:
            watch = bed.start_watch(late)
            meter = bed.start_meter(out)
            changing = threading.Thread(target=line.apply, args=(bed, over))
            began = time.time()
            changing.start()
            try:
                process = start_crawler(bed, crawler, [path.address for path in sites])
                time.sleep(max(began + WARM_UP_SECONDS - time.time(), 0.0))
                user_from = time.time()
                user = ["-m", "bench.line_user", USER_SERVER.address, str(seconds), *WISHES[wish]]
                told = subprocess.run(
                    bed.client(sys.executable, *user), capture_output=True, text=True, check=True
                )
                user_until = user_from + seconds
                report = stop_crawler(process, bed.folder)
            finally:
                over.set()
                changing.join()
            bed.stop_meter(meter)
            watch.communicate()
        readings = Readings(records, pauses)
    crawled = sum(
        float(readings.received(user_from, user_until, path.address).sum()) for path in sites
    )
    came = json.loads(told.stdout)
    times = came.get("small_seconds") or [math.nan]
    return Cell(
        crawler,
        wish,
        use=crawled / line.carries(user_from - began, user_until - began),
        bulk_bytes=came.get("bulk_bytes", math.nan),
        small_median=float(np.median(times)),
        small_p95=float(np.quantile(times, 0.95)),
        way_made=report.get("made_way_seconds", 0.0) / report["seconds"] if report else math.nan,
    )


def start_crawler(bed: Bed, crawler: str, addresses: list[str]) -> subprocess.Popen[bytes] | None:
    options = CRAWLERS[crawler]
    if options is None:
        return None
    urls = [f"http://{address}/" for address in addresses]
    words = [
        "-m",
        "headgate",
        "crawl",
        *urls,
        *options,
        "--crawlers",
        str(len(urls)),
        "--delay",
        "0",
        "--quiet",
        "--contact",
        "bench",
    ]
    command = bed.client(sys.executable, *words, "--json", "--out", bed.folder / "collection")
    with (bed.folder / "report").open("wb") as report:
        return subprocess.Popen(command, stdout=report)


def stop_crawler(process: subprocess.Popen[bytes] | None, folder: Path) -> dict[str, float]:
    if process is None:
        return {}
    process.send_signal(signal.SIGINT)
    process.wait(30)
    report: dict[str, float] = json.loads((folder / "report").read_bytes())
    return report


def main(words: list[str]) -> int:
    arguments = parse(words)
    reason = missing() or (None if shutil.which("tc") else "the command tc is missing")
    if reason is not None:
        print(f"cannot measure here: {reason}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    line = Bottleneck.of_trace(TRACE) if arguments.trace else STEADY
    print(PROMISES, "", HEADING, sep="\n", flush=True)
    alone: dict[str, Cell] = {}
    failed = False
    for crawler in arguments.crawlers:
        for wish in arguments.wishes:
            if crawler == "none" and wish == "idle":
                continue
            cell = measure(crawler, wish, line, arguments.seconds)
            broken = cell.broken(alone.get(wish))
            failed |= bool(broken)
            print(cell.line(alone.get(wish)), *broken, flush=True)
            if crawler == "none":
                alone[wish] = cell
    return 1 if failed else 0


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.make_way", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--crawlers", nargs="+", choices=CRAWLERS, default=list(CRAWLERS))
    parser.add_argument("--wishes", nargs="+", choices=WISHES, default=list(WISHES))
    parser.add_argument("--seconds", type=float, default=25.0)
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
