"""Policies by name: the same small world kept by each."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.lab.worlds.looked_pages import Look, take_in
from headgate.model.errors import UserMistake
from headgate.recrawl.channel_groups import ChannelGroups, fixed, icr, iir
from headgate.recrawl.keep_policies import POLICY_NAMES, keep_policy
from headgate.recrawl.kept_site import DAY_SECONDS, KeptSite, SitePages, SiteTerms
from headgate.recrawl.rate_prior import RatePrior
from headgate.recrawl.site_board import SiteBoard
from headgate.recrawl.site_outlook import outlook_of
from headgate.recrawl.visit_choice import chosen_visit

T0 = 1e9


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_keeps_sites_of_all_kinds(name: str) -> None:
    """Each site is visited again and again, by visits that the board names and pages fill."""
    policy = keep_policy(name)
    board, terms = SiteBoard(policy.groups), SiteTerms()
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
        board.end(task.site)
        now += DAY_SECONDS / 4
    assert min(visits.values()) >= 2
    assert sum(visits.values()) > 40
    if name != "uniform":
        assert visits["0"] > visits["1"]


def test_a_policy_that_nobody_knows_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="choose index"):
        keep_policy("oracle")


def test_fixed_groups_have_their_turn_as_often_as_their_pages_change() -> None:
    groups = ChannelGroups(fixed)
    rates = np.repeat([1.0, 0.5, 0.25, 0.125, 0.0625], 4)
    for number, rate in enumerate(rates):
        groups.put(str(number), float(rate), 0.0, due=0.0)
    for number, rate in enumerate(rates):
        groups.visited(str(number), 0.0)
        assert groups.due(str(number)) == pytest.approx(1 / rate)
    groups.visited("0", 3.5)  # missed those at 1, 2 and 3, and takes one
    assert groups.due("0") == pytest.approx(4.0)


@pytest.mark.parametrize("strategy", [iir, icr])
def test_intervals_grow_where_only_half_of_the_turns_are_taken(strategy: object) -> None:
    groups = ChannelGroups(strategy)  # type: ignore[arg-type]
    for number in range(20):
        groups.put(str(number), 1.0 + number / 100, 0.0, due=0.0)
    for turn in range(60):
        for number in range(20):
            groups.visited(str(number), 2.0 * turn + 0.01 * number)
    before = groups.due("0")
    groups.visited("0", before)
    assert groups.due("0") - before > 1.1
