"""The manager's decisions, played through on a made-up line."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from headgate.control.forecast import Forecast, Source, forecast
from headgate.control.manager import Command, DropSite, Manager, StartTask
from headgate.control.site_estimate import SiteWatch
from headgate.crawling.ports import SetRates, SetTotal, StopSite
from headgate.crawling.progress import Progress, TaskState
from headgate.model.site import OnDeadline, Site
from headgate.model.task import Task
from headgate.model.units import BytesPerSecond, Seconds
from headgate.scheduling.capacity import Capacity


def managed(
    sites: list[Site], forecasts: dict[str, Forecast], budget: float | None, slots: int = 5
) -> Manager:
    capacity = None if budget is None else Capacity.constant(budget)
    return Manager.from_sites(sites, forecasts, capacity, slots)


def after_look(manager: Manager, reports: list[Progress], now: float) -> list[Command]:
    manager.observe(reports, now)
    return manager.decide(now)


def rates_of(commands: list[Command]) -> dict[str, float]:
    merged: dict[str, float] = {}
    for command in commands:
        if isinstance(command, SetRates):
            merged.update(command.rates)
    return merged


def guess(bytes_: float, cap: float | None = None) -> Forecast:
    return Forecast(bytes_, Source.USER, cap)


def one_page_seen(name: str, of: int) -> Progress:
    """Its first page, of 10 KB, links to all others."""
    report = Progress(name, to_do=of - 1, fetches=1, wire_bytes=10_000)
    report.growth.found(0, 1)
    report.growth.settle(0, of - 1)
    report.growth.found(1, of - 1)
    report.growth.came(0, 10_000)
    return report


def test_sites_are_served_in_order_up_to_what_their_servers_give() -> None:
    sites = [Site("a"), Site("b"), Site("c")]
    known = {"a": guess(1e6, cap=30e3), "b": guess(1e6), "c": guess(1e6)}
    manager = managed(sites, known, 100e3)
    commands = manager.decide(0.0)
    assert SetTotal(100e3) in commands
    assert rates_of(commands) == {"a": 30e3, "b": 70e3}, "a server nobody knows may take all"


def test_sites_begin_at_once_in_order_and_deadlines_are_weighed_up_at_the_first_look() -> None:
    sites = [Site("soon", deadline=Seconds(11.0)), Site("slow", deadline=Seconds(11.0))]
    known = {"soon": guess(900e3, cap=100e3), "slow": guess(95e3, cap=10e3)}
    manager = managed(sites, known, 100e3)
    assert rates_of(manager.begin(0.0)) == {"soon": 100e3}
    assert rates_of(after_look(manager, [], 0.0))["slow"] == pytest.approx(10e3)


def test_what_caps_leave_is_offered_to_those_who_run() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6, cap=30e3), "b": guess(1e6, cap=50e3)}, 100e3)
    assert rates_of(manager.decide(0.0)) == {"a": 40e3, "b": 60e3}


def test_rates_never_add_up_to_more_than_is_offered() -> None:
    sites = [Site(f"s{i}") for i in range(7)]
    manager = managed(sites, {s.name: guess(1e6, cap=40e3) for s in sites}, 100e3, slots=3)
    manager.decide(0.0)
    for step in range(1, 50):
        reports = [
            Progress(name, wire_bytes=int(step * rate * 0.97), to_do=10, fetches=step)
            for name, rate in manager.rates.items()
        ]
        after_look(manager, reports, float(step))
        assert sum(manager.rates.values()) - sum(manager.sites.loans.values()) <= 100e3 * (1 + 1e-9)
        assert len(manager.rates) <= 3


def test_what_a_site_leaves_unused_is_lent_at_the_next_look_and_taken_back() -> None:
    sites = [Site("first", deadline=Seconds(10.0)), Site("parked", deadline=Seconds(90.0))]
    manager = managed(sites, {"first": guess(950e3), "parked": guess(1e6)}, 100e3)
    after_look(manager, [], 0.0)
    arrived = {"first": 0, "parked": 0}

    def second(now: float, first_bytes: int) -> Mapping[str, float]:
        arrived["first"] += first_bytes
        arrived["parked"] += int(manager.rates.get("parked", 0.0))
        reports = [Progress(name, wire_bytes=b, to_do=9) for name, b in arrived.items()]
        after_look(manager, reports, now)
        return manager.rates

    before = [second(float(now), 100_000).get("parked", 0.0) for now in (1, 2, 3)][-1]
    lent = second(4.0, 40_000)["parked"]
    assert before < 20e3
    assert lent == pytest.approx(before + 54e3, abs=15e3)
    assert not any(second(now, 100_000) and manager.sites.loans for now in (5.0, 6.0))


def test_a_slow_server_gives_its_unused_share_to_the_others() -> None:
    manager = managed([Site("slow"), Site("fast")], {"slow": guess(1e6), "fast": guess(1e6)}, 100e3)
    manager.decide(0.0)
    bytes_ = {"slow": 0, "fast": 0}
    for second in range(1, 30):
        for name, rate in manager.rates.items():
            bytes_[name] += int(min(rate, 10e3) if name == "slow" else rate)
        reports = [Progress(name, wire_bytes=b, to_do=9, fetches=9) for name, b in bytes_.items()]
        after_look(manager, reports, float(second))
    assert manager.rates["slow"] < 20e3
    assert manager.rates["fast"] > 80e3


def test_a_grant_too_small_for_a_page_makes_no_server_slow() -> None:
    watch = SiteWatch.from_forecast(
        Site("a", max_rate=BytesPerSecond(300e3)), guess(1e6, cap=300e3)
    )
    pages = Progress("a", wire_bytes=160_000, fetches=10, to_do=9)

    def look(rate: float, now: float) -> float:
        watch.grants.observe(pages, rate, now, first_look=False, held_back=False, lent=False)
        return watch.speed.cap

    assert [look(2e3, 0.5 * step) for step in range(30)] == [300e3] * 30
    caps = [look(100e3, 15.0 + 0.5 * step) for step in range(6)]
    assert caps[-1] < 100e3, "with a grant of some pages it is"


def test_a_user_cap_is_never_passed() -> None:
    site = Site("a", max_rate=BytesPerSecond(20e3))
    manager = managed([site], {"a": guess(1e7, cap=20e3)}, 100e3)
    manager.decide(0.0)
    for second in range(1, 20):
        after_look(manager, [Progress("a", wire_bytes=second * 20_000, to_do=9)], float(second))
    assert manager.rates["a"] == 20e3


def test_a_site_that_ends_makes_room_for_the_next() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6), "b": guess(1e6)}, 100e3, slots=1)
    assert rates_of(manager.decide(0.0)) == {"a": 100e3}
    assert rates_of(manager.ended("a", 5.0)) == {"b": 100e3}
    assert not manager.ended("b", 9.0)
    assert manager.done


def test_a_new_budget_holds_at_once() -> None:
    manager = managed([Site("a")], {"a": guess(1e6)}, 100e3)
    manager.decide(0.0)
    commands = manager.set_budget(Capacity.constant(30e3), 3.0)
    assert SetTotal(30e3) in commands
    assert rates_of(commands) == {"a": 30e3}


def test_without_a_limit_as_many_sites_run_as_there_are_crawlers() -> None:
    sites = [Site("a"), Site("b"), Site("c")]
    manager = managed(sites, {s.name: guess(1.0) for s in sites}, None, slots=2)
    assert rates_of(manager.decide(0.0)) == {"a": math.inf, "b": math.inf}
    assert rates_of(manager.ended("a", 1.0)) == {"c": math.inf}


@pytest.mark.parametrize(("on_deadline", "stops"), [(OnDeadline.STOP, 1), (OnDeadline.GO_ON, 0)])
def test_a_deadline_stops_only_those_who_want_it(on_deadline: OnDeadline, stops: int) -> None:
    site = Site("a", deadline=Seconds(10.0), on_deadline=on_deadline)
    manager = managed([site], {"a": guess(1e6)}, 100e3)
    manager.decide(0.0)
    commands = after_look(manager, [Progress("a", wire_bytes=5, to_do=3)], 10.5)
    assert sum(isinstance(command, StopSite) for command in commands) == stops


def test_the_timetable_turns() -> None:
    capacity = Capacity.from_pieces([(0.0, 50e3), (60.0, 20e3)])
    manager = Manager.from_sites([Site("a")], {"a": guess(1e7)}, capacity, 5)
    manager.decide(0.0)
    assert manager.next_turn(0.0) == 60.0
    assert rates_of(manager.decide(60.0)) == {"a": 20e3}


def test_a_turn_that_nobody_woke_for_is_told_at_the_next_look() -> None:
    capacity = Capacity.from_pieces([(0.0, 50e3), (60.0, 20e3)])
    manager = Manager.from_sites([Site("a")], {"a": guess(1e7)}, capacity, 5)
    assert SetTotal(50e3) in manager.decide(0.0)
    assert SetTotal(20e3) in after_look(manager, [Progress("a", to_do=9)], 60.5)
    assert not after_look(manager, [Progress("a", to_do=9)], 61.5)


def test_a_line_that_has_less_is_planned_for_and_forgiven() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6), "b": guess(1e6)}, 100e3)
    manager.decide(0.0)
    less = manager.set_line(20e3, 1.0, held_back=False)
    assert sum(rates_of(less).values()) == pytest.approx(20e3)
    assert not any(isinstance(command, SetTotal) for command in less), "others hold the total"
    for second in range(2, 12):  # nothing comes: not the servers' fault while the line is held back
        manager.budget.held_back = True
        after_look(manager, [Progress("a", to_do=9), Progress("b", to_do=9)], float(second))
    more = manager.set_line(math.inf, 12.0, held_back=False)
    assert rates_of(more) == {"a": 100e3}


def test_a_stop_comes_at_the_deadline_also_for_a_site_that_was_never_begun() -> None:
    sites = [
        Site("a", deadline=Seconds(10.0), on_deadline=OnDeadline.STOP),
        Site("b", deadline=Seconds(10.0), on_deadline=OnDeadline.STOP),
    ]
    manager = managed(sites, {"a": guess(1e7), "b": guess(1e7)}, 100e3, slots=1)
    manager.decide(0.0)
    assert manager.next_turn(0.0) == 10.0
    commands = manager.decide(10.0)
    assert StopSite("a", "deadline") in commands
    assert DropSite("b", "deadline") in commands
    assert not any(isinstance(command, StopSite) for command in manager.decide(10.1)), "once"
    manager.ended("a", 10.1)
    assert manager.done


def test_sites_that_wait_for_their_own_delay_lend_their_crawlers() -> None:
    """Five sites with Crawl-delay: 10 kept all others waiting for ever."""
    sites = [Site(f"s{k}") for k in range(4)]
    manager = managed(sites, {site.name: guess(1e6) for site in sites}, 100e3, slots=2)
    manager.decide(0.0)
    for second in range(1, 6):
        reports = [Progress(name, to_do=9, pausing=True) for name in manager.rates]
        after_look(manager, reports, float(second))
    assert set(manager.rates) == {"s0", "s1", "s2", "s3"}


def test_a_site_that_was_given_nothing_does_not_wait_for_its_own_delay() -> None:
    """Its robots.txt cannot come, and a second later it would be taken to be slow to answer."""
    sites = [Site("urgent", deadline=Seconds(50.0)), Site("later", deadline=Seconds(110.0))]
    known = {"urgent": guess(45e5, cap=100e3), "later": guess(45e5, cap=90e3)}
    manager = managed(sites, known, 100e3)
    after_look(manager, [], 0.0)
    reports = [one_page_seen(name, of=450) for name in known]
    after_look(manager, reports, 1.0)
    assert manager.rates["later"] == pytest.approx(0.1), "the last place: what nobody wants"
    reports[0].wire_bytes, reports[1].pausing = 110_000, True
    assert "later" not in rates_of(after_look(manager, reports, 2.0))


def test_a_site_nobody_has_seen_a_page_of_gets_a_trickle_while_others_have_the_line() -> None:
    """What was told of its size may be wrong by four, and showed 13 s too late that it was."""
    sites = [Site("urgent", deadline=Seconds(50.0)), Site("later", deadline=Seconds(110.0))]
    known = {"urgent": guess(20e5, cap=100e3), "later": guess(45e5, cap=100e3)}
    manager = managed(sites, known, 100e3)
    after_look(manager, [], 0.0)
    assert manager.rates == pytest.approx({"urgent": 97e3, "later": 3e3})
    after_look(manager, [one_page_seen("urgent", of=200), one_page_seen("later", of=450)], 1.0)
    assert manager.rates == pytest.approx({"urgent": 100e3 - 0.1, "later": 0.1}), "the last place"


def test_trickles_are_for_a_few_of_the_most_urgent() -> None:
    """Hundreds would show nothing of any, and take pages of late ones from those due soon."""
    sites = [Site(f"s{k}", deadline=Seconds(500.0 + k)) for k in range(20)]
    manager = managed(sites, {site.name: guess(2e5, cap=100e3) for site in sites}, 100e3, slots=20)
    after_look(manager, [], 0.0)
    trickles = {name for name, rate in manager.rates.items() if rate == pytest.approx(3e3)}
    assert trickles == {"s1", "s2", "s3", "s4"}
    assert manager.rates["s0"] == pytest.approx(88e3)


def test_sites_nobody_has_seen_are_taken_for_what_others_turn_out_to_be() -> None:
    sites = [Site(f"s{k}", deadline=Seconds(60.0)) for k in range(4)]
    guesses = {site.name: forecast(site) for site in sites}
    manager = managed(sites, guesses, 100e3, slots=4)
    after_look(manager, [], 0.0)
    before = manager.sites.bytes_left("s3")
    after_look(manager, [one_page_seen("s0", of=3), one_page_seen("s1", of=3)], 1.0)
    supposed = manager.sites.bytes_left("s3")
    assert supposed < before / 10
    manager.ended("s0", 2.0, whole=1_000.0)
    after_look(manager, [one_page_seen("s1", of=3)], 2.5)
    assert manager.sites.bytes_left("s3") < supposed


def test_a_server_is_not_slow_where_others_take_their_part_of_the_line() -> None:
    """What was lent comes back: rates add up to more than the line, and all get less."""
    sites = [Site("patient"), Site("quick")]
    known = {"patient": guess(1e7, cap=50e3), "quick": guess(1e7, cap=100e3)}
    manager = managed(sites, known, 100e3, slots=2)
    manager.decide(0.0)
    came = dict.fromkeys(("patient", "quick"), 0.0)
    for second in range(1, 12):
        reports = [
            Progress(name, to_do=9, fetches=9, wire_bytes=int(wire), pausing=name == "patient")
            for name, wire in came.items()
        ]
        after_look(manager, reports, float(second))
        given = sum(manager.rates.values())
        for name, rate in manager.rates.items():
            came[name] += rate * min(100e3 / given, 1.0)
    assert given == 150e3, "two thirds of it came"
    assert manager.sites.caps["quick"] >= 100e3


def test_a_site_behind_a_very_slow_server_lends_its_crawler() -> None:
    sites = [Site("slow"), Site("next")]
    manager = managed(sites, {"slow": guess(1e6), "next": guess(1e6)}, 100e3, slots=1)
    manager.decide(0.0)
    for second in range(1, 10):
        after_look(manager, [Progress("slow", wire_bytes=1000 * second, to_do=9)], float(second))
    assert manager.rates["next"] > 90e3


def test_a_site_nobody_knows_is_looked_at_before_its_turn_and_then_parked() -> None:
    sites = [Site("known", deadline=Seconds(60.0)), Site("unknown", deadline=Seconds(90.0))]
    forecasts = {"known": guess(3e6), "unknown": Forecast(2e7, Source.GUESS)}
    manager = managed(sites, forecasts, 100e3)
    rates = rates_of(manager.decide(0.0))
    assert rates == {"known": 50e3, "unknown": 50e3}
    looked = Progress("unknown", wire_bytes=70_000, fetches=7, to_do=3)
    for page in range(7):
        looked.growth.settle(min(page, 1))
        looked.growth.came(min(page, 1), 10_000)
    looked.growth.found(1, 9)
    assert not manager.sites.looks.over
    after = rates_of(after_look(manager, [Progress("known", to_do=9), looked], 3.0))
    assert manager.sites.looks.over
    assert after == {"known": 100e3, "unknown": 0.0}
    assert manager.sites.left["unknown"].likely < 1e6, "the look replaced the guess"


def test_sites_that_are_known_are_crawled_beside_first_looks() -> None:
    """They waited until the last unknown site was looked at: half a minute before the first page"""
    sites = [Site("known", deadline=Seconds(60.0)), Site("unknown", deadline=Seconds(90.0))]
    forecasts = {"known": guess(3e6, cap=100e3), "unknown": Forecast(2e7, Source.GUESS)}
    manager = managed(sites, forecasts, 100e3)
    assert rates_of(manager.begin(0.0)) == {"known": 50e3, "unknown": 50e3}
    assert set(manager.sites.looks.under_way) == {"unknown"}


def test_the_planner_reckons_with_the_range_and_not_with_its_middle_alone() -> None:
    """Sizes looked at may be off by four, and the middle was taken as certain."""
    site = Site("a", deadline=Seconds(20.0))
    watch = SiteWatch.from_forecast(site, Forecast(1e6, Source.SCOUT, bytes_range=(25e4, 4e6)))
    state = watch.state(equal_share=1e5)
    assert (state.least, state.remaining, state.most) == (25e4, 1e6, 2e6)
    watch.observe(one_page_seen("a", of=100))
    watch.refresh(state, equal_share=1e5)
    assert state.least == watch.left.low < state.remaining < state.most < watch.left.high


def test_looks_end_where_nothing_comes_and_are_skipped_where_time_is_short() -> None:
    sites = [Site(f"s{k}", deadline=Seconds(20.0)) for k in range(4)]
    manager = managed(sites, {s.name: Forecast(1e6, Source.GUESS) for s in sites}, 100e3, slots=2)
    manager.decide(0.0)
    assert set(manager.rates) == {"s0", "s1"}
    after_look(manager, [Progress("s0", to_do=1), Progress("s1", to_do=1)], 3.0)
    assert set(manager.sites.looks.under_way) == {"s2"}, "three seconds are enough; one runs"
    after_look(manager, [Progress(f"s{k}", to_do=1) for k in range(4)], 6.5)
    assert manager.sites.looks.over
    late = managed(sites, {s.name: Forecast(1e6, Source.GUESS) for s in sites}, 100e3, slots=2)
    late.decide(4.5)
    assert late.sites.looks.over, "a fifth of the time to the deadline is over"


def test_sites_that_stop_are_looked_at_last() -> None:
    """They cannot be late; what they take makes others so."""
    stop = Site("stop", deadline=Seconds(20.0), on_deadline=OnDeadline.STOP)
    others = [Site(f"s{k}", deadline=Seconds(30.0 + k)) for k in range(2)]
    unknown = Forecast(1e6, Source.GUESS, bytes_range=(3e4, 3e7))
    sites = [stop, *others]
    manager = managed(sites, {site.name: unknown for site in sites}, 100e3)
    manager.begin(0.0)
    assert set(manager.sites.looks.under_way) == {"s0", "s1"}


def test_a_trickle_is_for_sites_that_may_be_late() -> None:
    def watch(on_deadline: OnDeadline) -> SiteWatch:
        site = Site("a", deadline=Seconds(20.0), on_deadline=on_deadline)
        return SiteWatch.from_forecast(site, Forecast(1e6, Source.GUESS, bytes_range=(3e4, 3e7)))

    late, stops = watch(OnDeadline.GO_ON), watch(OnDeadline.STOP)
    assert (late.vague, late.unseen) == (True, True)
    assert (stops.vague, stops.unseen) == (False, False)


def test_a_site_whose_deadline_comes_before_its_look_is_not_waited_for() -> None:
    """The others' looks would never be over, and the plan would wait for them for ever."""
    sites = [Site(f"s{k}", deadline=Seconds(10.0)) for k in range(2)]
    manager = managed(sites, {s.name: Forecast(1e6, Source.GUESS) for s in sites}, 100e3, slots=1)
    manager.decide(0.0)
    assert set(manager.sites.looks.under_way) == {"s0"}
    manager.ended("s1", 0.5)
    manager.ended("s0", 1.0)
    assert manager.sites.looks.over
    assert manager.done


def test_a_change_of_rate_in_between_does_not_make_a_server_slow() -> None:
    manager = managed([Site("a")], {"a": guess(1e7)}, 100e3)
    manager.decide(0.0)
    arrived = 0.0
    for step in range(1, 40):
        now = step * 0.5
        arrived += manager.rates["a"] * 0.25
        manager.set_budget(Capacity.constant(100e3 if step % 2 else 50e3), now - 0.25)
        arrived += manager.rates["a"] * 0.25
        after_look(manager, [Progress("a", wire_bytes=int(arrived), to_do=9)], now)
    assert manager.sites.caps["a"] == math.inf


def test_a_new_plan_is_followed() -> None:
    sites = [Site("a"), Site("b")]
    manager = managed(sites, {"a": guess(1e6), "b": guess(1e6)}, 100e3, slots=1)
    manager.decide(0.0)
    manager.ended("a", 1.0)
    manager = managed(sites, {"a": guess(1e6), "b": guess(1e6)}, 100e3, slots=1)
    assert rates_of(manager.follow(["b", "a"], 0.0)) == {"b": 100e3}


def test_a_server_nobody_knows_is_tried_before_it_may_be_too_late() -> None:
    """However well the size is known. At 16 KB in each 0.4 s it takes 20 s, and cannot wait."""
    sites = [Site("near", deadline=Seconds(20.0)), Site("far", deadline=Seconds(26.0))]
    manager = managed(sites, {"near": guess(2e6, cap=300e3), "far": guess(800e3)}, 300e3)
    assert rates_of(manager.begin(0.0)) == {"near": 150e3, "far": 150e3}
    near = Progress("near", TaskState.CRAWLING, wire_bytes=150_000, fetches=10, to_do=120)
    far = Progress("far", TaskState.CRAWLING, wire_bytes=32_000, fetches=2, to_do=48)
    far.seconds_per_request = 0.4
    for _ in range(2):
        far.growth.came(0, 16_000)
    after_look(manager, [near, far], 1.0)
    assert manager.rates["far"] == pytest.approx(40e3, rel=0.1)
    assert manager.rates["near"] == pytest.approx(260e3, rel=0.1)


@pytest.mark.parametrize(("pace", "judged"), [(0.0, True), (1.0, False)])
def test_a_server_is_not_judged_where_politeness_sets_the_pace(pace: float, judged: bool) -> None:
    """A page a second, of 1 KB at first and of 24 KB later."""
    watched = SiteWatch.from_forecast(Site("library", deadline=Seconds(22.0)), guess(320e3))
    for look in range(1, 9):
        came = Progress("library", TaskState.CRAWLING, fetches=look // 2, to_do=13)
        came.wire_bytes, came.seconds_per_request = 1_000 * came.fetches, pace
        watched.observe(came)
        watched.grants.observe(came, 60e3, look / 2, first_look=False, held_back=False, lent=False)
    assert (watched.speed.cap < 5e3) == judged


def starts_of(commands: list[Command]) -> list[Task]:
    return [command.task for command in commands if isinstance(command, StartTask)]


def test_a_task_is_started_once_with_its_first_rate() -> None:
    manager = managed([Site("a"), Site("b")], {"a": guess(1e6), "b": guess(1e6)}, 100e3, slots=1)
    assert starts_of(manager.begin(0.0)) == [Task(Site("a"))]
    assert not starts_of(after_look(manager, [], 0.5))
    assert starts_of(manager.ended("a", 5.0)) == [Task(Site("b"))]


def test_tasks_arrive_while_it_runs_and_go_by_their_slack() -> None:
    manager = managed([Site("a")], {"a": guess(1e6)}, 100e3, slots=1)
    manager.begin(0.0)
    assert not rates_of(manager.arrive(Task(Site("later")), guess(1e6), 1.0)), "a crawler is busy"
    soon = Task(Site("soon", deadline=Seconds(60.0)), visit=7)
    manager.arrive(soon, guess(1e6, cap=50e3), 2.0)
    assert starts_of(manager.ended("a", 10.0)) == [soon]
    assert starts_of(manager.ended("soon", 30.0)) == [Task(Site("later"))]
    assert not manager.done
    manager.ended("later", 40.0)
    assert manager.done


def test_a_site_that_ended_arrives_again_and_nothing_of_its_last_visit_is_left() -> None:
    """Its old deadline, above all, does not stop it."""
    site = Site("a", deadline=Seconds(10.0), on_deadline=OnDeadline.STOP)
    manager = Manager.from_sites([], {}, Capacity.constant(100e3), 2)
    assert manager.done
    for visit, now in enumerate((0.0, 6.0, 12.0), start=1):
        task = Task(site, visit)
        assert starts_of(manager.arrive(task, guess(1e6, cap=100e3), now)) == [task]
        manager.observe([Progress("a", wire_bytes=10_000, to_do=9, fetches=1)], now + 1.0)
        assert manager.next_turn(now + 1.0) == now + 10.0
        assert not any(isinstance(command, StopSite) for command in manager.decide(now + 4.5))
        manager.ended("a", now + 5.0)
        assert manager.done
        assert manager.next_turn(now + 5.0) == math.inf
    manager.arrive(Task(site, 4), guess(1e6, cap=100e3), 20.0)
    assert StopSite("a", "deadline") in manager.decide(30.0)


def test_an_unknown_site_that_arrives_is_looked_at_first() -> None:
    manager = managed([Site("a", deadline=Seconds(900.0))], {"a": guess(1e7, cap=90e3)}, 100e3)
    manager.begin(0.0)
    unknown = Task(Site("new", deadline=Seconds(60.0)))
    commands = manager.arrive(unknown, Forecast(1e6, Source.GUESS), 500.0)
    assert starts_of(commands) == [unknown]
    assert set(manager.sites.looks.under_way) == {"new"}, "half a minute of the run's is long over"
    assert rates_of(commands)["new"] == pytest.approx(50e3)
    assert not manager.ended("new", 501.0) or manager.sites.looks.over
