"""The planner of a keeper: plans the next visit, and records the result of each.

The board of all sites (`features.keep.recrawl.scheduler`) chooses the site, and the pages are
chosen from its memory. After a visit the memory is read again, and the catalog gets the visit, the
state of the site and the promise that was settled. After a crash between the two, the memory is
ahead of the catalog, and is read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile

import numpy as np
from msgspec import structs

from headgate.control.catalog import Catalog, KeptPromise, SiteState
from headgate.crawling.progress import Progress, TaskState
from headgate.features.keep.kept_memory import (
    KnownSite,
    basis_of,
    decode_outlook,
    encode_outlook,
    read_known_site,
    terms_of,
)
from headgate.features.keep.recrawl.page_estimates import PageEstimates
from headgate.features.keep.recrawl.policies import KeepPolicy, keep_policy
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.scheduler import DueVisit as BoardTask
from headgate.features.keep.recrawl.scheduler import VisitScheduler, Why
from headgate.features.keep.recrawl.site_order import VisitOf
from headgate.features.keep.recrawl.site_outlook import Outlook, outlook_of
from headgate.features.keep.recrawl.visit_choice import chosen_visit, pages_left, promised_visit
from headgate.features.keep.status_files import load_turns
from headgate.features.keep.visit import (
    ONE_TEXT,
    PlannedVisit,
    VisitEnd,
    is_down,
    learned_costs,
    standing_trouble,
    visit_of,
    why_down,
    with_trouble,
)
from headgate.model.keeping import Staleness
from headgate.model.site import Site
from headgate.storage.collection import Collection
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.remembering import mend
from headgate.storage.memory.site import SiteMemory, VisitCounts, read_summary

__all__ = ["VisitPlanner"]

_MOST_PAGES, _MOST_URL_BYTES = 5_000, 512 << 10
"""Most pages of a visit, and most bytes of their URLs: a node gets them in one message."""
_AHEAD_SECONDS = 300.0


@dataclass(slots=True)
class VisitPlanner:
    collection: Collection
    catalog: Catalog
    policy: KeepPolicy
    board: VisitScheduler = field(init=False)
    prior: RatePrior = field(default_factory=RatePrior)
    sites: dict[str, Site] = field(default_factory=dict)
    states: dict[str, SiteState] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    """Number of known pages of each site."""
    remarks: list[str] = field(default_factory=list)
    """Repairs, a sentence each."""

    def __post_init__(self) -> None:
        self.policy.order.restore(load_turns(self.collection.path, self.policy.name))
        self.board = VisitScheduler(self.policy.order)

    def set_sites(self, sites: Iterable[Site], now: float) -> None:
        """Keep these sites from now on, and no others; what is stored of the others stays."""
        wanted = {site.name: site for site in sites}
        if not self.states:
            self.states = dict(self.catalog.site_states())
        for name in self.sites.keys() - wanted.keys():
            self.board.drop(name)
            self.prior.forget(name)
            self.pages.pop(name, None)
        before, self.sites = self.sites, wanted
        for name, site in wanted.items():
            if before.get(name) != site:
                self._take_site(site, now)
        self.prior.renew()

    def _take_site(self, site: Site, now: float) -> None:
        name = site.name
        state = self.states.get(name)
        summary = read_summary(self.collection.memory(name), name)
        basis = basis_of(self.policy.pages, site)
        outlook = None if state is None else decode_outlook(state.outlook, basis)
        self.board.put(name, terms_of(site), outlook if summary is not None else None)
        if state is not None and state.asked > now + _AHEAD_SECONDS:
            state = self.states[name] = structs.replace(state, paused_until=0.0)
            outlook = None  # the clock was set back since
        if state is not None:
            self.board.pause(name, state.paused_until)
        if summary is None and (state is None or not state.visit):
            return  # never visited; a lost memory is handled below
        self.pages[name] = 0 if summary is None else summary.pages
        if outlook is None or summary is None or state is None or summary.visit != state.visit:
            self.refresh(name, now)
            self._save_anew(name)
        else:
            self.prior.counted(name, np.array(outlook.rate_weights))

    def make_small(self, staleness: Staleness, now: float) -> None:
        """From now on, where the policy has a choice."""
        pages = keep_policy(self.policy.name, staleness).pages
        self.policy = replace(self.policy, pages=pages)
        self._look_at_all_again(now)

    def set_back(self, seconds: float, now: float) -> None:
        """The clock was: pauses last as long as before, and planned times are no longer valid."""
        paused = [name for name, state in self.states.items() if state.paused_until > now]
        for name in paused:
            until = self.states[name].paused_until - seconds
            self.states[name] = structs.replace(self.states[name], paused_until=until)
            self.catalog.put_site_state(self.states[name])
            self.board.pause(name, until)
        self._look_at_all_again(now)

    def _look_at_all_again(self, now: float) -> None:
        for name in self.sites:
            if self.board.outlook(name) is not None:
                self.refresh(name, now)

    def refresh(self, name: str, now: float) -> KnownSite | None:
        """Read a site's memory again; None: it has no pages."""
        known = self.known(name, now)
        self.pages[name] = 0 if known is None else known.summary.pages
        if known is None:
            return None
        outlook = outlook_of(known.kept, self.policy.pages, now)
        self.board.remember(name, outlook)
        self.prior.counted(name, np.array(outlook.rate_weights))
        return known

    def _save_anew(self, name: str) -> None:
        """Save to the catalog what the memory knew and the catalog did not."""
        outlook = self.board.outlook(name)
        summary = read_summary(self.collection.memory(name), name)
        if outlook is not None and summary is not None:
            state = self.states.get(name) or SiteState(name, 0, 0.0)
            state = structs.replace(
                state,
                visit=max(state.visit, summary.visit),
                outlook=encode_outlook(outlook, basis_of(self.policy.pages, self.sites[name])),
            )
            self.states[name] = state
            self.catalog.put_site_state(state)

    def known(self, name: str, now: float) -> KnownSite | None:
        """Read a site's memory; a damaged one is repaired. None: it has no pages."""
        site = self.sites[name]
        path = self.collection.memory(name)
        try:
            memory = SiteMemory(path, name)
        except DamagedMemory:
            self.remarks += mend(self.collection, name)
            memory = SiteMemory(path, name)
        with memory:
            if not len(memory):
                return None
            return read_known_site(memory, site, self.prior, self.states.get(name), now)

    def plan(self, task: BoardTask, now: float, most_bytes: float) -> PlannedVisit | None:
        """Plan the visit for a task of the board; None: no page is due after all, and the board
        was told."""
        site = self.sites[task.site]
        state = self.states.get(site.name)
        known = None if task.why is Why.FIRST else self.refresh(site.name, now)
        number = 1 + max(
            0 if state is None else state.visit, 0 if known is None else known.summary.visit
        )
        believe = is_believed(state)
        if known is None:
            return PlannedVisit(
                site,
                number,
                why=task.why,
                asks=None,
                expected_bytes=0.0,
                expected_seconds=0.0,
                due=task.due,
                believe=believe,
                said={},
                began=now,
                oldest_look=math.inf,
            )
        kept = known.kept
        kept.turn_began = self.board.order.turn_began(site.name, now)
        visit = None
        if task.why is Why.PROMISE:
            visit = promised_visit(kept, now, task.most_seconds)
        if visit is None and task.why is not Why.USER:
            visit = chosen_visit(kept, self.policy.pages, now, most_bytes)
        if task.why is Why.USER:
            pages = np.argsort(kept.pages.asked, kind="stable")
        elif visit is None:
            self.board.order.end(site.name, now, VisitOf.ALL)
            return None
        else:
            pages = visit.pages
        pages = pages[: _fitting(known.urls[page] for page in pages[:_MOST_PAGES])]
        estimates = PageEstimates(kept)
        costs, changed = estimates.cost(now)[pages], estimates.probability_changed(now)[pages]
        asks = tuple(known.urls[page] for page in pages)
        told = kept.pages.asked[pages] > 0
        said = {url: float(p) for url, p, was in zip(asks, changed, told, strict=True) if was}
        outlook = self.board.outlook(site.name)
        return PlannedVisit(
            site,
            number,
            why=task.why,
            asks=asks,
            expected_bytes=float(costs.sum()) + kept.costs.connection,
            expected_seconds=len(asks) * kept.costs.look_seconds,
            due=task.due,
            believe=believe,
            said=said,
            began=now,
            oldest_look=math.inf if outlook is None else outlook.oldest_look,
            of=VisitOf.PART if pages_left(kept, self.policy.pages, now, pages) else VisitOf.ALL,
        )

    def learn(self, planned: PlannedVisit, volume: str, progress: Progress, now: float) -> VisitEnd:
        """Read the result of a visit from the site's memory; `record` stores it."""
        site = planned.site
        name = site.name
        before = self.states.get(name) or SiteState(name, 0, 0.0)
        summary = read_summary(self.collection.memory(name), name)
        merged = summary is not None and summary.visit == planned.visit
        counts = summary.visited if summary is not None and merged else VisitCounts()
        down = is_down(progress, counts)
        state = state_after(planned, before, progress, counts, now, down=down)
        self.states[name] = state
        known = self.refresh(name, now) if name in self.sites else None
        if known is not None and not state.trouble:
            trouble = standing_trouble(known, progress, before.trouble)
            state = with_trouble(state, before, trouble, now)
        outlook = self.board.outlook(name) if name in self.sites else None
        if outlook is not None:
            state = structs.replace(
                state,
                outlook=encode_outlook(outlook, basis_of(self.policy.pages, self.sites[name])),
            )
            self.prior.visited(name, np.array(outlook.rate_weights))
        self.states[name] = state
        promise = _settled(planned, self.board.outlook(name), now)
        visit = visit_of(planned, volume, progress, counts, now)
        checked = () if known is None else _checked(self.collection, planned)
        of = planned.of
        if down:
            of = VisitOf.NOTHING
        elif progress.state is not TaskState.DONE:
            of = VisitOf.PART
        return VisitEnd(visit, counts, state=state, promise=promise, checked=checked, of=of)

    def record(self, end: VisitEnd) -> None:
        """Record a visit that has ended in the catalog and on the board."""
        self.catalog.record_kept(end.visit, end.state, end.promise)
        self.board.pause(end.state.site, end.state.paused_until)
        self.board.end(end.state.site, end.visit.finished, end.of)

    def forget_visits(self) -> None:
        """After a fault of this machine: no visit runs, and everything is read again."""
        self.board = VisitScheduler(self.policy.order)
        self.sites, self.states = {}, {}

    def take_remarks(self) -> list[str]:
        remarks, self.remarks = self.remarks, []
        return remarks

    def pause(self, name: str, until: float) -> None:
        """Pause a site, as the user asked; Headgate's own reasons to wait are forgotten."""
        state = self.states.get(name) or SiteState(name, 0, 0.0)
        self.states[name] = structs.replace(state, paused_until=until, down=0, suspicions=0)
        self.catalog.put_site_state(self.states[name])
        self.board.pause(name, until)


def _fitting(urls: Iterable[str]) -> int:
    """How many of the first URLs one visit can name, at least one; the others are still due after
    it."""
    sizes = accumulate(len(url.encode()) for url in urls)
    return max(sum(1 for _ in takewhile(lambda size: size <= _MOST_URL_BYTES, sizes)), 1)


def _settled(planned: PlannedVisit, outlook: Outlook | None, now: float) -> KeptPromise | None:
    """The promise that a visit has kept, in time or late: the page that was oldest then was
    fetched."""
    if planned.due is None or outlook is None or outlook.oldest_look <= planned.oldest_look:
        return None
    late = now > planned.due
    pressing = planned.why is Why.PROMISE
    return KeptPromise(planned.site.name, planned.due, now) if late or pressing else None


def _checked(collection: Collection, planned: PlannedVisit) -> tuple[tuple[float, bool], ...]:
    """For each page: the predicted probability of a change, and whether it had changed."""
    found = []
    with SiteMemory(collection.memory(planned.site.name), planned.site.name) as memory:
        for url, said in planned.said.items():
            page = memory.find(url)
            if page is not None and page.told >= planned.began:
                found.append((said, page.changed >= planned.began))
    return tuple(found)


# When a site is visited again that was down, or whose pages were implausible.


_HOUR = 3600.0
_DOWN_HOURS = (1.0, 4.0, 16.0, 72.0)
_DOUBT_HOURS = (1.0, 6.0)


def is_believed(state: SiteState | None) -> bool:
    """Whether implausible pages are accepted, because they came several times in a row."""
    return state is not None and state.suspicions >= len(_DOUBT_HOURS)


def state_after(
    planned: PlannedVisit,
    before: SiteState,
    progress: Progress,
    counts: VisitCounts,
    now: float,
    *,
    down: bool,
) -> SiteState:
    """The state of a site after a visit: when it may be visited again, and its trouble."""
    interrupted = progress.state is TaskState.STOPPED and not counts.asked
    downs = before.down + 1 if down else before.down if interrupted else 0
    doubts = before.suspicions + 1 if counts.doubted else 0
    paused, trouble = before.paused_until if before.paused_by_user else 0.0, ""
    if down:
        hours = _DOWN_HOURS[min(downs, len(_DOWN_HOURS)) - 1]
        paused = max(paused, now + hours * _HOUR)
        trouble = why_down(planned.site, progress)
    elif counts.doubted:
        paused = max(paused, now + _DOUBT_HOURS[min(doubts, len(_DOUBT_HOURS)) - 1] * _HOUR)
        trouble = ONE_TEXT
    state = SiteState(
        planned.site.name,
        planned.visit,
        asked=now,
        outlook=before.outlook,
        costs=learned_costs(planned, before, progress, counts),
        paused_until=paused,
        down=downs,
        suspicions=doubts,
    )
    return with_trouble(state, before, trouble, now)
