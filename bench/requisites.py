"""Pages with all that shows them, under a budget and by deadlines: wire bytes on the bed.

    python -m bench.requisites [--bandwidth 400KB/s]

Three documentation sites from Debian's packages behind nginx, 20 ms away, with ``requisites =
"page"``: pictures, styles, scripts and fonts are fetched, too. One crawl without a limit tells what
each takes on the line, and one without requisites how much of it that is. Then the same under a
budget, with deadlines that leave a tenth of time to spare and a second for the start (robots.txt, a
first page, what it needs: one after the other), sizes told; and once more nothing told.
Deadlines are to be met where sizes are told; mean use, worst second and worst five seconds are
multiples of the budget. Root is needed, and nginx (apt-get install nginx-light); a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.arguments import parser
from bench.documentation import TUNED_ON, fetched
from bench.policies import CACHE, CONSOLE, RTT_SECONDS, crawled, start_nginx

from headgate.model.run_report import RunReport
from headgate.model.units import BytesPerSecond, parse_rate
from headgate_lab.bed.network import Bed, ServerPath, missing, server_address
from headgate_lab.bed.readings import BIN_SECONDS, windows

PACKAGES = ("debian-faq", "doxygen-doc", "maint-guide")
"""With all that shows their pages in the package: others link to scripts of further packages."""
LEAST_USED, WORST_SECOND, WORST_FIVE = 0.95, 1.10, 1.03
SPARE, START_SECONDS = 1.1, 1.0


def site_file(
    seeds: Sequence[str], rate: float | None, sizes: Sequence[float], requisites: str, *, told: bool
) -> str:
    """``sizes`` on the line: deadlines come one after the other, with a tenth to spare."""
    lines = ["[budget]", f"crawlers = {len(seeds)}"]
    lines += [] if rate is None else [f'bandwidth = "{rate:.0f} B/s"']
    for k, seed in enumerate(seeds):
        lines += [
            f"[site.s{k}]",
            f'seeds = ["{seed}"]',
            "delay = 0",
            f'requisites = "{requisites}"',
        ]
        if sizes and rate is not None:
            deadline = SPARE * sum(sizes[: k + 1]) / rate + START_SECONDS
            lines += [f'deadline = "{deadline * 1000:.0f}ms"']
            lines += [f"expect = {sizes[k]:.0f}"] if told else []
    return "\n".join(lines) + "\n"


def judged(bed: Bed, name: str, text: str, rate: float) -> bool:
    report, readings = crawled(bed, text)
    begin = readings.span()[0]
    end = max(report.started_at + (site.finished or 0.0) for site in report.sites)
    bins = readings.received(begin, end)
    mean = float(bins.sum()) / (len(bins) * BIN_SECONDS) / rate
    second, five = (float(windows(bins, s).max()) / s / rate for s in (1.0, 5.0))
    met = sum(site.met is True for site in report.sites)
    CONSOLE.print(
        f"{name}: {met} of {len(report.sites)} deadlines met, mean {mean:.3f}, worst second"
        f" {second:.3f}, worst five {five:.3f}, {_errors(report)} errors"
    )
    for site in report.sites:
        CONSOLE.print(f"  {site.name}: deadline {site.deadline:.1f} s, ended {site.finished:.1f} s")
    held = mean >= LEAST_USED and second <= WORST_SECOND and five <= WORST_FIVE
    return held and met == len(report.sites)


def _errors(report: RunReport) -> int:
    return sum(sum(site.errors.values()) for site in report.sites)


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--bandwidth", type=parse_rate, default=BytesPerSecond(400e3))
    rate = float(arguments.parse_args().bandwidth)
    if why := missing():
        CONSOLE.print(f"bench.requisites: {why}")
        return 2
    documents = [site for site in TUNED_ON if site.package in PACKAGES]
    roots = list(fetched(CACHE, documents).values())
    paths = [ServerPath(server_address(k), RTT_SECONDS) for k in range(len(documents))]
    seeds = [f"http://{server_address(k)}/{site.seed}" for k, site in enumerate(documents)]
    with Bed(paths) as bed:
        start_nginx(bed, roots)
        bare, _ = crawled(bed, site_file(seeds, None, (), "none", told=False))
        whole, _ = crawled(bed, site_file(seeds, None, (), "page", told=False))
        for site, without in zip(whole.sites, bare.sites, strict=True):
            CONSOLE.print(
                f"{site.name}: {site.wire_bytes:,} bytes in {site.pages:,} files, without"
                f" requisites {without.wire_bytes:,} in {without.pages:,}"
            )
        sizes = [float(site.wire_bytes) for site in whole.sites]
        told = judged(bed, "told", site_file(seeds, rate, sizes, "page", told=True), rate)
        judged(bed, "not told", site_file(seeds, rate, sizes, "page", told=False), rate)
    return 0 if told else 1


if __name__ == "__main__":
    sys.exit(main())
