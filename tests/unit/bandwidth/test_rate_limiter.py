"""The rate limiter's promises, on any sequence of claims, grants, settlements and rate changes."""

from __future__ import annotations

import math
from collections import defaultdict, deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.bandwidth.rate_limiter import CreditClaim, RateLimiter

_SITES = ("a", "b", "c", "d")
_RATES = st.one_of(st.floats(1e3, 1e7), st.just(math.inf))
_AMOUNTS = st.floats(1, 50_000)


class _Ledger:
    """What one level let through, and what it was allowed: checked over every stretch of time."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self.largest = 0.0
        self.events: list[tuple[float, float]] = [(0.0, 0.0)]
        """(bytes allowed by the rate so far, bytes let through so far)."""
        self._earned = 0.0
        self._let = 0.0

    def advance(self, seconds: float) -> None:
        self._earned += 1e18 if math.isinf(self.rate) else self.rate * seconds

    def let(self, amount: float) -> None:
        self.events.append((self._earned, self._let))
        self._let += amount
        self.largest = max(self.largest, amount)
        self.events.append((self._earned, self._let))

    def set_rate(self, rate: float, burst: float) -> None:
        if math.isinf(self.rate) or math.isinf(rate):
            self.events = [(self._earned, self._let)]
        self.rate = rate
        self.burst = max(self.burst, burst)

    def check(self) -> None:
        if math.isinf(self.rate):
            return
        lowest_lead = math.inf
        for earned, let in self.events:
            lowest_lead = min(lowest_lead, let - earned)
            over = (let - earned) - lowest_lead
            assert over <= (self.burst + self.largest) * (1 + 1e-9) + 1e-3


def _burst(rate: float, seconds: float, frames: int) -> float:
    return 0.0 if math.isinf(rate) else max(seconds * rate, frames * 1514.0)


def _root_burst(rate: float) -> float:
    """What may be saved, and a frame for a caller who came late."""
    return _burst(rate, 0.01, 0) + 1514.0


class GovernorMachine(RuleBasedStateMachine):
    """Claims are paid in full; settlements are tested on their own below."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.limiter = RateLimiter(1e5, self.now)
        self.total = _Ledger(1e5, _root_burst(1e5))
        self.sites = {name: _Ledger(math.inf, 0.0) for name in _SITES}
        self.waiting: list[CreditClaim] = []

    @rule(site=st.sampled_from(_SITES), amount=_AMOUNTS)
    def claim(self, site: str, amount: float) -> None:
        self.waiting.append(self.limiter.claim(site, amount, self.now))

    @rule(seconds=st.floats(0, 0.5))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for ledger in (self.total, *self.sites.values()):
            ledger.advance(seconds)

    @rule()
    def grant(self) -> None:
        promised = self.limiter.wake_time() <= self.now
        granted = self.limiter.grant(self.now)
        assert bool(granted) == promised
        order: dict[str, list[CreditClaim]] = defaultdict(list)
        for claim in granted:
            self.total.let(claim.amount)
            self.sites[claim.site].let(claim.amount)
            order[claim.site].append(claim)
        for site, claims in order.items():
            queue = [claim for claim in self.waiting if claim.site == site]
            assert queue[: len(claims)] == claims
        self.waiting = [claim for claim in self.waiting if not claim.granted]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.waiting))
        self.limiter.withdraw(claim)
        self.waiting.remove(claim)

    @rule(rate=_RATES)
    def change_total(self, rate: float) -> None:
        self.limiter.set_total(rate, self.now)
        self.total.set_rate(rate, _root_burst(rate))

    @rule(site=st.sampled_from(_SITES), rate=_RATES)
    def change_site(self, site: str, rate: float) -> None:
        self.limiter.set_site(site, rate, self.now)
        self.sites[site].set_rate(rate, _burst(rate, 0.25, 4))

    @rule(site=st.sampled_from(_SITES), rate=_RATES, times=st.floats(1.0, 100.0))
    def bound_site(self, site: str, rate: float, times: float) -> None:
        """It may have what nobody wants, and still never passes its bound."""
        bound = rate * times
        self.limiter.set_site(site, rate, self.now, bound=bound)
        self.sites[site].set_rate(bound, _burst(bound, 0.25, 4))

    @invariant()
    def holds(self) -> None:
        self.limiter.check()
        self.total.check()
        for ledger in self.sites.values():
            ledger.check()

    def teardown(self) -> None:
        """Nobody starves: whoever waits is granted, in about the time all the bytes take."""
        slowest = min(self.limiter.share(name) for name in _SITES)
        bytes_waiting = sum(claim.amount for claim in self.waiting)
        owed = 50_000.0 * (1 + len(self.sites))
        end = self.now + (bytes_waiting + owed) / min(slowest, 1e9) + 1.0
        while self.waiting:
            self.now = max(self.now, self.limiter.wake_time())
            assert self.now <= end
            assert self.limiter.grant(self.now)
            self.waiting = [claim for claim in self.waiting if not claim.granted]


TestGovernorMachine = GovernorMachine.TestCase
TestGovernorMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(st.tuples(_AMOUNTS, st.floats(-1, 1)), min_size=1, max_size=40))
def test_settlements_conserve_bytes(payments: list[tuple[float, float]]) -> None:
    """What arrived, and nothing else, is what the rate has to earn back."""
    rate = 10_000.0
    limiter = RateLimiter(rate, 0.0)
    now, arrived = 0.0, 0.0
    for paid, error in payments:
        limiter.claim("site", paid, now)
        now = max(now, limiter.wake_time())
        assert len(limiter.grant(now)) == 1
        limiter.settle("site", paid * -error, now)
        arrived += paid * (1 + error)
    burst = 0.01 * rate
    limiter.claim("site", 1.0, now)
    ready = max(now, limiter.wake_time())
    assert ready >= (arrived - burst) / rate - 1e-6
    lost_to_overflow = sum(paid * max(0.0, -error) for paid, error in payments)
    assert ready <= now + (arrived + lost_to_overflow) / rate + 1e-6


def test_a_slow_line_saves_up_no_frames_for_a_second() -> None:
    limiter = RateLimiter(50_000.0, 0.0)
    frame, passed, now = 1514.0, 0.0, 10.0
    while now < 11.0:
        limiter.claim("site", frame, now)
        passed += sum(claim.amount for claim in limiter.grant(now))
        now = max(now, limiter.wake_time())
    assert passed <= 50_000.0 * 1.01 + frame


def _late_passed(late: float, *, waiting: int) -> float:
    """Bytes that a line of 50 KB/s carries in 20 s if every wake-up is late, and so many frames
    always wait."""
    limiter, passed, now = RateLimiter(50_000.0, 0.0), 0.0, 0.0
    for _ in range(waiting):
        limiter.claim("site", 1514.0, now)
    while now < 20.0:
        now = limiter.wake_time() + late
        for claim in limiter.grant(now):
            passed += claim.amount
            limiter.claim("site", claim.amount, now)
    return passed


def test_late_wake_ups_are_made_up_for_by_a_frame_at_the_most() -> None:
    assert _late_passed(0.03, waiting=2) >= 0.99 * 1e6
    assert _late_passed(0.2, waiting=8) <= 20.0 / 0.23 * 3 * 1514.0


def test_a_line_that_is_closed_gives_no_more_than_one_claim() -> None:
    limiter = RateLimiter(50_000.0, 0.0)
    for _ in range(3):
        limiter.claim("site", 1514.0, 0.0)
    limiter.set_total(0.0, 1.0)
    assert len(limiter.grant(2.0)) <= 1
    assert limiter.wake_time() == math.inf


def test_time_in_which_nobody_waited_is_not_made_up_for() -> None:
    limiter = RateLimiter(50_000.0, 0.0)
    limiter.claim("site", 1514.0, 10.0)
    limiter.claim("site", 1514.0, 10.0)
    assert len(limiter.grant(10.0)) == 1


def _serve(limiter: RateLimiter, seconds: float, size: dict[str, float]) -> dict[str, float]:
    """Every site always has a claim of its size waiting; bytes granted to each in so much time."""
    got = dict.fromkeys(size, 0.0)
    for name, amount in size.items():
        limiter.claim(name, amount, 0.0)
    now = 0.0
    while (now := max(now, limiter.wake_time())) <= seconds:
        for claim in limiter.grant(now):
            got[claim.site] += claim.amount
            limiter.claim(claim.site, claim.amount, now)
    return got


def test_sites_without_rates_share_in_bytes_whatever_they_ask_for() -> None:
    got = _serve(
        RateLimiter(100_000.0, 0.0), 20.0, {"small": 500.0, "middle": 4000.0, "big": 30_000.0}
    )
    assert sum(got.values()) == pytest.approx(2_000_000, rel=0.03)
    assert all(bytes_ == pytest.approx(2_000_000 / 3, rel=0.06) for bytes_ in got.values())


def test_sites_keep_their_rates() -> None:
    limiter = RateLimiter(100_000.0, 0.0)
    rates = {"a": 10_000.0, "b": 30_000.0, "c": 60_000.0}
    for name, rate in rates.items():
        limiter.set_site(name, rate, 0.0)
    got = _serve(limiter, 20.0, dict.fromkeys(rates, 4500.0))
    for name, rate in rates.items():
        assert got[name] == pytest.approx(rate * 20, rel=0.06)


def test_what_others_leave_may_be_taken_and_nobody_loses_by_it() -> None:
    rates = {"a": 40_000.0, "b": 60_000.0}
    alone, both = RateLimiter(100_000.0, 0.0), RateLimiter(100_000.0, 0.0)
    for limiter in (alone, both):
        for name, rate in rates.items():
            limiter.set_site(name, rate, 0.0, most=1.1 * rate)
    assert _serve(alone, 20.0, {"a": 4500.0})["a"] == pytest.approx(880_000, rel=0.03)
    for name, bytes_ in _serve(both, 20.0, {"a": 4500.0, "b": 900.0}).items():
        assert bytes_ == pytest.approx(rates[name] * 20, rel=0.03)


def test_what_nobody_wants_goes_to_whoever_is_there_up_to_its_bound() -> None:
    """One that has come to its last page leaves most of its rate, until control hears of it."""
    limiter = RateLimiter(100_000.0, 0.0)
    limiter.set_site("ending", 90_000.0, 0.0, bound=math.inf)
    limiter.set_site("bounded", 5_000.0, 0.0, bound=20_000.0)
    limiter.set_site("next", 5_000.0, 0.0, bound=math.inf)
    limiter.set_site("parked", 0.0, 0.0)
    got = _serve(limiter, 20.0, {"bounded": 4500.0, "next": 4500.0, "parked": 4500.0})
    assert got["bounded"] == pytest.approx(20_000.0 * 20, rel=0.06)
    assert got["bounded"] + got["next"] == pytest.approx(100_000.0 * 20, rel=0.03)
    assert got["parked"] == 4500.0, "what it began free of debt with"


def test_who_has_a_rate_of_his_own_does_not_wait_for_leftovers() -> None:
    """A site asks for another 2 KB 30 ms after it got the last, as one connection would."""
    limiter = RateLimiter(100_000.0, 0.0)
    limiter.set_site("urgent", 90_000.0, 0.0, bound=math.inf)
    limiter.set_site("others", 10_000.0, 0.0, bound=math.inf)
    came, now, asks = {"urgent": 0.0, "others": 0.0}, 0.0, 0.0
    limiter.claim("others", 500.0, 0.0)
    while now <= 10.0:
        if asks <= now:
            limiter.claim("urgent", 2000.0, now)
            asks = math.inf
        for claim in limiter.grant(now):
            came[claim.site] += claim.amount
            if claim.site == "urgent":
                asks = now + 0.03
            else:
                limiter.claim("others", 500.0, now)
        now = max(min(limiter.wake_time(), asks), now + 1e-6)
    assert came["urgent"] == pytest.approx(10.0 * 2000.0 / 0.03, rel=0.1)
    assert sum(came.values()) == pytest.approx(1_000_000, rel=0.03)


def test_turns_go_by_what_came_not_by_what_was_paid_ahead() -> None:
    """A response may be shorter than was foreseen, or longer; what is owed counts as well."""
    rates = {"exact": 50_000.0, "ahead": 30_000.0, "behind": 20_000.0}
    used = {"exact": 1.0, "ahead": 0.6, "behind": 1.4}
    limiter = RateLimiter(100_000.0, 0.0)
    for name, rate in rates.items():
        limiter.set_site(name, rate, 0.0, most=1.1 * rate)
        for _ in range(3):
            limiter.claim(name, 4500.0, 0.0)
    came, now = dict.fromkeys(rates, 0.0), 0.0
    while (now := max(now, limiter.wake_time())) <= 20.0:
        for claim in limiter.grant(now):
            came[claim.site] += used[claim.site] * claim.amount
            limiter.settle(claim.site, (1 - used[claim.site]) * claim.amount, now)
            limiter.claim(claim.site, 4500.0, now)
    for name, rate in rates.items():
        assert came[name] == pytest.approx(rate * 20, rel=0.03)


def test_nobody_gains_by_a_change_of_rate() -> None:
    """What a site had beyond its rate stays counted when it gets another."""
    limiter = RateLimiter(100_000.0, 0.0)
    limiter.set_site("steady", 50_000.0, 0.0)
    limiter.claim("steady", 4500.0, 0.0)
    limiter.claim("changing", 4500.0, 0.0)
    came, now, asks = {"steady": 0.0, "changing": 0.0}, 0.0, deque[float]()
    for look in range(80):
        limiter.set_site("changing", 49_000.0 + 1000.0 * (look % 2), now, most=55_000.0)
        while (now := max(now, limiter.wake_time(), 0.0)) <= 0.5 * (look + 1):
            while asks and asks[0] <= now:
                asks.popleft()
                limiter.claim("steady", 4500.0, now)
            for claim in limiter.grant(now):
                came[claim.site] += claim.amount
                if claim.site == "changing":
                    limiter.claim("changing", 4500.0, now)
                else:
                    asks.append(now + 0.07)
    assert came["steady"] == pytest.approx(50_000 * 40, rel=0.02)


@pytest.mark.parametrize("rate", [0.0, 10.0])
def test_a_site_that_was_held_back_has_its_part_as_soon_as_it_has_a_rate(rate: float) -> None:
    limiter = RateLimiter(200_000.0, 0.0)
    limiter.set_site("busy", 100_000.0, 0.0)
    limiter.set_site("parked", rate, 0.0)
    limiter.claim("parked", 15_000.0, 0.0)
    assert limiter.grant(0.0), "free of debt until then"
    limiter.set_site("parked", 100_000.0, 0.0, most=150_000.0)
    limiter.set_site("busy", 100_000.0, 0.0, most=200_000.0)
    got = _serve(limiter, 2.0, {"busy": 4500.0, "parked": 4500.0})
    assert got["parked"] > 150_000


def test_a_pending_wake_up_follows_a_change_of_rate() -> None:
    limiter = RateLimiter(1000.0, 0.0)
    limiter.claim("a", 100_000.0, 0.0)
    limiter.grant(0.0)
    limiter.claim("a", 1.0, 0.0)
    assert limiter.wake_time() == pytest.approx(100.0)
    limiter.set_total(100_000.0, 10.0)
    assert limiter.wake_time() == pytest.approx(10.9)
    limiter.set_total(0.0, 10.5)
    assert limiter.wake_time() == math.inf
    limiter.set_total(math.inf, 11.0)
    assert limiter.wake_time() <= 11.0


def test_only_what_is_limited_has_to_claim() -> None:
    limiter = RateLimiter(math.inf, 0.0)
    assert limiter.free("a")
    limiter.set_site("a", 1000.0, 0.0)
    assert not limiter.free("a")
    assert limiter.free("b")
    limiter.set_total(1e6, 0.0)
    assert not limiter.free("b")
    assert limiter.share("a") == 1000.0


def test_a_forgotten_site_leaves_nothing() -> None:
    limiter = RateLimiter(1e6, 0.0)
    limiter.set_site("a", 1000.0, 0.0)
    claim = limiter.claim("a", 10.0, 0.0)
    limiter.forget_site("a")
    assert limiter.share("a") == 1000.0
    limiter.withdraw(claim)
    limiter.forget_site("a")
    assert limiter.share("a") == 1e6
    assert limiter.wake_time() == math.inf


_STEPS = st.tuples(
    st.sampled_from(_SITES), _AMOUNTS, st.sampled_from([0.0, 1e-4, 0.01, 0.5]), st.floats(-1, 1)
)


@given(st.lists(_STEPS, max_size=40), st.floats(1e4, 1e7))
def test_to_pay_at_once_is_to_claim_and_be_granted(
    steps: list[tuple[str, float, float, float]], rate: float
) -> None:
    claiming, paying = RateLimiter(rate, 0.0), RateLimiter(rate, 0.0)
    for limiter in (claiming, paying):
        limiter.set_site("a", rate / 3, 0.0)
        limiter.set_site("b", rate / 2, 0.0)
    now = 0.0
    for site, amount, seconds, part in steps:
        now += seconds
        wanted = claiming.claim(site, amount, now)
        granted = [(claim.site, claim.amount) for claim in claiming.grant(now)]
        if paying.take_at_once(site, amount, now):
            assert granted == [(site, amount)]
        else:
            claim = paying.claim(site, amount, now)
            assert [(c.site, c.amount) for c in paying.grant(now)] == granted
            assert claim.granted is wanted.granted
        for limiter in (claiming, paying):
            limiter.settle(site, part * amount, now)
        assert _standing(claiming) == _standing(paying)


def _standing(limiter: RateLimiter) -> tuple[object, ...]:
    total, turns = limiter._total, limiter._turns
    sites = {name: (site.bucket._tokens, site.rate) for name, site in limiter._sites.items()}
    return limiter.wake_time(), total._tokens, sites, turns._served, turns._service
