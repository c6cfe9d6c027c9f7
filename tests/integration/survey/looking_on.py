"""Who looks on a survey in a test, and the parts of one whose names are made up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from headgate.engine.clock import AwakeClock
from headgate.engine.parts import Parts
from headgate.engine.real_parts import real_parts
from headgate.features.survey.job import SurveyMoment, SurveyUnderWay, SurveyWatcher
from headgate.fetching.client import HttpFetcher
from headgate.fetching.dns import FixedResolver
from headgate.model.budget import QuotaUse


@dataclass
class Nobody(SurveyWatcher):
    """Interrupts once so many requests are stored, or at a pause if asked to."""

    most: float = math.inf
    stop_at_pause: bool = False
    pauses: list[QuotaUse] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    run: SurveyUnderWay | None = None

    def on_start(self, running: SurveyUnderWay) -> None:
        self.run = running

    def on_progress(self, seen: SurveyMoment) -> None:
        if seen.run.stored >= self.most:
            seen.run.stop("interrupted")

    def on_messages(self, words: Sequence[str]) -> None:
        self.said += words

    def on_pause(self, use: QuotaUse, too_late: Sequence[str]) -> None:  # noqa: ARG002
        self.pauses.append(use)
        if self.stop_at_pause and self.run is not None:
            self.run.stop("interrupted")


def parts_with_names(addresses: Mapping[str, str]) -> Parts:
    fetcher = partial(HttpFetcher, resolver=FixedResolver(addresses), clock=AwakeClock())
    return replace(real_parts(), open_fetcher=fetcher)
