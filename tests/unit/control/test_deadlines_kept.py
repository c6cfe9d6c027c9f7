"""Whole crawls by the manager on a made-up line: what the plan promised is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.unit.control.made_up_line import crawl, of_bytes

from headgate.control.forecast import Forecast, Source
from headgate.control.manager import Manager
from headgate.model.budget import Budget
from headgate.model.plan import Plan
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.planner import plan

BUDGET = Budget(BytesPerSecond(800e3), crawlers=5)


def some_sites(seed: int, tightness: float, count: int = 12) -> list[Site]:
    """Sites with deadlines round the ends of a plan that knew none."""
    rng = np.random.default_rng(seed)
    sites = [
        Site(
            f"s{k}",
            expect=Bytes(float(rng.uniform(2e5, 15e5))),
            max_rate=BytesPerSecond(float(rng.choice([120e3, 200e3, 320e3, 560e3]))),
        )
        for k in range(count)
    ]
    ends = {site.name: site.end for site in plan(sites, BUDGET).sites}
    return [
        structs.replace(
            site, deadline=Seconds(tightness * ends[site.name] * rng.uniform(1.0, 1.3) + 1.0)
        )
        for site in sites
    ]


def crawled(sites: list[Site], made: Plan, speed: float, silence: float) -> float:
    """Total lateness of a crawl in which servers are ``speed`` times as fast as planned."""
    by_name = {site.name: site for site in sites}
    forecasts = {
        site.name: Forecast(float(site.expect or 0), Source.USER, site.max_rate) for site in sites
    }
    manager = Manager.from_sites(
        [by_name[name] for name in made.order],
        forecasts,
        Capacity.constant(float(BUDGET.bandwidth)),  # type: ignore[arg-type]
        BUDGET.crawlers,
    )
    ends = crawl(
        manager,
        {
            site.name: of_bytes(site.expect or 0, (site.max_rate or 0) * speed, silence)
            for site in sites
        },
    )
    return sum(max(ends[site.name] - (site.deadline or np.inf), 0.0) for site in sites)


@pytest.mark.parametrize("seed", range(4))
def test_feasible_deadlines_are_met_although_sites_begin_late_and_are_slower(seed: int) -> None:
    sites = some_sites(seed, tightness=1.0)
    made = plan(sites, BUDGET)
    assert made.feasible
    assert crawled(sites, made, speed=0.98, silence=0.1) == 0


@pytest.mark.parametrize("count", [5, 12])
@pytest.mark.parametrize("seed", range(4))
def test_lateness_that_must_be_is_what_was_planned(seed: int, count: int) -> None:
    """Also where all sites run from the start, and water-filling shares the lateness out."""
    sites = some_sites(seed, tightness=0.5, count=count)
    made = plan(sites, BUDGET)
    assert made.tardiness > 1
    measured = crawled(sites, made, speed=1.0, silence=0.0)
    # The made-up line counts in steps of 0.05 s, so every site ends a little late.
    assert measured == pytest.approx(made.tardiness, rel=0.1, abs=0.1 * count)


def test_two_per_cent_of_slack_are_enough_and_rates_change_seldom() -> None:
    """Every second of the line is needed, and servers that are slow must be served all the time."""
    told = {  # bytes, bytes per second, deadline: just what water-filling can meet, and 2 % more
        "a": (3.98e6, 600e3, 17.94), "b": (6.376e6, 180e3, 42.53), "c": (5.387e6, 600e3, 44.36),
        "d": (2.59e6, 300e3, 14.51), "e": (7.761e6, 300e3, 38.36), "f": (1.508e6, 600e3, 50.2),
    }  # fmt: skip
    sites = [
        Site(name, expect=Bytes(size), max_rate=BytesPerSecond(speed), deadline=Seconds(deadline))
        for name, (size, speed, deadline) in sorted(told.items(), key=lambda item: item[1][2])
    ]
    forecasts = {
        name: Forecast(size, Source.USER, BytesPerSecond(speed))
        for name, (size, speed, _) in told.items()
    }
    manager = Manager.from_sites(sites, forecasts, Capacity.constant(0.995 * 600e3), len(sites))
    seen: list[dict[str, float]] = [{}]

    def note(manager: Manager, _now: float) -> None:
        rates = dict(manager.rates)
        if rates.keys() == seen[-1].keys() and rates != seen[-1]:
            seen.append(rates)
        seen[-1] = rates

    line = {name: of_bytes(size, 0.995 * speed, 0.2) for name, (size, speed, _) in told.items()}
    ends = crawl(manager, line, check=note)
    assert {name: end for name, end in ends.items() if end > told[name][2] + 0.05} == {}
    assert len(seen) < 40


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_rates_never_add_up_to_more_than_the_budget(data: st.DataObject) -> None:
    """Whatever the forecasts are wrong by, but for what others leave unused."""
    number = st.floats(1e3, 1e6)
    count = data.draw(st.integers(1, 8))
    sites = [
        Site(f"s{k}", deadline=Seconds(data.draw(st.floats(0.1, 100.0)))) for k in range(count)
    ]
    forecasts = {
        site.name: Forecast(
            data.draw(number), Source.GUESS, data.draw(st.one_of(st.none(), number))
        )
        for site in sites
    }
    turns = [(0.0, data.draw(number)), (7.0, data.draw(number)), (20.0, data.draw(number))]
    slots = data.draw(st.integers(1, 4))
    manager = Manager.from_sites(sites, forecasts, Capacity.from_pieces(turns), slots)
    line = {site.name: of_bytes(data.draw(number), data.draw(number), 0.2) for site in sites}
    crawl(manager, line, most=60.0, check=_within_budget)


def _within_budget(manager: Manager, now: float) -> None:
    assert manager.budget.capacity is not None
    lent = sum(manager.sites.loans.values())
    assert sum(manager.rates.values()) - lent <= manager.budget.capacity.rate_at(now) * (1 + 1e-9)
