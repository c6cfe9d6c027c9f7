"""What a user asked ``headgate survey`` for, kept with the run so that --resume can go on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from headgate.frontier.pacing import PaceRules
from headgate.model.errors import UserMistake
from headgate.model.units import parse_duration, parse_rate, parse_size
from headgate.survey.rules import Scope
from headgate.survey.survey_rules import DEEPEST, SurveyRules

__all__ = ["SurveyRequest"]

_FEWEST_REQUESTS = 2


class SurveyRequest(msgspec.Struct, frozen=True):
    """Starting URLs, and what the options said."""

    starts: tuple[str, ...]
    depth: int = 8
    scope: str = "none"
    rounds: int = 1
    registrable: bool = False
    policy: str = "yield"
    until: float = 1.0
    least_yield: float = 0.0
    max_pages: int = 1000
    max_bytes: str = "100 MB"
    delay: str = "1s"
    at_once: int = 100
    bandwidth: str | None = None
    contact: str = ""

    @classmethod
    def of(cls, starts: tuple[str, ...], options: Mapping[str, Any]) -> Self:
        return cls(starts).changed(options)

    def changed(self, options: Mapping[str, Any]) -> Self:
        """With those options that were given."""
        given = {
            name: options[name]
            for name in self.__struct_fields__
            if name != "starts" and options.get(name) is not None
        }
        return msgspec.structs.replace(self, **given)

    @property
    def rate(self) -> float:
        return math.inf if self.bandwidth is None else parse_rate(self.bandwidth)

    def rules(self) -> SurveyRules:
        """Checked."""
        _check("--depth", self.depth, 0, DEEPEST)
        _check("--rounds", self.rounds, 0, math.inf)
        _check("--until", self.until, 0.01, 1.0)
        _check("--yield", self.least_yield, 0.0, math.inf)
        _check("--max-pages", self.max_pages, _FEWEST_REQUESTS, math.inf)
        _check("--at-once", self.at_once, 1, 10_000)
        if self.rate <= 0:
            raise UserMistake("--bandwidth must be more than 0, like '1.5 MB/s', or 'unlimited'")
        most_bytes = int(parse_size(self.max_bytes))
        if not most_bytes:
            raise UserMistake("--max-bytes must be more than 0, like '100 MB'")
        return SurveyRules(
            depth=self.depth,
            scope=Scope.parse(self.scope, self.starts),
            rounds=self.rounds,
            whole_registration=self.registrable,
            breadth_first=self.policy == "depth",
            least_yield=self.least_yield,
            until=self.until,
            most_requests=self.max_pages,
            most_bytes=most_bytes,
            slots=self.at_once,
            pace=PaceRules(
                connections=1, delay=parse_duration(self.delay), failure_limit=3, busy_limit=3
            ),
        )


def _check(option: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most or math.isinf(value):
        upper = "" if math.isinf(most) else f" and at most {most:,}"
        raise UserMistake(f"{option} {value:,} must be at least {least:g}{upper}")
