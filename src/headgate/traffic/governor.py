"""The governor: one tree of buckets, total > site, and turns among the sites that wait.

Each site has a rate, its part when all want theirs; it may take a little more where others leave
some of theirs. What nobody takes who may, any site with a bound may have beyond that, as soon as
the line has stood still for a moment: who has a rate of his own and comes meanwhile need not wait
for it. It is paid to the total and counts for the bound, not for the site's own rate.

A claim asks for an amount of one site's credit. It is granted when neither the total nor the site
is in debt; then both pay. Claims of one site keep their order, and `turns` says which site is next,
so none starves. What was paid and what arrived are settled afterwards, in both buckets and in the
site's turn, up or down.
Rates change at any moment: nothing is promised ahead, so the next `wake_time` is by the new ones.

The root's burst is what the line may carry above its rate at the start or after a pause: 10 ms of
it, and no frame more, since on a slow line two of them would be 60 ms. A site's is 250 ms of its
rate, at least four frames: the root sees to the line, and a site that had to wait for others or for
its server must not lose its share by it.

Filled by `fetching.metering`, which also sleeps until `wake_time`. A site that was never given a
rate has none of its own. Where nothing is limited nothing need be asked: `free` says so.
"""

from __future__ import annotations

import math
from collections import deque

from headgate.traffic.bucket import Bucket
from headgate.traffic.turns import Turns
from headgate.traffic.window import FRAME_HEADERS, SEGMENT

__all__ = ["Claim", "Governor"]

_FRAME = SEGMENT + FRAME_HEADERS
_IDLE_PART = 0.5
"""Of the root's burst: when so much was saved, nobody wants it who has a rate for it."""


class Claim:
    """A wish for credit. ``granted`` turns true once; a withdrawn claim is never granted."""

    __slots__ = ("amount", "granted", "site")

    def __init__(self, site: str, amount: float) -> None:
        self.site = site
        self.amount = amount
        self.granted = False


class _Site:
    """One site's rate and its line of claims."""

    __slots__ = ("bound", "bucket", "claims", "rate")

    def __init__(self, now: float) -> None:
        self.rate = math.inf
        self.bucket = Bucket(math.inf, math.inf, now)
        """Holds the site to the most that it may take."""
        self.bound: Bucket | None = None
        """Holds it where it takes what nobody wants; None: it may not."""
        self.claims: deque[Claim] = deque()

    def ready_time(self) -> float:
        """The first moment at which it may take of its own."""
        own = self.bucket.ready_time()
        return own if self.bound is None else max(own, self.bound.ready_time())


class Governor:
    """A site is in ``_turns`` exactly while it has claims."""

    def __init__(self, total: float, now: float, *, smooth: bool = False) -> None:
        self.smooth = smooth
        """Whether windows are as narrow as may be, for those who wait behind our lumps."""
        self._total = Bucket(total, _root_burst(total), now)
        self._sites: dict[str, _Site] = {}
        self._turns = Turns()
        self._leftovers = Turns()
        """Among sites that may take what nobody wants."""

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
        """Give a site a rate of its own, or an infinite one: none. ``most``: with what others leave
        of theirs; the rate itself unless told. ``bound``: with what nobody wants; None: none of
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
        """The site is done. With claims still waiting, it stays."""
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
        """The rate to size a site's windows by: its own, or an equal part where it has none."""
        site = self._sites.get(name)
        own = math.inf if site is None else site.rate
        if own == math.inf:
            return self._total.rate / max(1, len(self._sites))
        return min(own, self._total.rate)

    def take_at_once(self, name: str, amount: float, now: float) -> bool:
        """Pay without a claim, where one would be granted in this moment since nobody waits."""
        if self._turns.anybody or self._total.ready_time() > now:
            return False
        site = self._site(name, now)
        if site.ready_time() > now:
            return False
        self._take(site, amount, now)
        self._turns.serve_at_once(name, self._seconds(name, amount))
        return True

    def claim(self, name: str, amount: float, now: float) -> Claim:
        """Wait in line for an amount; `grant` says when it is there."""
        site = self._site(name, now)
        claim = Claim(name, amount)
        site.claims.append(claim)
        if len(site.claims) == 1:
            self._place(name, site, now)
        return claim

    def withdraw(self, claim: Claim) -> None:
        """Leave the line; nothing was paid. A granted claim is out of line already."""
        if claim.granted:
            return
        site = self._sites[claim.site]
        site.claims.remove(claim)
        if not site.claims:
            self._turns.leave(claim.site)
            self._leftovers.leave(claim.site)

    def settle(self, name: str, surplus: float, now: float) -> None:
        """Put right what was paid: a positive surplus is given back, a negative one is owed."""
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

    def grant(self, now: float) -> list[Claim]:
        """Every claim whose turn has come, in the order of turns; they have paid."""
        granted: list[Claim] = []
        while self._total.ready_time() <= now:
            if (name := self._turns.first(now)) is not None:
                claim = self._next_claim(name)
                self._take(self._sites[name], claim.amount, now)
                self._turns.serve(name, self._seconds(name, claim.amount))
                self._leftovers.leave(name)
            elif (name := self._leftover(now)) is not None:
                claim = self._next_claim(name)
                bound = self._sites[name].bound
                assert bound is not None
                self._total.take(claim.amount, now)
                bound.take(claim.amount, now)
                self._leftovers.serve(name, self._seconds(name, claim.amount))
                self._turns.leave(name)
            else:
                break
            granted.append(claim)
            self._place(name, self._sites[name], now)
        return granted

    def wake_time(self) -> float:
        """The first moment at which `grant` will grant something; infinite when none waits."""
        own = max(self._turns.moment(), self._total.ready_time())
        return min(own, max(self._leftovers.moment(), self._idle_time()))

    def _leftover(self, now: float) -> str | None:
        """Whose turn it is to take what nobody wants."""
        return self._leftovers.first(now) if self._idle_time() <= now else None

    def _idle_time(self) -> float:
        return self._total.saved_time(_IDLE_PART * self._total.burst)

    def _next_claim(self, name: str) -> Claim:
        claim = self._sites[name].claims.popleft()
        claim.granted = True
        return claim

    def _take(self, site: _Site, amount: float, now: float) -> None:
        self._total.take(amount, now)
        site.bucket.take(amount, now)
        if site.bound is not None:
            site.bound.take(amount, now)

    def _set_bound(self, name: str, site: _Site, bound: float | None, now: float) -> None:
        if bound is None:
            site.bound = None
            self._leftovers.forget(name)
            return
        if site.bound is None:
            site.bound = Bucket(bound, _site_burst(bound), now)
        site.bound.set_rate(bound, _site_burst(bound), now)

    def _site(self, name: str, now: float) -> _Site:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = _Site(now)
        return site

    def _seconds(self, name: str, amount: float) -> float:
        """Of the site's rate."""
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
