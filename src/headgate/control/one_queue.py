"""One queue instead of rates: all sites are open at once, each with the whole line, and the node
decides by score which page of all goes next (`crawling/common_queue.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.score_order import SCORE
from headgate.planning.replan import CrawlState

__all__ = ["OneQueue"]


@dataclass(frozen=True, slots=True)
class OneQueue:
    """Takes the place of a policy that sets rates."""

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
