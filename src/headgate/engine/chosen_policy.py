"""The policy that a user chose: a published one, their own, or one queue over all sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.score_order import SCORE, ScoreOrder
from headgate.model.site import BREADTH_FIRST, LINKS_IN, Site
from headgate.model.units import UNLIMITED
from headgate.scheduling.replan import CrawlState

if TYPE_CHECKING:
    from headgate.control.active_sites import PolicyPort
    from headgate.scheduling.policies import Policy

__all__ = ["chosen_policy", "followed_policy"]


# The policy that a user chose to plan or crawl by: a published one, or their own.
#
# A user's own policy is a function ``(problem, rng) -> schedule`` (headgate.scheduling.problem,
# headgate.scheduling.problem), installed as an entry point of the group ``headgate.policies``. It
# runs inside Headgate's process.


GROUP = "headgate.policies"
_MOST_IN_ONE_QUEUE = 1_000
"""Sites, each with URLs in memory and open files."""
_SEED = 1
"""For randomised policies: the same crawl gets the same rates."""


def chosen_policy(name: str) -> Policy:
    """The policy of that name; empty: Headgate's own."""
    from importlib.metadata import entry_points

    from headgate.scheduling.policies import DEFAULT_POLICY, Policy, find_policy

    points = entry_points(group=GROUP, name=name) if name else ()
    for point in points:
        try:
            return Policy(name, point.load())
        except Exception as error:  # whatever the user's own code raises
            raise UserMistake(
                f"the policy {name!r} ({point.value}) cannot be loaded: {error}"
            ) from error
    return find_policy(name or DEFAULT_POLICY)


def followed_policy(budget: Budget, sites: Sequence[Site], processes: int = 1) -> PolicyPort | None:
    """What sets the rates of a crawl; None: Headgate's own policy."""
    if budget.order is not None:
        _refuse_order(budget.order, budget, sites, processes)

        return OneQueue()
    site_count = len(sites)
    if not budget.policy:
        return None
    import numpy as np

    from headgate.scheduling.policies import DEFAULT_POLICY
    from headgate.scheduling.policy_follower import PolicyFollower

    policy = chosen_policy(budget.policy)
    if policy.name == DEFAULT_POLICY:
        return None
    if budget.bandwidth == UNLIMITED:
        raise UserMistake(
            f"the policy {policy.name} shares out a bandwidth; add one, like --bandwidth 1MB/s"
        )
    if policy.all_at_once and site_count > budget.crawlers:
        raise UserMistake(
            f"the policy {policy.name} crawls all sites at once: {site_count} sites need as many"
            f" crawlers, not {budget.crawlers}; add --crawlers {site_count}, or take ReAlloc-MAXT"
        )
    return PolicyFollower(policy, np.random.default_rng(_SEED), budget.objective)


def _refuse_order(order: ScoreOrder, budget: Budget, sites: Sequence[Site], processes: int) -> None:
    """Raise `UserMistake` for settings that exclude one queue over all sites."""
    plain = [site.name for site in sites if site.url_order == BREADTH_FIRST]
    if plain:
        raise UserMistake(
            f"site {plain[0]!r}: its pages have no scores to go by; give it a focus, or an order"
            f" like {LINKS_IN!r}"
        )
    if budget.bandwidth == UNLIMITED:
        raise UserMistake(
            f"the order {SCORE!r} fills a bandwidth with the best pages; add one, like --bandwidth"
            " 1MB/s"
        )
    if budget.policy:
        raise UserMistake(
            f"the order {SCORE!r} takes the place of a policy; leave out {budget.policy}"
        )
    if processes > 1:
        raise UserMistake(
            f"the order {SCORE!r} needs a single process; leave out --processes {processes}"
        )
    if len(sites) > _MOST_IN_ONE_QUEUE:
        raise UserMistake(
            f"the order {SCORE!r} has all sites open at once, {_MOST_IN_ONE_QUEUE:,} at the most,"
            f" not {len(sites):,}; crawl them in parts"
        )
    if budget.make_way and not order.enforced:
        raise UserMistake(
            f"the admission {order.admission!r} enforces no rate, so it cannot make way;"
            f" leave one of them out"
        )


@dataclass(frozen=True, slots=True)
class OneQueue:
    """One queue instead of rates: all sites are open at once, each with the whole line, and the
    node decides by score which page of all goes next (`crawling/common_queue.py`).

    Takes the place of a policy that sets rates.
    """

    name: str = SCORE
    fault: str = ""
    by_page: bool = True
    """A site's speed says nothing of its server: its pages may have waited for better ones."""

    def rates(self, state: CrawlState) -> dict[str, float]:
        state.running += state.waiting
        state.waiting.clear()
        budget = state.capacity.rate_at(state.now)
        for name in state.running:
            state.sites[name].rate = budget
        return dict.fromkeys(state.running, budget)
