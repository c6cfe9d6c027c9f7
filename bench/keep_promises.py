"""Fifty promises of freshness over thirty virtual days, by the product's board.

    python -m bench.keep_promises [--sites 50] [--days 30]

Sites promise their pages within six hours to a week. Once they take 80 % of the budget as `headgate
plan --keep` reckons, and all are to be kept; once 120 %, and the mean lateness of looks is to be as
it says, within 10 %, with nothing left for other looks. Single looks are later or sooner than that:
pages of a site come together, so that the work comes in waves.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from headgate.features.keep.recrawl.freshness_promises import keep_plan
from headgate.features.keep.recrawl.kept_site import (
    DAY_SECONDS,
    KeptSite,
    LookCosts,
    SitePages,
    SiteTerms,
)
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.scheduler import Why
from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.model.budget import Budget
from headgate.model.units import BytesPerSecond, Seconds, SizeRange
from headgate_lab.worlds.kept_world import KeptWorld

_T0 = 1.7e9
_RATE = 100_000.0
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Trial:
    plan: KeepPlan
    promise_visits: int
    index_visits: int
    late: list[float]
    """Seconds after its promise, of each look; where promises cannot hold, of those after the first
    third of the time, when lateness has settled."""


def trial(sites: int, load: float, days: float, seed: int) -> Trial:
    """``load`` is that of the plan."""
    rng = np.random.default_rng(seed)
    within = np.exp(rng.uniform(np.log(6 * _HOUR), np.log(7 * DAY_SECONDS), sites))
    shares = rng.uniform(0.5, 1.5, sites)
    rounds = within * _RATE * load * shares / shares.sum()
    """Bytes of one look at all pages."""
    kept: dict[str, KeptSite] = {}
    demands = []
    for number, (promised, bytes_) in enumerate(zip(within, rounds, strict=True)):
        name = str(number)
        pages = int(rng.integers(20, 200))
        size = (bytes_ - 6_000.0) / pages - 600.0
        terms = SiteTerms(fresh_within=float(promised), hosts=(name,))
        arrays = SitePages.unasked(pages, size=size)
        arrays.asked[:] = arrays.known_at[:] = _T0 - rng.uniform(0, 0.9) * promised
        costs = LookCosts(look_seconds=(size + 600.0) / _RATE)
        kept[name] = KeptSite(terms, arrays, RatePrior().probabilities(terms.grid), costs)
        demands.append(PromisedSite(name, Seconds(promised), SizeRange.exactly(float(bytes_))))
    budget = Budget(BytesPerSecond(_RATE))
    plan = keep_plan(demands, 0, budget, datetime.fromtimestamp(_T0, UTC), rng)
    rates = {name: np.full(len(site.pages), 1 / 60) for name, site in kept.items()}
    world = KeptWorld(
        kept, rates, policy=keep_policy("index"), bytes_per_second=_RATE, now=_T0, rng=rng
    )
    world.run(_T0 + days / 3 * DAY_SECONDS)
    early = world.tally.late
    world.tally.late = []
    index_before = world.tally.visits[Why.INDEX]
    world.run(_T0 + days * DAY_SECONDS)
    visits = world.tally.visits
    if plan.holds:
        return Trial(plan, visits[Why.PROMISE], visits[Why.INDEX], early + world.tally.late)
    index = visits[Why.INDEX] - index_before
    return Trial(plan, visits[Why.PROMISE], index, world.tally.late)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sites", type=int, default=50)
    parser.add_argument("--days", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = trial(args.sites, 0.8, args.days, args.seed)
    late = [seconds for seconds in found.late if seconds > 0]
    print(
        f"80 %: {found.promise_visits:,} visits for promises, {len(late)} looks late,"
        f" {found.index_visits:,} other visits"
    )
    found = trial(args.sites, 1.2, args.days, args.seed)
    mean = float(np.mean(found.late)) / _HOUR
    low, high = np.percentile(found.late, [5, 95]) / _HOUR
    planned = found.plan.lateness / _HOUR
    print(
        f"120 %: {found.promise_visits:,} visits for promises, late by {mean:.2f} h on average"
        f" (nine in ten {low:.2f} to {high:.2f}), planned {planned:.2f} h"
        f" ({mean / planned - 1:+.0%}), {found.index_visits} other visits"
    )


if __name__ == "__main__":
    main()
