"""A budget through proxies: what the interface sees of a crawl by tinyproxy, squid and SOCKS5.

    python -m bench.proxies [--proxies squid] [--rates 100KB/s 300KB/s 1MB/s] [--seconds 20]

Three documentation sites from Debian's packages behind nginx, and the proxies, are 20 ms away from
the crawler; it asks for everything through one of them, as a user would with ``--proxy``. Mean use,
worst second and worst five seconds are multiples of the budget. The bounds are those of the line
without a proxy; the mean is only told, since a proxy that closes each connection may not carry
more. Root is needed, and of Debian's packages nginx-light and those of the proxies to be tried:
tinyproxy, squid, microsocks. One that is missing is left out. About seven minutes.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.arguments import parser
from bench.documentation import TUNED_ON, fetched
from bench.policies import CACHE, CONSOLE, RTT_SECONDS, crawled, start_nginx

from headgate.model.units import BytesPerSecond, format_rate, parse_rate
from headgate_lab.bed.network import Bed, ServerPath, missing, server_address
from headgate_lab.bed.readings import BIN_SECONDS, windows

PACKAGES = ("cmake-doc", "git-doc", "postgresql-doc-15")
RATES = ("100KB/s", "300KB/s", "1MB/s")
WORST_FIVE = 1.03
WORST_SECOND, WORST_SECOND_WHEN_SLOW, SLOW = 1.05, 1.10, 500e3
PORT = 3128
_TINYPROXY = """\
Port {port}
Listen {address}
Timeout 60
MaxClients 200
LogFile "{folder}/tinyproxy.log"
"""
_SQUID = """\
http_port {address}:{port}
http_access allow all
cache deny all
pid_filename none
cache_log /dev/null
access_log none
coredump_dir /
shutdown_lifetime 1 seconds
"""


def tinyproxy(folder: Path, address: str) -> tuple[str, list[str]]:
    config = folder / "tinyproxy.conf"
    config.write_text(_TINYPROXY.format(port=PORT, address=address, folder=folder))
    return "http", ["-d", "-c", str(config)]


def squid(folder: Path, address: str) -> tuple[str, list[str]]:
    config = folder / "squid.conf"
    config.write_text(_SQUID.format(port=PORT, address=address, folder=folder))
    return "http", ["-N", "-f", str(config)]


def microsocks(folder: Path, address: str) -> tuple[str, list[str]]:  # noqa: ARG001
    return "socks5", ["-i", address, "-p", str(PORT)]


PROXIES: dict[str, Callable[[Path, str], tuple[str, list[str]]]] = {
    "tinyproxy": tinyproxy,
    "squid": squid,
    "microsocks": microsocks,
}


def site_file(seeds: Sequence[str], rate: float, seconds: float, proxy: str) -> str:
    lines = ["[budget]", f"crawlers = {len(seeds)}", f'bandwidth = "{rate:.0f} B/s"']
    for k, seed in enumerate(seeds):
        lines += [
            f"[site.s{k}]",
            f'seeds = ["{seed}"]',
            "delay = 0",
            f'proxy = "{proxy}"',
            f'max_time = "{seconds:g}s"',
        ]
    return "\n".join(lines) + "\n"


def held(bed: Bed, name: str, text: str, rate: float, address: str) -> bool:
    """Bytes to and from the proxy alone: everything goes through it, or it was passed by."""
    report, readings = crawled(bed, text)
    begin = readings.span()[0]
    end = report.started_at + max(site.finished or 0.0 for site in report.sites)
    bins = readings.received(begin, end)
    through = float(readings.received(begin, end, address).sum()) / float(bins.sum())
    mean = float(bins.sum()) / (len(bins) * BIN_SECONDS) / rate
    second, five = (float(windows(bins, s).max()) / s / rate for s in (1.0, 5.0))
    worst = WORST_SECOND if rate >= SLOW else WORST_SECOND_WHEN_SLOW
    kept = second <= worst and five <= WORST_FIVE and through == 1.0
    CONSOLE.print(
        f"{name:10} {format_rate(BytesPerSecond(rate)):>9}: mean {mean:.3f}, worst second"
        f" {second:.3f}, worst five {five:.3f}, {through:.0%} through the proxy,"
        f" {sum(site.pages for site in report.sites):,} pages, {end - begin:.1f} s,"
        f" {'kept' if kept else 'MISSED'}",
        soft_wrap=True,
    )
    return kept


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--rates", nargs="+", type=parse_rate, default=[parse_rate(rate) for rate in RATES]
    )
    arguments.add_argument("--seconds", type=float, default=20.0)
    arguments.add_argument("--proxies", nargs="+", choices=PROXIES, default=[*PROXIES])
    args = arguments.parse_args()
    if why := missing():
        CONSOLE.print(f"bench.proxies: {why}")
        return 2
    documents = [site for site in TUNED_ON if site.package in PACKAGES]
    roots = list(fetched(CACHE, documents).values())
    seeds = [f"http://{server_address(k)}/{site.seed}" for k, site in enumerate(documents)]
    address = server_address(len(documents))
    paths = [ServerPath(server_address(k), RTT_SECONDS) for k in range(len(documents) + 1)]
    all_kept = True
    for name in args.proxies:
        program = shutil.which(name)
        if program is None:
            CONSOLE.print(f"{name:10} is not installed: not tried")
            continue
        with Bed(paths) as bed:
            start_nginx(bed, roots)
            scheme, words = PROXIES[name](bed.folder, address)
            said = bed.folder / "proxy.log"
            script = (
                f"{program} {' '.join(words)} > {said} 2>&1 & sleep 2; echo ready; cat >> {said}"
            )
            bed.start_server("sh", "-c", f"{script}; kill $!")
            for rate in args.rates:
                text = site_file(seeds, rate, args.seconds, f"{scheme}://{address}:{PORT}")
                all_kept &= held(bed, name, text, rate, address)
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(main())
