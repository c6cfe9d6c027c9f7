"""Do published policies set the rates of a real crawl? Interface against plan, on the bed.

    python -m bench.policies [--only NAME ...] [--bandwidth 200KB/s]

Three documentation sites from Debian's packages, served by nginx in a network namespace 20 ms away,
each at an address of its own. One crawl without a limit tells what each takes on the line. Then
every policy drives a crawl of all three under one budget, told those sizes, with deadlines that
cannot all be met. For each:

rates      planned segments of 5 s and more, and how far the rate at the interface is off the
           planned one at the most; the first and the last tenth of a segment are left out, since
           sites end a little sooner or later than planned
lateness   planned and kept, in seconds, over all sites

The order of the policies by lateness is to be that of their plans, where plans are 5 % apart or
more. Root is needed, and nginx (apt-get install nginx-light); about twelve minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import msgspec
from bench.documentation import TUNED_ON, Documentation, fetched
from bench.speed_peers.web import nginx_program
from rich.console import Console
from rich.table import Table

from headgate.model.budget import Budget
from headgate.model.plan import Plan
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds, parse_rate
from headgate.scheduling.planner import plan
from headgate.scheduling.policies import POLICY_NAMES
from headgate_lab.bed.network import Bed, ServerPath, missing, server_address
from headgate_lab.bed.readings import BIN_SECONDS, Readings

CONSOLE = Console(width=110)
CACHE = Path(tempfile.gettempdir()) / "headgate-documentation"
PACKAGES = ("debian-faq", "python-flask-doc", "bind9-doc")
RTT_SECONDS = 0.02
DEADLINES = (0.35, 0.7, 0.8)
"""Of the time that all bytes take: not all can be met."""
LONG_SECONDS, MARGIN = 5.0, 0.1
ALLOWED_OFF, APART = 0.05, 0.05
FOLLOWED = [name for name in POLICY_NAMES if name != "headgate"]
_NGINX = """\
daemon off; pid {folder}/pid; error_log {folder}/error.log; user root;
events {{}}
http {{
    include /etc/nginx/mime.types; access_log off; absolute_redirect off;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""


@dataclass(frozen=True, slots=True)
class Followed:
    """What came of a crawl by one policy."""

    policy: str
    segments: int
    most_off: float
    """Of the planned rate, over its long segments."""
    planned_late: float
    kept_late: float

    @property
    def kept(self) -> bool:
        return self.most_off <= ALLOWED_OFF


def sites_of(documents: Sequence[Documentation], sizes: Sequence[float], rate: float) -> list[Site]:
    """``sizes``: bytes on the line; none: not known, and no deadlines."""
    seconds = sum(sizes) / rate
    return [
        Site(
            document.package,
            seeds=(f"http://{server_address(k)}/{document.seed}",),
            delay=Seconds(0.0),
            expect=Bytes(sizes[k]) if sizes else None,
            deadline=Seconds(DEADLINES[k] * seconds) if sizes else None,
        )
        for k, document in enumerate(documents)
    ]


def site_file(sites: Sequence[Site], bandwidth: float | None, policy: str = "") -> str:
    lines = ["[budget]", f"crawlers = {len(sites)}"]
    lines += [] if bandwidth is None else [f'bandwidth = "{bandwidth:.0f} B/s"']
    lines += [f'policy = "{policy}"'] if policy else []
    for site in sites:
        lines += [f'[site."{site.name}"]', f'seeds = ["{site.seeds[0]}"]', "delay = 0"]
        if site.expect is not None and site.deadline is not None:
            lines += [f"expect = {site.expect:.0f}", f'deadline = "{site.deadline * 1000:.0f}ms"']
    return "\n".join(lines) + "\n"


def crawled(bed: Bed, text: str) -> tuple[RunReport, Readings]:
    """The command as a user runs it, with the line counted beside it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sites.toml")
        file.write_text(text)
        records, pauses = bed.folder / "records", bed.folder / "pauses"
        with records.open("wb") as counted, pauses.open("wb") as stood_still:
            watch, meter = bed.start_watch(stood_still), bed.start_meter(counted)
            command = [sys.executable, "-m", "headgate", "crawl", str(file), "--json", "--quiet"]
            done = subprocess.run(
                bed.client(*command, "--out", Path(folder, "data"), "--contact", "bench"),
                stdout=subprocess.PIPE, check=True,
            )  # fmt: skip
            bed.stop_meter(meter)
            watch.communicate()
        return msgspec.convert(json.loads(done.stdout), RunReport), Readings(records, pauses)


def judged(policy: str, planned: Plan, report: RunReport, readings: Readings) -> Followed:
    offs = []
    for k, site in enumerate(planned.sites):
        for segment in site.segments:
            length = segment.end - segment.start
            if length >= LONG_SECONDS:
                begin = report.started_at + segment.start + MARGIN * length
                end = report.started_at + segment.end - MARGIN * length
                came = readings.received(begin, end, server_address(k))
                rate = float(came.sum()) / (len(came) * BIN_SECONDS)
                offs.append(abs(rate / segment.rate - 1))
                CONSOLE.print(
                    f"  {policy}, {site.name}, {segment.start:.1f} to {segment.end:.1f} s:"
                    f" {segment.rate / 1e3:.1f} KB/s planned, {rate / 1e3:.1f} at the interface"
                )
    late = sum(max((s.finished or 0.0) - (s.deadline or 0.0), 0.0) for s in report.sites)
    return Followed(policy, len(offs), max(offs, default=0.0), planned.tardiness, late)


def out_of_order(followed: Sequence[Followed]) -> list[str]:
    """Pairs whose plans are apart and whose crawls are the other way round."""
    return [
        f"{a.policy} and {b.policy}"
        for a, b in combinations(sorted(followed, key=lambda one: one.planned_late), 2)
        if b.planned_late > a.planned_late * (1 + APART) + 1.0 and b.kept_late < a.kept_late
    ]


def start_nginx(bed: Bed, roots: Sequence[Path]) -> None:
    program = nginx_program()
    if program is None:
        raise SystemExit("install nginx-light first")
    servers = "\n    ".join(
        f"server {{ listen {server_address(k)}:80; root {root}; }}" for k, root in enumerate(roots)
    )
    config = bed.folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=bed.folder, servers=servers))
    bed.folder.chmod(0o755)
    # It ends with its standard input, as everything on the bed does.
    script = f"{program} -c {config} & echo ready; cat > {bed.folder}/said; kill $!"
    bed.start_server("sh", "-c", script)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=FOLLOWED, default=FOLLOWED)
    parser.add_argument("--bandwidth", type=parse_rate, default=BytesPerSecond(200e3))
    args = parser.parse_args()
    if why := missing():
        CONSOLE.print(f"bench.policies: {why}")
        return 2
    documents = [site for site in TUNED_ON if site.package in PACKAGES]
    roots = list(fetched(CACHE, documents).values())
    paths = [ServerPath(server_address(k), RTT_SECONDS) for k in range(len(documents))]
    with Bed(paths) as bed:
        start_nginx(bed, roots)
        report, _ = crawled(bed, site_file(sites_of(documents, (), 1.0), None))
        sites = sites_of(documents, [float(s.wire_bytes) for s in report.sites], args.bandwidth)
        CONSOLE.print(", ".join(f"{s.name} {s.wire_bytes:,} bytes" for s in report.sites))
        followed = []
        for policy in args.only:
            budget = Budget(args.bandwidth, crawlers=len(sites))
            planned = plan(sites, budget, policy, seed=1)
            came = crawled(bed, site_file(sites, args.bandwidth, policy))
            followed.append(judged(policy, planned, *came))
            CONSOLE.print(f"{policy}: {followed[-1].most_off:.1%} off")
    table = Table("policy", "segments", "most off", "late, planned", "late, kept", "")
    for one in followed:
        table.add_row(
            one.policy, f"{one.segments}", f"{one.most_off:.1%}", f"{one.planned_late:.1f} s",
            f"{one.kept_late:.1f} s", "kept" if one.kept else "MISSED",
        )  # fmt: skip
    CONSOLE.print(table)
    wrong = out_of_order(followed)
    CONSOLE.print(f"in another order than planned: {', '.join(wrong) or 'none'}")
    return 0 if all(one.kept for one in followed) and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
