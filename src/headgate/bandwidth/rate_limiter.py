"""The rate limiter: one tree of token buckets, total > site, and turns among sites that wait.

The rate limit of a crawl, and each site's part of it, are kept here; how often one host is asked is
`frontier.politeness`. Each site has a rate, its part when all want theirs; it may take a little
more of what others leave.
What no site takes within its rate, any site with a bound may have beyond that, as soon as the line
has idled for a moment, so that a site that comes back need not wait for its own rate. It is paid to
the total and counts for the bound, not for the site's own rate.

A claim asks for an amount of one site's credit. It is granted when neither the total nor the site
is in debt; then both pay. Claims of one site keep their order, and `FairQueue` says which site is
next, so none starves. What was paid and what arrived are settled afterwards, in both buckets and in
the site's turn, up or down.
Rates change at any moment: nothing is promised ahead, so the next `wake_time` is by the new ones.

The root's burst is what the line may carry above its rate at the start or after a pause: 10 ms of
it, and no frame more, since on a slow line two of them would be 60 ms. A site's is 250 ms of its
rate, at least four frames: the root sees to the line, and a site that had to wait for others or for
its server must not lose its share by it.

Whoever calls `grant` wakes up late, on a virtual machine often by tens of milliseconds. So a claim
counts from the moment at which it was due, and the line catches up, but by one frame at the most:
after a longer stall a slow line would carry a lump.

Used by `fetching.meter`, which also sleeps until `wake_time`. A site that was never given a rate
has none of its own. If nothing is limited, claims are not needed: see `free`.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

from headgate.bandwidth.receive_window import FRAME_HEADERS, SEGMENT

__all__ = ["CreditClaim", "RateLimiter", "TokenBucket"]

_FRAME = SEGMENT + FRAME_HEADERS
_IDLE_PART = 0.5
"""As a part of the root's burst: when so much is saved, no site wants it within its rate."""


class CreditClaim:
    """A request for credit. ``granted`` becomes true once; a withdrawn claim is never granted."""

    __slots__ = ("amount", "granted", "made_at", "site")

    def __init__(self, site: str, amount: float, made_at: float) -> None:
        self.site = site
        self.amount = amount
        self.made_at = made_at
        self.granted = False


class _Site:
    """One site's rate and its queue of claims."""

    __slots__ = ("bound", "bucket", "claims", "rate")

    def __init__(self, now: float) -> None:
        self.rate = math.inf
        self.bucket = TokenBucket(math.inf, math.inf, now)
        """Limits the site to the most that it may take."""
        self.bound: TokenBucket | None = None
        """Limits what it takes beyond its rate when nobody else wants it; None: nothing."""
        self.claims: deque[CreditClaim] = deque()

    def ready_time(self) -> float:
        """The earliest time at which it may take of its own rate."""
        own = self.bucket.ready_time()
        return own if self.bound is None else max(own, self.bound.ready_time())


class RateLimiter:
    """A site is in ``_turns`` exactly while it has claims."""

    def __init__(self, total: float, now: float, *, smooth: bool = False) -> None:
        self.smooth = smooth
        """Whether windows are as narrow as possible, for other users of the line."""
        self._total = TokenBucket(total, _root_burst(total), now)
        self._sites: dict[str, _Site] = {}
        self._turns = FairQueue()
        self._leftovers = FairQueue()
        """Turns among sites that may take what nobody wants."""

    @property
    def total(self) -> float:
        return self._total.rate

    def set_total(self, rate: float, now: float) -> None:
        self._total.set_rate(rate, _root_burst(rate), now)

    def set_site(
        self,
        name: str,
        rate: float,
        now: float,
        most: float | None = None,
        bound: float | None = None,
    ) -> None:
        """Set a site's rate; infinite: no limit of its own. ``most``: limit with what others leave
        of theirs; by default the rate. ``bound``: limit with what nobody wants; None: nothing of
        that."""
        site = self._site(name, now)
        before = self._seconds(name, 1.0)
        site.rate = rate
        self._turns.rescale(name, self._seconds(name, 1.0) / before if before else 0.0)
        most = rate if most is None else most
        site.bucket.set_rate(most, _site_burst(most), now)
        self._set_bound(name, site, bound, now)
        self._place(name, site, now)

    def forget_site(self, name: str) -> None:
        """The site is done. It stays as long as claims wait."""
        site = self._sites.get(name)
        if site is not None and not site.claims:
            del self._sites[name]
            self._turns.forget(name)
            self._leftovers.forget(name)

    def free(self, name: str) -> bool:
        """Whether neither level limits the site: then it need not claim."""
        if self._total.rate != math.inf:
            return False
        site = self._sites.get(name)
        return site is None or site.bucket.rate == math.inf

    def share(self, name: str) -> float:
        """The rate for a site's windows: its own, or an equal part if it has none."""
        site = self._sites.get(name)
        own = math.inf if site is None else site.rate
        if own == math.inf:
            return self._total.rate / max(1, len(self._sites))
        return min(own, self._total.rate)

    def take_at_once(self, name: str, amount: float, now: float) -> bool:
        """Pay without a claim if it would be granted at once because nobody waits."""
        if self._turns.anybody or self._total.ready_time() > now:
            return False
        site = self._site(name, now)
        if site.ready_time() > now:
            return False
        self._take(site, amount, now)
        self._turns.serve_at_once(name, self._seconds(name, amount))
        return True

    def claim(self, name: str, amount: float, now: float) -> CreditClaim:
        """Queue a claim for an amount; `grant` returns it when it is granted."""
        site = self._site(name, now)
        claim = CreditClaim(name, amount, now)
        site.claims.append(claim)
        if len(site.claims) == 1:
            self._place(name, site, now)
        return claim

    def withdraw(self, claim: CreditClaim) -> None:
        """Remove a claim from the queue; nothing was paid. A granted claim is out of it already."""
        if claim.granted:
            return
        site = self._sites[claim.site]
        site.claims.remove(claim)
        if not site.claims:
            self._turns.leave(claim.site)
            self._leftovers.leave(claim.site)

    def settle(self, name: str, surplus: float, now: float) -> None:
        """Correct what was paid: a positive surplus is returned, a negative one is owed."""
        site = self._site(name, now)
        if surplus > 0:
            self._total.give_back(surplus, now)
            site.bucket.give_back(surplus, now)
            if site.bound is not None:
                site.bound.give_back(surplus, now)
        else:
            self._take(site, -surplus, now)
        self._turns.settle(name, self._seconds(name, surplus))
        self._place(name, site, now)

    def grant(self, now: float) -> list[CreditClaim]:
        """All claims that are granted now, in order of turns; they have paid."""
        granted: list[CreditClaim] = []
        while self._total.ready_time() <= now:
            if (name := self._turns.first(now)) is not None:
                site = self._sites[name]
                claim = self._next_claim(site)
                self._take(site, claim.amount, self._due_time(claim, site.ready_time(), now))
                self._turns.serve(name, self._seconds(name, claim.amount))
                self._leftovers.leave(name)
            elif (name := self._leftover(now)) is not None:
                site = self._sites[name]
                claim = self._next_claim(site)
                assert site.bound is not None
                ready = max(site.bound.ready_time(), self._idle_time())
                due = self._due_time(claim, ready, now)
                self._total.consume(claim.amount, due)
                site.bound.consume(claim.amount, due)
                self._leftovers.serve(name, self._seconds(name, claim.amount))
                self._turns.leave(name)
            else:
                break
            granted.append(claim)
            self._place(name, site, now)
        return granted

    def wake_time(self) -> float:
        """The earliest time at which `grant` will grant something; infinite: no claim waits."""
        own = max(self._turns.moment(), self._total.ready_time())
        return min(own, max(self._leftovers.moment(), self._idle_time()))

    def _leftover(self, now: float) -> str | None:
        """The site whose turn it is to take what nobody wants."""
        return self._leftovers.first(now) if self._idle_time() <= now else None

    def _idle_time(self) -> float:
        return self._total.saved_time(_IDLE_PART * self._total.burst)

    def _next_claim(self, site: _Site) -> CreditClaim:
        claim = site.claims.popleft()
        claim.granted = True
        return claim

    def _due_time(self, claim: CreditClaim, ready: float, now: float) -> float:
        """When a punctual caller would have granted it, at most one frame of the line ago."""
        due = max(claim.made_at, ready, self._total.ready_time())
        return max(due, now - _FRAME / max(self._total.rate, 1.0)) if due < now else now

    def _take(self, site: _Site, amount: float, now: float) -> None:
        self._total.consume(amount, now)
        site.bucket.consume(amount, now)
        if site.bound is not None:
            site.bound.consume(amount, now)

    def _set_bound(self, name: str, site: _Site, bound: float | None, now: float) -> None:
        if bound is None:
            site.bound = None
            self._leftovers.forget(name)
            return
        if site.bound is None:
            site.bound = TokenBucket(bound, _site_burst(bound), now)
        site.bound.set_rate(bound, _site_burst(bound), now)

    def _site(self, name: str, now: float) -> _Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = _Site(now)
        return site

    def _seconds(self, name: str, amount: float) -> float:
        """An amount in seconds of the site's rate."""
        return amount / max(self.share(name), 1.0)

    def _place(self, name: str, site: _Site, now: float) -> None:
        if not site.claims:
            return
        self._turns.wait(name, site.ready_time(), now)
        if site.bound is not None:
            self._leftovers.wait(name, site.bound.ready_time(), now)

    def check(self) -> None:
        self._total.check()
        self._turns.check()
        self._leftovers.check()
        for site in self._sites.values():
            site.bucket.check()
            if site.bound is not None:
                site.bound.check()
            assert not any(claim.granted for claim in site.claims)


def _root_burst(rate: float) -> float:
    return 0.01 * rate


def _site_burst(rate: float) -> float:
    return max(0.25 * rate, 4.0 * _FRAME)


_GIVEN_BACK = 3.0
"""Most tokens after returns, in bursts."""


class TokenBucket:
    """A token bucket that may go into debt.

    Tokens grow by ``rate`` per second up to ``burst`` and fall by what is taken. Taking requires
    only ``tokens >= 0``, so an amount larger than the burst is possible: the bucket goes into debt,
    and the next has to wait until it is paid back. So over any t seconds at most ``rate * t + burst
    + the largest amount taken`` leaves the bucket, and with returned tokens up to two bursts more.

    It starts empty. An infinite rate never runs out; a rate of 0 never recovers. Time does not go
    back: an earlier time counts as the last one.

    One rate. ``tokens`` grow up to the burst; only returned tokens go beyond.
    """

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = math.inf if math.isinf(rate) else burst
        self._tokens = _savings(rate)
        self._at = now

    def tokens(self, now: float) -> float:
        """Tokens available; negative: debt.

        >>> bucket = TokenBucket(rate=100.0, burst=10.0, now=0.0)
        >>> bucket.consume(60.0, now=0.0)
        >>> bucket.tokens(0.1), bucket.ready_time(), bucket.tokens(9.0)
        (-50.0, 0.6, 10.0)
        """
        if self.rate == math.inf or now <= self._at or self._tokens >= self.burst:
            return self._tokens
        return min(self.burst, self._tokens + self.rate * (now - self._at))

    def ready_time(self) -> float:
        """The time at which the debt is paid; in the past if there is none."""
        if self._tokens >= 0:
            return self._at
        return self._at - self._tokens / self.rate if self.rate > 0 else math.inf

    def saved_time(self, amount: float) -> float:
        """The time at which ``amount`` will be available if nothing is taken; in the past if it is
        already.

        >>> TokenBucket(rate=100.0, burst=10.0, now=1.0).saved_time(5.0)
        1.05
        """
        if self._tokens >= amount:
            return self._at
        return self._at + (amount - self._tokens) / self.rate if self.rate > 0 else math.inf

    def consume(self, amount: float, now: float) -> None:
        """Take, into debt if necessary."""
        self._tokens = self.tokens(now) - amount
        self._at = max(self._at, now)

    def give_back(self, amount: float, now: float) -> None:
        """Return what was taken and not used. It may exceed the burst up to three times: if it were
        lost, the line would idle for that long."""
        tokens = self.tokens(now)
        self._tokens = max(tokens, min(_GIVEN_BACK * self.burst, tokens + amount))
        self._at = max(self._at, now)

    def set_rate(self, rate: float, burst: float, now: float) -> None:
        """Change the rate; debts stay, tokens are cut to the new burst."""
        tokens = self.tokens(now)
        self._at = max(self._at, now)
        self.rate = rate
        self.burst = math.inf if math.isinf(rate) else burst
        self._tokens = min(tokens, burst) if math.isfinite(rate + tokens) else _savings(rate)

    def check(self) -> None:
        assert self.rate >= 0
        assert self.burst >= 0
        assert self._tokens <= _GIVEN_BACK * self.burst
        assert not math.isnan(self._tokens)


def _savings(rate: float) -> float:
    """Initial tokens at this rate."""
    return math.inf if math.isinf(rate) else 0.0


_Entry = tuple[float, int, str]
_CATCH_UP_SECONDS = 0.25


class FairQueue:
    """Which waiting site is served next.

    Among the sites without debt, the one that was served the least relative to its rate comes
    first: bytes over rate are seconds, and those are compared. A site that comes back after a pause
    may catch up on at most `_CATCH_UP_SECONDS`: servers answer irregularly, and a site at its bound
    could not reach its rate otherwise. (Start-time fair queueing, Goyal, Vin and Cheng 1996: a
    round robin that is fair whatever the size of a turn.) Sites in debt wait for their moment in a
    second heap.

    An entry of either heap is current if it has its site's last stamp; stale ones are dropped at
    the top.

    ``_may_pay`` holds (seconds served, stamp, site), ``_in_debt`` (time free of debt, …).
    """

    __slots__ = ("_in_debt", "_last_stamp", "_may_pay", "_served", "_service", "_stamps")

    def __init__(self) -> None:
        self._may_pay: list[_Entry] = []
        self._in_debt: list[_Entry] = []
        self._stamps: dict[str, int] = {}
        """Waiting sites with their last stamps."""
        self._served: dict[str, float] = {}
        self._last_stamp = 0
        self._service = 0.0
        """Virtual time: seconds served of the site that was last."""

    def wait(self, site: str, free_of_debt: float, now: float) -> None:
        """The site waits, or continues to wait with another debt."""
        self._last_stamp += 1
        self._stamps[site] = self._last_stamp
        if free_of_debt <= now:
            served = self._served.get(site, self._service)
            served = self._served[site] = max(served, self._service - _CATCH_UP_SECONDS)
            heapq.heappush(self._may_pay, (served, self._last_stamp, site))
        elif free_of_debt < math.inf:
            heapq.heappush(self._in_debt, (free_of_debt, self._last_stamp, site))

    def leave(self, site: str) -> None:
        """The site no longer waits."""
        self._stamps.pop(site, None)

    def forget(self, site: str) -> None:
        self.leave(site)
        self._served.pop(site, None)

    def rescale(self, site: str, factor: float) -> None:
        """The site's rate has changed: its lead in bytes is ``factor`` times as many seconds.

        If it were forgotten, every change of rate would favour the site over the others."""
        if site in self._served:
            ahead = self._served[site] - self._service
            self._served[site] = self._service + factor * ahead

    def first(self, now: float) -> str | None:
        """The site whose turn it is."""
        while (entry := self._current(self._in_debt)) and entry[0] <= now:
            heapq.heappop(self._in_debt)
            self.wait(entry[2], entry[0], now)
        entry = self._current(self._may_pay)
        return None if entry is None else entry[2]

    def serve(self, site: str, seconds: float) -> None:
        """The site was served, for so many seconds of its rate; it no longer waits."""
        served = self._served[site]
        self._service = max(self._service, served)
        self._served[site] = served + seconds
        self.leave(site)

    @property
    def anybody(self) -> bool:
        """Whether any site waits."""
        return bool(self._stamps)

    def serve_at_once(self, site: str, seconds: float) -> None:
        """`wait` and `serve` in one, for a site without debt when no other waits."""
        served = max(self._served.get(site, self._service), self._service - _CATCH_UP_SECONDS)
        self._service = max(self._service, served)
        self._served[site] = served + seconds

    def settle(self, site: str, seconds: float) -> None:
        """The site returned so many seconds of what it was served, or took more if negative."""
        if site in self._served:
            self._served[site] -= seconds

    def moment(self) -> float:
        """When a site can be served; infinite: none waits, or debts never end."""
        if self._current(self._may_pay):
            return -math.inf
        entry = self._current(self._in_debt)
        return math.inf if entry is None else entry[0]

    def _current(self, heap: list[_Entry]) -> _Entry | None:
        while heap and self._stamps.get(heap[0][2]) != heap[0][1]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def check(self) -> None:
        stamps = [entry[1] for entry in (*self._may_pay, *self._in_debt)]
        assert len(set(stamps)) == len(stamps)
        assert all(stamp <= self._last_stamp for stamp in stamps)
