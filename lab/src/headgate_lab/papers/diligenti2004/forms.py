"""The ways of control that are compared."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.bandwidth.admission_control import Taking, Way, by_estimates, by_shares, by_use
from headgate.bandwidth.server_speed import Rule
from headgate_lab.papers.diligenti2004.world import LIMIT

__all__ = ["FORMS", "Form", "form_named"]


@dataclass(frozen=True, slots=True)
class Form:
    name: str
    title: str
    taking: Taking | None
    """What a download takes of the limit; None: on/off control."""
    look_ahead: int = 6
    """The paper's maxd."""
    estimator: Rule = Rule.PAPER
    part: float = 1.0
    """The limit it is set to, as a part of L."""

    @property
    def way(self) -> Way:
        return Way(self.taking, self.estimator)

    @property
    def enforced(self) -> bool:
        return self.way.enforced

    @property
    def limit(self) -> float:
        return self.part * LIMIT


FORMS = (
    Form("maxd6", "estimates, maxd 6", by_estimates),
    Form("maxd2", "estimates, maxd 2", by_estimates, look_ahead=2),
    Form("on-off", "on/off", None),
    Form("ratio", "unbiased estimates, maxd 6", by_estimates, estimator=Rule.RATIO),
    Form("shares", "shares, a bucket each", by_shares, estimator=Rule.RATIO),
    Form("headgate", "shares under one bucket", by_use, estimator=Rule.RATIO, part=0.95),
)
"""The last is set a little below L: paid bytes may arrive later, and at 140 KB/s from a dozen
servers a second can carry a tenth more than was granted in it."""


def form_named(name: str) -> Form:
    return next(form for form in FORMS if form.name == name)
