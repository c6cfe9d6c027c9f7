"""Does a Scrapy project keep the budget under the add-on? Wire bytes at an interface.

    python -m bench.scrapy_line                      all parts, about ten minutes
    python -m bench.scrapy_line --parts line         budgets, http and https, asyncio and uvloop
    python -m bench.scrapy_line --parts deadlines    a site file with deadlines and a cap
    python -m bench.scrapy_line --parts cpu          CPU per response, beside Scrapy's own handler

Four sites, 20 ms away, of real pages (Debian's postgresql-doc-15) behind nginx, each at an address
of its own; a spider that always has more to ask for. Columns: mean use of the budget from the first
packet to the end of the run, while work remains; the worst second and the worst five, as multiples
of the budget. A cell that fails while the machine stood still for more than 10 ms is measured once
more. Root is needed, and network namespaces (apt-get install nginx-light openssl postgresql-doc-15
iproute2 ethtool gcc libc6-dev).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench.bandwidth import REAL_PAGES
from bench.bed.spider import SpiderRun, SpiderSettings
from bench.speed_peers.web import nginx_program
from rich.console import Console
from rich.table import Table

from headgate.model.units import format_rate, parse_rate
from headgate_lab.bed.network import Bed, ServerPath, missing, server_address
from headgate_lab.bed.readings import BIN_SECONDS, Readings, windows

CONSOLE = Console(width=110)
SITES = 4
RTT_SECONDS = 0.02
LEAST_USED, WORST_SECOND, WORST_FIVE = 0.95, 1.10, 1.03
LONGEST_PAUSE_SECONDS = 0.01
CLOSING_BYTES = 2000.0
SITE_BURST = 0.25 / 5.0 + 0.01
"""By which part a site may pass its cap over five seconds: a quarter of a second's worth at its
start, and a hundredth."""
ADDON = {"headgate.scrapy.Addon": 500}
LOOPS = {"asyncio": None, "uvloop": "uvloop.Loop"}
_NGINX = """\
daemon off; pid {folder}/pid; error_log {folder}/error.log; user root;
events {{ worker_connections 2000; }}
http {{
    include /etc/nginx/mime.types; access_log off; keepalive_requests 1000000;
    ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """What the interface saw, as multiples of the budget."""

    mean: float
    second: float
    five: float
    pause: float

    @property
    def kept(self) -> bool:
        return self.mean >= LEAST_USED and self.second <= WORST_SECOND and self.five <= WORST_FIVE


def start_nginx(bed: Bed) -> None:
    program = nginx_program()
    if program is None:
        raise SystemExit("install nginx-light first")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=bed", "-keyout", bed.folder / "key.pem",
         "-out", bed.folder / "certificate.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    servers = "\n    ".join(
        f"server {{ listen {server_address(k)}:80; listen {server_address(k)}:443 ssl;"
        f" root {REAL_PAGES}; }}"
        for k in range(SITES)
    )
    config = bed.folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=bed.folder, servers=servers))
    bed.folder.chmod(0o755)
    script = f"{program} -c {config} & echo ready; cat > {bed.folder}/said; kill $!"
    bed.start_server("sh", "-c", script)


def spidered(bed: Bed, asked: SpiderSettings) -> tuple[SpiderRun, Readings]:
    """A process of its own, with the line counted beside it."""
    records, pauses = bed.folder / "records", bed.folder / "pauses"
    with records.open("wb") as counted, pauses.open("wb") as stood_still:
        watch, meter = bed.start_watch(stood_still), bed.start_meter(counted)
        done = subprocess.run(
            bed.client(sys.executable, "-m", "bench.bed.spider"),
            input=json.dumps(asdict(asked)), stdout=subprocess.PIPE, text=True, check=True,
            env={key: value for key, value in os.environ.items() if "proxy" not in key.lower()},
        )  # fmt: skip
        bed.stop_meter(meter)
        watch.communicate()
    return SpiderRun(**json.loads(done.stdout)), Readings(records, pauses)


def settings(loop: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"ROBOTSTXT_OBEY": False, "ASYNCIO_EVENT_LOOP": LOOPS[loop], **more}


def pages() -> list[str]:
    return sorted(path.name for path in REAL_PAGES.glob("*.html"))


def origins(scheme: str) -> list[str]:
    return [f"{scheme}://{server_address(k)}" for k in range(SITES)]


def cell(bed: Bed, rate: float, scheme: str, loop: str, seconds: float) -> Cell:
    more = {"ADDONS": ADDON, "HEADGATE_BANDWIDTH": rate, "CLOSESPIDER_TIMEOUT": seconds}
    asked = SpiderSettings(origins(scheme), pages(), settings=settings(loop, more))
    _, readings = spidered(bed, asked)
    begin = readings.span()[0]
    end = begin + seconds - 1.0  # when the spider was told to close, nothing more was asked for
    bins = readings.received(begin, end)
    return Cell(
        float(bins.sum()) / (len(bins) * BIN_SECONDS) / rate,
        float(windows(bins, 1.0).max()) / rate,
        float(windows(bins, 5.0).max()) / 5.0 / rate,
        readings.longest_pause(begin, end),
    )


def measure_line(bed: Bed, rates: Sequence[float], seconds: float) -> bool:
    table = Table("budget", "scheme", "loop", "mean", "worst second", "worst five", "pause", "")
    kept = True
    for rate, scheme, loop in product(rates, ("http", "https"), LOOPS):
        for _ in range(2):
            came = cell(bed, rate, scheme, loop, seconds)
            if came.kept or came.pause <= LONGEST_PAUSE_SECONDS:
                break
        kept = kept and came.kept
        row = (
            format_rate(rate), scheme, loop, f"{came.mean:.3f}", f"{came.second:.3f}",
            f"{came.five:.3f}", f"{came.pause * 1000:.0f} ms", "kept" if came.kept else "MISSED",
        )  # fmt: skip
        CONSOLE.print(" ".join(row))
        table.add_row(*row)
    CONSOLE.print(table)
    return kept


def measure_deadlines(bed: Bed, each: int) -> bool:
    """Sizes are told exactly; the second site may take 120 KB/s and no more."""
    rate, cap = 400e3, 120e3
    sizes = [(REAL_PAGES / page).stat().st_size * 1.04 + 600 for page in pages()[:each]]
    size = sum(sizes)
    deadlines = [1.3 * size / rate, 1.25 * size / cap, 3.2 * size / rate, None]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sites.toml")
        lines = ["[budget]", f'bandwidth = "{rate:.0f} B/s"', f"crawlers = {SITES}"]
        for k, deadline in enumerate(deadlines):
            lines += [f"[site.s{k}]", f'seeds = ["http://{server_address(k)}/"]']
            lines += [f"expect = {size:.0f}"]
            lines += [] if deadline is None else [f'deadline = "{deadline * 1000:.0f}ms"']
            lines += [f'max_rate = "{cap:.0f} B/s"'] if k == 1 else []
        file.write_text("\n".join(lines) + "\n")
        more = {"ADDONS": ADDON, "HEADGATE": str(file)}
        asked = SpiderSettings(origins("http"), pages(), each, settings("asyncio", more))
        _, readings = spidered(bed, asked)
    begin, end = readings.span()
    kept = True
    for k, deadline in enumerate(deadlines):
        bins = readings.received(begin, end, server_address(k))
        came = bins.cumsum()  # connections are closed when all is over: that is no page
        last = float((came < came[-1] - CLOSING_BYTES).sum() + 1) * BIN_SECONDS
        fast = float(windows(bins, 5.0).max()) / 5.0
        fine = (deadline is None or last <= deadline) and (k != 1 or fast <= cap * (1 + SITE_BURST))
        kept = kept and fine
        CONSOLE.print(
            f"site {k}: {bins.sum() / 1e3:.0f} KB, ended after {last:.1f} s, deadline"
            f" {'none' if deadline is None else f'{deadline:.1f} s'}, worst five seconds"
            f" {fast / 1e3:.1f} KB/s: {'kept' if fine else 'MISSED'}"
        )
    return kept


def measure_cpu(bed: Bed, each: int, rounds: int) -> bool:
    """Microseconds of CPU per response, without a budget: the least of rounds in which both take
    turns, since others at the machine only ever add to it."""
    ours = {"ADDONS": ADDON, "HEADGATE_BANDWIDTH": "unlimited"}
    handlers = {"Scrapy's own": {}, "Headgate's": ours}
    kept = True
    for scheme, loop in product(("http", "https"), LOOPS):
        cost = dict.fromkeys(handlers, math.inf)
        for name, more in [*handlers.items()] * rounds:
            asked = SpiderSettings(origins(scheme), pages(), each, settings(loop, more))
            run, _ = spidered(bed, asked)
            assert run.responses == SITES * each
            cost[name] = min(cost[name], run.cpu_seconds / run.responses * 1e6)
        kept = kept and cost["Headgate's"] <= cost["Scrapy's own"]
        words = ", ".join(f"{name} {us:.0f} us" for name, us in cost.items())
        CONSOLE.print(f"{scheme}, {loop}: {words} of CPU per response")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parts = ("line", "deadlines", "cpu")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    rates = [parse_rate(words) for words in ("100KB/s", "300KB/s", "1MB/s")]
    parser.add_argument("--rates", nargs="+", type=parse_rate, default=rates)
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--deadline-pages", type=int, default=120)
    args = parser.parse_args()
    if why := missing():
        CONSOLE.print(f"bench.scrapy_line: {why}")
        return 2
    paths = [ServerPath(server_address(k), RTT_SECONDS) for k in range(SITES)]
    kept = []
    with Bed(paths) as bed:
        start_nginx(bed)
        if "line" in args.parts:
            kept.append(measure_line(bed, args.rates, args.seconds))
        if "deadlines" in args.parts:
            kept.append(measure_deadlines(bed, args.deadline_pages))
        if "cpu" in args.parts:
            kept.append(measure_cpu(bed, args.pages, args.rounds))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
