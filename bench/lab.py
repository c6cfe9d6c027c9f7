"""How fast the world of volunteers' machines goes, and how that grows with it.

    python -m bench.lab [--minutes 2000]      simulated minutes per second, and growth
    python -m bench.lab --gains 1 2 3 4 5     what pulls gain on these seeds, on a tenth
    python -m bench.lab --calibrate           updates a minute by bytes per page, seeds 101 to 103

Times are of one processor (CPU, not the clock on the wall). Near linear: twice the channels and
crawlers take about twice as long. The calibration is how bytes per page were chosen, which the
paper does not print: its tables imply 33.3 to 33.8 updates a minute.
"""

from __future__ import annotations

import time

from bench.arguments import parser

from headgate_lab.papers.sarss2010.printed import CASES, MINUTES
from headgate_lab.papers.sarss2010.simulation import PULL_AGE, PULL_FRESH, Extent, Run, simulate
from headgate_lab.worlds.pushed_tasks import PushedTasks
from headgate_lab.worlds.volunteers import volunteers

_SCALES = (8, 4, 2, 1)
_CALIBRATION_MINUTES = 20_000


def _growth(minutes: int) -> None:
    print(f"{minutes:,} minutes, REC, seed 1")
    print(f"{'strategy':26}{'channels':>9}{'minutes/s':>11}{'tasks/s':>10}{'against half':>14}")
    for strategy in ("FIXED", "ICR", PULL_FRESH):
        before = None
        for scale in _SCALES:
            began = time.process_time()
            found = simulate(Extent(scale, minutes), Run("REC", strategy, 1))
            took = time.process_time() - began
            growth = "" if before is None else f"{took / before:.2f} x"
            rate = sum(found.submitted) / took
            print(
                f"{strategy:26}{16_000 // scale:>9,}{minutes / took:>11,.0f}{rate:>10,.0f}"
                f"{growth:>14}",
                flush=True,
            )
            before = took


def _gains(seeds: list[int]) -> None:
    """A tenth of channels and crawlers, all minutes."""
    extent = Extent(10, MINUTES)
    print(f"{'seed':6}{'case':6}{'pull':28}{'gain: by tasks':>15}{'by pages':>10}{'channels':>10}")
    for seed in seeds:
        for case in CASES:
            fixed = simulate(extent, Run(case, "FIXED", seed))
            for name in (PULL_FRESH, PULL_AGE):
                found = simulate(extent, Run(case, name, seed))
                by_tasks = found.weighted_task_freshness / fixed.weighted_task_freshness
                by_pages = found.weighted_freshness / fixed.weighted_freshness
                print(
                    f"{seed:<6}{case:6}{name:28}{by_tasks:>15.3f}{by_pages:>10.3f}"
                    f"{found.covered:>10.2%}",
                    flush=True,
                )


def _calibrate() -> None:
    for kilobits in (140.0, 150.0, 160.0):
        rates = []
        for seed in (101, 102, 103):
            world = volunteers(1400, _CALIBRATION_MINUTES, seed, 1, kilobits)
            found = PushedTasks(world, _CALIBRATION_MINUTES, seed, None).run()
            rates.append(found.updates_per_minute)
        print(f"{kilobits:.0f} kbit a page: " + ", ".join(f"{rate:.1f}" for rate in rates))


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--minutes", type=int, default=2000)
    arguments.add_argument("--calibrate", action="store_true")
    arguments.add_argument("--gains", metavar="SEED", type=int, nargs="+")
    asked = arguments.parse_args()
    if asked.calibrate:
        _calibrate()
    elif asked.gains:
        _gains(asked.gains)
    else:
        _growth(asked.minutes)
