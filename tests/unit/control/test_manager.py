"""The manager's decisions, played through on a made-up line."""

from __future__ import annotations

import math

import pytest

from headgate.control.forecast import Forecast, Source
from headgate.control.manager import Command, Manager, SetRates, SetTotal, StopSite
from headgate.crawling.progress import Progress
from headgate.model.site import OnDeadline, Site
from headgate.model.units import BytesPerSecond, Seconds
from headgate.planning.capacity import Capacity


def managed(
    sites: list[Site], forecasts: dict[str, Forecast], budget: float | None, slots: int = 5
) -> Manager:
    capacity = None if budget is None else Capacity.constant(budget)
    return Manager.of(sites, forecasts, capacity, slots)


def rates_of(commands: list[Command]) -> dict[str, float]:
    merged: dict[str, float] = {}
    for command in commands:
        if isinstance(command, SetRates):
            merged.update(command.rates)
    return merged


def guess(bytes_: float, cap: float | None = None) -> Forecast:
    return Forecast(bytes_, Source.USER, cap)


def test_known_caps_share_the_budget_and_unknown_ones_start_with_a_fair_part() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6, cap=30e3), "b": guess(1e6)}, 100e3)
    commands = manager.begin(0.0)
    assert SetTotal(100e3) in commands
    # The caps leave 20 KB/s, which both are offered alike.
    assert rates_of(commands) == {"a": 40e3, "b": 60e3}


def test_rates_never_add_up_to_more_than_the_budget() -> None:
    sites = [Site(f"s{i}") for i in range(7)]
    manager = managed(sites, {s.name: guess(1e6, cap=40e3) for s in sites}, 100e3, slots=3)
    manager.begin(0.0)
    for step in range(1, 50):
        reports = [
            Progress(name, wire_bytes=int(step * rate * 0.97), to_do=10, fetches=step)
            for name, rate in manager.rates.items()
        ]
        manager.progressed(reports, float(step))
        assert sum(manager.rates.values()) <= 100e3 * (1 + 1e-9)
        assert len(manager.rates) <= 3


def test_a_slow_server_gives_its_unused_share_to_the_others() -> None:
    manager = managed([Site("slow"), Site("fast")], {"slow": guess(1e6), "fast": guess(1e6)}, 100e3)
    manager.begin(0.0)
    bytes_ = {"slow": 0, "fast": 0}
    for second in range(1, 30):
        for name, rate in manager.rates.items():
            bytes_[name] += int(min(rate, 10e3) if name == "slow" else rate)
        reports = [Progress(name, wire_bytes=b, to_do=9, fetches=9) for name, b in bytes_.items()]
        manager.progressed(reports, float(second))
    assert manager.rates["slow"] < 20e3
    assert manager.rates["fast"] > 80e3


def test_a_user_cap_is_never_passed() -> None:
    site = Site("a", max_rate=BytesPerSecond(20e3))
    manager = managed([site], {"a": guess(1e7, cap=20e3)}, 100e3)
    manager.begin(0.0)
    for second in range(1, 20):
        manager.progressed([Progress("a", wire_bytes=second * 20_000, to_do=9)], float(second))
    assert manager.rates["a"] == 20e3


def test_a_site_that_ends_makes_room_for_the_next() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6), "b": guess(1e6)}, 100e3, slots=1)
    assert rates_of(manager.begin(0.0)) == {"a": 100e3}
    assert rates_of(manager.ended("a", 5.0)) == {"b": 100e3}
    assert not manager.ended("b", 9.0)
    assert manager.done


def test_a_new_budget_holds_at_once() -> None:
    manager = managed([Site("a")], {"a": guess(1e6)}, 100e3)
    manager.begin(0.0)
    commands = manager.set_budget(Capacity.constant(30e3), 3.0)
    assert SetTotal(30e3) in commands
    assert rates_of(commands) == {"a": 30e3}


def test_without_a_limit_as_many_sites_run_as_there_are_crawlers() -> None:
    sites = [Site("a"), Site("b"), Site("c")]
    manager = managed(sites, {s.name: guess(1.0) for s in sites}, None, slots=2)
    assert rates_of(manager.begin(0.0)) == {"a": math.inf, "b": math.inf}
    assert rates_of(manager.ended("a", 1.0)) == {"c": math.inf}


@pytest.mark.parametrize(("on_deadline", "stops"), [(OnDeadline.STOP, 1), (OnDeadline.GO_ON, 0)])
def test_a_deadline_stops_only_those_who_want_it(on_deadline: OnDeadline, stops: int) -> None:
    site = Site("a", deadline=Seconds(10.0), on_deadline=on_deadline)
    manager = managed([site], {"a": guess(1e6)}, 100e3)
    manager.begin(0.0)
    commands = manager.progressed([Progress("a", wire_bytes=5, to_do=3)], 10.5)
    assert sum(isinstance(command, StopSite) for command in commands) == stops


def test_the_timetable_turns() -> None:
    capacity = Capacity.of([(0.0, 50e3), (60.0, 20e3)])
    manager = Manager.of([Site("a")], {"a": guess(1e7)}, capacity, 5)
    manager.begin(0.0)
    assert manager.next_turn(0.0) == 60.0
    assert rates_of(manager.begin(60.0)) == {"a": 20e3}


def test_a_turn_that_nobody_woke_for_is_told_at_the_next_look() -> None:
    capacity = Capacity.of([(0.0, 50e3), (60.0, 20e3)])
    manager = Manager.of([Site("a")], {"a": guess(1e7)}, capacity, 5)
    assert SetTotal(50e3) in manager.begin(0.0)
    assert SetTotal(20e3) in manager.progressed([Progress("a", to_do=9)], 60.5)
    assert not manager.progressed([Progress("a", to_do=9)], 61.5)


def test_a_line_that_has_less_is_planned_for_and_forgiven() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6), "b": guess(1e6)}, 100e3)
    manager.begin(0.0)
    less = manager.set_line(20e3, 1.0, held_back=False)
    assert sum(rates_of(less).values()) == pytest.approx(20e3)
    assert not any(isinstance(command, SetTotal) for command in less), "others hold the total"
    for second in range(2, 12):  # nothing comes: not the servers' fault while the line is held back
        manager.held_back = True
        manager.progressed([Progress("a", to_do=9), Progress("b", to_do=9)], float(second))
    more = manager.set_line(math.inf, 12.0, held_back=False)
    assert rates_of(more) == {"a": 50e3, "b": 50e3}
