"""3,400 servers of very different speed, some dead, some hanging, surveyed over real sockets.

    python -m bench.survey [--sites 3400] [--max-pages 12] [--keep FOLDER]

The virtual web is served by a process of its own, which counts what every server was asked for. The
survey runs twice: on all servers, and on those alone that answer. Printed: wall time, load, memory,
the greatest load of any server against its cap by the servers' own counts, and what the dead and
the hanging cost of the wall time.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop
from msgspec.structs import replace

from headgate.engine.clock import AwakeClock
from headgate.engine.real_parts import real_parts
from headgate.features.survey.job import SURVEY_LIMITS, SurveyJob, SurveyWatcher, survey
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.fetching.dns import FixedResolver
from headgate.frontier.politeness import PolitenessRules
from headgate.model.budget import Budget
from headgate.model.units import UNLIMITED
from headgate_lab.worlds.virtual_server import addresses, manner_of, starts
from headgate_lab.worlds.virtual_web import make_web

_SEED = 1
_DELAY_SECONDS = 0.5


@dataclass(frozen=True)
class Outcome:
    report: SurveyReport
    wall_seconds: float
    requests: dict[str, int]
    """What each server counted."""


class Nobody(SurveyWatcher):
    def on_messages(self, words: Sequence[str]) -> None:
        pass


@contextmanager
def serving(sites: int, folder: Path) -> Iterator[tuple[int, Path]]:
    counts = folder / "counts.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "headgate_lab.worlds.virtual_server", "--seed", str(_SEED),
         "--sites", str(sites), "--counts", str(counts)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), counts
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def run_once(sites: int, most: int, *, only_answering: bool, keep: Path | None = None) -> Outcome:
    web = make_web(_SEED, sites)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with serving(sites, folder) as (port, counts):
            urls = [
                url for site, url in enumerate(starts(web, port))
                if not only_answering or _answers(site)
            ]  # fmt: skip
            job = SurveyJob(
                starts=tuple(urls),
                rules=SurveyRules(
                    most_requests=most,
                    pace=PolitenessRules(
                        connections=1, delay=_DELAY_SECONDS, failure_limit=3, busy_limit=3
                    ),
                ),
                budget=Budget(UNLIMITED),
                out=keep or folder / "out",
                fetcher=FetcherSettings("bench", SURVEY_LIMITS, named=frozenset(("127.0.0.0/8",))),
            )
            began = time.monotonic()
            fetcher = partial(
                HttpFetcher, resolver=FixedResolver(addresses(web)), clock=AwakeClock()
            )
            parts = replace(real_parts(), open_fetcher=fetcher)
            report = uvloop.run(survey(job, parts, Nobody()))
            wall = time.monotonic() - began
        return Outcome(report, wall, json.loads(counts.read_text())["requests"])


def _answers(site: int) -> bool:
    manner = manner_of(site)
    return not (manner.hangs or manner.dead or manner.nameless)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sites", type=int, default=3400)
    parser.add_argument("--max-pages", type=int, default=12)
    parser.add_argument("--keep", type=Path, help="leave tables and page of the first there")
    args = parser.parse_args()
    everyone = run_once(args.sites, args.max_pages, only_answering=False, keep=args.keep)
    answering = run_once(args.sites, args.max_pages, only_answering=True)
    report = everyone.report
    most = max(everyone.requests.values())
    silent = report.servers - report.reachable
    cost = everyone.wall_seconds / answering.wall_seconds - 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    why = ", ".join(f"{count} {reason}" for reason, count in report.unreachable.items())
    print(f"servers {report.servers:,}, of which {silent:,} never answer: {why}")
    print(f"requests {report.requests:,}, pages {report.pages:,}, hosts {report.hosts:,}")
    print(
        f"wall time {everyone.wall_seconds:.1f} s, {report.requests / everyone.wall_seconds:.0f}/s"
    )
    print(f"most requests to one server, by its own count: {most} (cap {args.max_pages})")
    print(f"wall time with answering servers only {answering.wall_seconds:.1f} s:", end=" ")
    print(f"the dead and hanging cost {cost:+.1%} (limit 10 %)")
    print(f"peak memory {memory:.0f} MB")


if __name__ == "__main__":
    main()
