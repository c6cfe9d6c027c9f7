"""The board of all sites: promises, hosts, pauses, values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.features.keep.recrawl.kept_site import SiteTerms
from headgate.features.keep.recrawl.scheduler import VisitScheduler, Why
from headgate.features.keep.recrawl.site_outlook import KNOTS_SECONDS, Outlook, interpolated
from headgate.features.keep.recrawl.site_table import collection_freshness

DAY = 86_400.0


def outlook(
    value: float = 1.0,
    begins: float = 0.0,
    oldest: float = 0.0,
    promise_seconds: float = 10.0,
) -> Outlook:
    """Worth the same for ever."""
    flat = (value,) * len(KNOTS_SECONDS)
    return Outlook(
        begins,
        flat,
        fresh=flat,
        ages=flat,
        pages=1,
        oldest_look=oldest,
        expected_bytes=1e4,
        expected_seconds=1.0,
        promise_bytes=1e5,
        promise_seconds=promise_seconds,
        rate_weights=(1.0,),
        unseen=0,
    )


def board(**sites: tuple[SiteTerms, Outlook | None]) -> VisitScheduler:
    made = VisitScheduler()
    for name, (terms, known) in sites.items():
        made.put(name, terms, known)
    return made


PLAIN = SiteTerms()


def test_how_fresh_all_is_goes_by_pages_and_by_importance() -> None:
    fading = tuple(np.linspace(1.0, 0.2, len(KNOTS_SECONDS)))
    ageing = tuple(range(len(KNOTS_SECONDS)))
    flat = (0.5,) * len(KNOTS_SECONDS)
    large = Outlook(
        0.0,
        flat,
        fresh=fading,
        ages=ageing,
        pages=9,
        oldest_look=0.0,
        expected_bytes=1e4,
        expected_seconds=1.0,
        promise_bytes=1e5,
        promise_seconds=10.0,
        rate_weights=(1.0,),
        unseen=0,
    )
    small = Outlook(
        0.0,
        flat,
        fresh=flat,
        ages=flat,
        pages=1,
        oldest_look=0.0,
        expected_bytes=1e4,
        expected_seconds=1.0,
        promise_bytes=1e5,
        promise_seconds=10.0,
        rate_weights=(1.0,),
        unseen=0,
    )
    nothing_to_ask = Outlook(
        np.inf,
        flat,
        fresh=flat,
        ages=flat,
        pages=0,
        oldest_look=0.0,
        expected_bytes=0,
        expected_seconds=0,
        promise_bytes=0,
        promise_seconds=0,
        rate_weights=(1.0,),
        unseen=0,
    )
    sites = board(
        large=(PLAIN, large), small=(SiteTerms(3.0), small),
        never_seen=(PLAIN, None), forbidden=(PLAIN, nothing_to_ask),
    )  # fmt: skip
    now = (KNOTS_SECONDS[3] + KNOTS_SECONDS[4]) / 2
    found = collection_freshness(sites.places.rows, now)
    assert found is not None
    there = (fading[3] + fading[4]) / 2
    assert found.estimated == pytest.approx((9 * there + 0.5) / 10)
    assert found.weighted == pytest.approx((9 * there + 3 * 0.5) / 12)
    assert found.mean_age_seconds == pytest.approx((9 * 3.5 + 0.5) / 10)
    assert found.p95_age_seconds == 3.5
    later = collection_freshness(sites.places.rows, 1e12)
    assert later is not None
    assert later.mean_age_seconds == pytest.approx((9 * ageing[-1] + 0.5) / 10)
    assert collection_freshness(board(a=(PLAIN, None)).places.rows, now) is None


def test_the_site_worth_most_is_next() -> None:
    sites = board(a=(PLAIN, outlook(1.0)), b=(PLAIN, outlook(3.0)), c=(PLAIN, outlook(2.0)))
    task = sites.next_task(5.0)
    assert task is not None
    assert (task.site, task.why, task.due, task.expected_bytes) == ("b", Why.INDEX, None, 1e4)


def test_nothing_is_asked_before_its_curve_begins() -> None:
    sites = board(a=(PLAIN, outlook(begins=100.0)))
    assert sites.next_task(99.0) is None
    assert sites.next_moment(0.0) == 100.0
    assert sites.next_task(100.0) is not None


def test_a_site_never_visited_goes_before_what_is_worth_most() -> None:
    sites = board(a=(PLAIN, outlook(1e9)), b=(SiteTerms(0.5), None), c=(SiteTerms(2.0), None))
    task = sites.next_task(5.0)
    assert task is not None
    assert (task.site, task.why) == ("c", Why.FIRST)


def test_promises_go_first_the_least_slack_before_others() -> None:
    """Slack is oldest look + P − now − s; it presses below 5 % of P or twice the visit."""
    day = SiteTerms(fresh_within=DAY)
    sites = board(
        a=(PLAIN, outlook(1e9)),
        b=(day, outlook(oldest=0.0, begins=np.inf)),
        c=(day, outlook(oldest=-100.0, begins=np.inf)),
    )
    presses = 0.95 * DAY - 100.0 - 10.0
    assert sites.next_promise(0.0) == pytest.approx(presses)
    early = sites.next_task(presses - 1)
    assert early is not None
    assert early.why is Why.INDEX
    task = sites.next_task(presses + 101)
    assert task is not None
    assert (task.site, task.why, task.due) == ("c", Why.PROMISE, DAY - 100.0)
    assert task.expected_bytes == 1e5
    assert [name for name, _ in sites.places.at_risk(presses + 101)] == ["c", "b"]


def test_a_long_visit_presses_for_twice_its_time() -> None:
    terms = SiteTerms(fresh_within=DAY)
    sites = board(a=(terms, outlook(oldest=0.0, begins=np.inf, promise_seconds=3 * 3600.0)))
    assert sites.next_promise(0.0) == pytest.approx(DAY - 3 * 3 * 3600.0)


def test_a_promise_presses_only_when_its_pages_may_be_asked() -> None:
    """Else it would be named again and again, with nothing to ask."""
    short = SiteTerms(fresh_within=3600.0, min_interval=3000.0)
    sites = board(a=(short, outlook(oldest=0.0, begins=np.inf, promise_seconds=5000.0)))
    assert sites.next_promise(0.0) == 3000.0
    assert sites.next_task(2999.0) is None


def test_a_host_that_somebody_is_at_is_left_alone() -> None:
    shared = SiteTerms(hosts=("h", "g"))
    sites = board(
        a=(shared, outlook(3.0)), b=(SiteTerms(hosts=("h",)), outlook(2.0)), c=(PLAIN, outlook(1.0))
    )
    sites.begin("a", 1.0)
    task = sites.next_task(1.0)
    assert task is not None
    assert task.site == "c"
    with pytest.raises(ValueError, match="visited already"):
        sites.begin("a", 1.0)
    sites.end("a", 0.0)
    again = sites.next_task(1.0)
    assert again is not None
    assert again.site == "a"


def test_a_pause_ends_by_itself_and_a_user_does_not_wait() -> None:
    sites = board(a=(PLAIN, outlook()))
    sites.pause("a", 50.0)
    assert sites.next_task(49.0) is None
    assert sites.next_moment(1.0) == 50.0
    sites.want("a")
    task = sites.next_task(49.0)
    assert task is not None
    assert task.why is Why.USER
    sites.begin("a", 1.0)
    sites.end("a", 0.0)
    assert sites.next_task(49.0) is None
    assert sites.next_task(50.0) is not None


def test_a_site_that_is_dropped_in_its_visit_leaves_nothing_behind() -> None:
    sites = board(a=(SiteTerms(hosts=("h",)), outlook()), b=(SiteTerms(hosts=("h",)), outlook()))
    sites.begin("a", 1.0)
    sites.drop("a")
    assert sites.next_task(1.0) is None
    sites.end("a", 0.0)
    task = sites.next_task(1.0)
    assert task is not None
    assert task.site == "b"


def test_curves_are_exact_for_powers_of_time() -> None:
    for power in (1.0, 2.0, 3.0):
        curve = (KNOTS_SECONDS[None, :] / DAY) ** power
        days = np.array([0.05, 0.3, 2.0, 7.0, 29.0, 200.0, 1000.0])
        found = interpolated(np.repeat(curve, len(days), axis=0), days * DAY)
        np.testing.assert_allclose(found, days**power, rtol=1e-9)


HOSTS = ("h", "g", "f")


class BoardUnderUse(RuleBasedStateMachine):
    """Whatever comes, an answer breaks no rule, and it is the best by a plain search."""

    def __init__(self) -> None:
        super().__init__()
        self.board = VisitScheduler()
        self.now = 0.0
        self.sites: dict[str, tuple[SiteTerms, float | None]] = {}
        self.paused: dict[str, float] = {}
        self.visits: dict[str, tuple[str, ...]] = {}

    @rule(
        name=st.sampled_from("abcdefg"),
        hosts=st.sets(st.sampled_from(HOSTS)),
        value=st.none() | st.integers(1, 50),
    )
    def put(self, name: str, hosts: set[str], value: int | None) -> None:
        terms = SiteTerms(hosts=tuple(sorted(hosts)))
        known = None if value is None else outlook(float(value))
        before = self.sites.get(name, (terms, None))[1]
        self.sites[name] = terms, before if value is None else float(value)
        self.board.put(name, terms, known)

    @precondition(lambda self: self.sites)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.sites)))
        del self.sites[name]
        self.paused.pop(name, None)
        self.board.drop(name)

    @precondition(lambda self: self.sites)
    @rule(data=st.data(), seconds=st.integers(-5, 20))
    def pause(self, data: st.DataObject, seconds: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.sites)))
        self.paused[name] = self.now + seconds
        self.board.pause(name, self.now + seconds)

    @rule(seconds=st.integers(1, 10))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        task = self.board.next_task(self.now)
        if task is not None:
            self.visits[task.site] = self.sites[task.site][0].hosts
            self.board.begin(task.site, self.now)

    @precondition(lambda self: self.visits)
    @rule(data=st.data(), value=st.integers(1, 50))
    def end(self, data: st.DataObject, value: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.visits)))
        del self.visits[name]
        if name in self.sites:
            self.sites[name] = self.sites[name][0], float(value)
        self.board.remember(name, outlook(float(value)))
        self.board.end(name, self.now)

    @invariant()
    def the_answer_is_the_best_that_is_allowed(self) -> None:
        taken = {host for hosts in self.visits.values() for host in hosts}
        allowed = {
            name: value
            for name, (terms, value) in self.sites.items()
            if name not in self.visits
            and taken.isdisjoint(terms.hosts)
            and self.paused.get(name, 0.0) <= self.now
        }
        task = self.board.next_task(self.now)
        assert len(self.board.places) == len(self.sites)
        if not allowed:
            assert task is None
            return
        assert task is not None
        new = [name for name, value in allowed.items() if value is None]
        if new:
            assert (task.site in new, task.why) == (True, Why.FIRST)
        else:
            assert allowed[task.site] == max(value for value in allowed.values() if value)


TestBoardUnderUse = BoardUnderUse.TestCase
