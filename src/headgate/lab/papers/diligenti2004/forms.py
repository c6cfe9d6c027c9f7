"""The ways of control that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headgate.traffic.server_speed import Rule

__all__ = ["FORMS", "Form", "form_named"]


@dataclass(frozen=True, slots=True)
class Form:
    name: str
    title: str
    control: Literal["estimates", "shares", "on-off"]
    look_ahead: int = 6
    """The paper's maxd."""
    estimator: Rule = Rule.PAPER

    @property
    def enforced(self) -> bool:
        """Whether buckets hold downloads to their shares."""
        return self.control == "shares"


FORMS = (
    Form("maxd6", "estimates, maxd 6", "estimates"),
    Form("maxd2", "estimates, maxd 2", "estimates", look_ahead=2),
    Form("on-off", "on/off", "on-off"),
    Form("ratio", "unbiased estimates, maxd 6", "estimates", estimator=Rule.RATIO),
    Form("shares", "shares and buckets", "shares", estimator=Rule.RATIO),
)


def form_named(name: str) -> Form:
    return next(form for form in FORMS if form.name == name)
