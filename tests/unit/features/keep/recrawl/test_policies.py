"""Policies by name: the same small world kept by each."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite, SitePages, SiteTerms
from headgate.features.keep.recrawl.policies import POLICY_NAMES, keep_policy
from headgate.features.keep.recrawl.priority_groups import ChannelGroups, fixed, icr, iir
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.scheduler import VisitScheduler
from headgate.features.keep.recrawl.site_order import VisitOf
from headgate.features.keep.recrawl.site_outlook import outlook_of
from headgate.features.keep.recrawl.visit_choice import chosen_visit
from headgate.model.errors import UserMistake
from headgate_lab.worlds.looked_pages import Look, take_in

T0 = 1e9


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_keeps_sites_of_all_kinds(name: str) -> None:
    """Each site is visited again and again, by visits that the board names and pages fill."""
    policy = keep_policy(name)
    board, terms = VisitScheduler(policy.order), SiteTerms()
    prior = RatePrior()
    sites: dict[str, KeptSite] = {}
    for number in range(10):
        pages = SitePages.unasked(3)
        pages.asked[:] = pages.known_at[:] = T0
        kept = KeptSite(terms, pages, prior.probabilities(terms.grid))
        sites[str(number)] = kept
        board.put(str(number), terms, outlook_of(kept, policy.pages, T0))
    visits = dict.fromkeys(sites, 0)
    now, end = T0, T0 + 150 * DAY_SECONDS
    while now < end:
        task = board.next_task(now)
        if task is None:
            now = max(board.next_moment(now), now + 60.0)
            continue
        kept = sites[task.site]
        visit = chosen_visit(kept, policy.pages, now)
        assert visit is not None
        board.begin(task.site, now)
        visits[task.site] += 1
        often = int(task.site) % 2 == 0
        take_in(kept, [Look(int(page), now, often) for page in visit.pages])
        board.remember(task.site, outlook_of(kept, policy.pages, now))
        board.end(task.site, now)
        now += DAY_SECONDS / 4
    assert min(visits.values()) >= 2
    assert sum(visits.values()) > 40
    if name not in ("uniform", "iir"):  # the groups of IIR drift towards each other
        assert visits["0"] > visits["1"]


def test_a_policy_that_nobody_knows_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="choose index"):
        keep_policy("oracle")


def test_fixed_groups_have_their_turn_as_often_as_their_pages_change() -> None:
    groups = ChannelGroups(fixed)
    rates = np.repeat([1.0, 0.5, 0.25, 0.125, 0.0625], 4)
    for number, rate in enumerate(rates):
        groups.put(str(number), float(rate), 0.0, looked=0.0)
    for number, rate in enumerate(rates):
        assert groups.due(str(number), 0.0) == pytest.approx(1 / rate)
    groups.begin("0", 3.5)  # missed those at 1 and 2, and takes that of 3
    assert groups.due("0", 3.5) == pytest.approx(4.0)


@pytest.mark.parametrize("strategy", [iir, icr])
def test_intervals_grow_where_only_half_of_the_turns_are_taken(strategy: object) -> None:
    groups = ChannelGroups(strategy)  # type: ignore[arg-type]
    for number in range(20):
        groups.put(str(number), 1.0 + number / 100, 0.0, looked=-1.0)
    for turn in range(60):
        for number in range(20):
            now = 2.0 * turn + 0.01 * number
            groups.begin(str(number), now)
            groups.end(str(number), now, VisitOf.ALL)
    assert groups.interval("0", 120.0) > 1.1


@pytest.mark.parametrize("strategy", [fixed, iir, icr])
def test_a_turn_is_open_until_all_of_the_site_was_looked_at(strategy: object) -> None:
    groups = ChannelGroups(strategy)  # type: ignore[arg-type]
    groups.put("a", 1.0, 0.0, looked=0.0)
    assert groups.turns(0.5) == {"a": 1.0}
    groups.begin("a", 1.5)
    assert (groups.turn_began("a", 1.6), groups.turns(1.6)) == (1.5, {"a": 1.5})
    groups.end("a", 1.7, VisitOf.PART)
    groups.begin("a", 1.8)
    assert groups.turn_began("a", 1.8) == 1.5
    groups.end("a", 1.9, VisitOf.ALL)
    assert groups.turns(1.9) == {"a": 2.0}
    assert groups.turn_began("a", 1.95) == 1.5, "what was not asked then may be asked now"
    assert groups.turn_began("a", 2.1) == 2.1


def test_intervals_and_turns_outlive_a_restart() -> None:
    groups = ChannelGroups(iir)
    for number in range(10):
        groups.put(str(number), 1.0 + number, 0.0, looked=-1.0)
    for turn in range(40):
        for number in range(10):
            groups.begin(str(number), float(turn))
            groups.end(str(number), float(turn), VisitOf.ALL)
    again = ChannelGroups(iir)
    again.restore(groups.saved())
    for number in range(10):
        again.put(str(number), 5.0, 0.0, looked=0.0)
        assert again.due(str(number), 40.0) == groups.due(str(number), 40.0)
    assert again.intervals is not None
    assert again.intervals.tolist() == groups.intervals.tolist()  # type: ignore[union-attr]
    again.restore(b"no turns")
