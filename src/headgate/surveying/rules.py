"""The limits of a survey, and when it ends."""

from __future__ import annotations

import msgspec

from headgate.frontier.pacing import PaceRules
from headgate.surveying.scope import NONE, SurveyScope

__all__ = ["DEEPEST", "SurveyRules"]

DEEPEST = 60


class SurveyRules(msgspec.Struct, frozen=True):
    """The limits of a survey. The defaults suit weak servers."""

    depth: int = 8
    scope: SurveyScope = NONE
    rounds: int = 1
    """How often external hosts become starting URLs; 0: never."""
    whole_registration: bool = False
    """A server is everything under one registered domain, not only the start's host."""
    breadth_first: bool = False
    """The paper's order instead of the expected yield."""
    least_yield: float = 0.0
    until: float = 1.0
    most_requests: int = 1000
    most_bytes: int = 100_000_000
    most_page_bytes: int = 2_000_000
    names_per_domain: int = 32
    """Starting URLs under one registered domain: wildcard DNS has names without end."""
    most_hosts: int = 100_000
    """New hosts that one server may name: pages are free to make up names."""
    slots: int = 100
    pace: PaceRules = msgspec.field(
        default_factory=lambda: PaceRules(connections=1, delay=1.0, failure_limit=3, busy_limit=3)
    )
