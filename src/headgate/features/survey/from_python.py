"""``headgate.survey(...)``: a whole survey as one plain function call."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from headgate.engine.event_loop import run_blocking
from headgate.engine.real_parts import real_parts
from headgate.engine.watcher import Watcher
from headgate.features.survey.job import SURVEY_LIMITS, SurveyJob, SurveyMoment, SurveyUnderWay
from headgate.features.survey.job import survey as survey_job
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.rules import SurveyRules, start_url
from headgate.fetching.client import FetcherSettings
from headgate.model.budget import Budget, QuotaUse
from headgate.model.errors import UserMistake
from headgate.model.units import UNLIMITED
from headgate.reading.urls import host
from headgate.report.words import quota_is_used_up

__all__ = ["survey", "survey_settings"]

_log = logging.getLogger("headgate")


def survey(
    starts: Sequence[str],
    budget: Budget | None = None,
    out: str | Path = "headgate-survey",
    *,
    rules: SurveyRules | None = None,
    contact: str = "",
    resume: bool = False,
) -> SurveyReport:
    """Survey servers into a collection and return the report; blocks until the survey has ended.

    Without a budget the bandwidth is not limited; the default rules suit weak servers. After a
    crash, call it again with ``resume``.
    """
    urls = tuple(dict.fromkeys(map(_start, starts)))
    if not urls:
        raise UserMistake("a survey needs a URL to start from")
    job = SurveyJob(
        urls,
        rules or SurveyRules(),
        budget=budget or Budget(UNLIMITED),
        out=Path(out),
        fetcher=survey_settings(urls, contact),
        resume=resume,
    )
    return run_blocking(lambda: survey_job(job, real_parts(), _Nobody()))


def survey_settings(starts: Sequence[str], contact: str) -> FetcherSettings:
    """Hosts of starts may have private addresses, because the user named them."""
    named = frozenset(map(host, starts))
    return FetcherSettings(contact or "no contact given", SURVEY_LIMITS, named)


def _start(word: str) -> str:
    url = start_url(word)
    if url is None:
        raise UserMistake(f"{word!r} is no URL of http or https")
    return url


class _Nobody(Watcher[SurveyUnderWay, SurveyMoment]):
    """Logs pauses, too."""

    def paused(self, use: QuotaUse, too_late: Sequence[str]) -> None:  # noqa: ARG002 - it has no deadlines
        _log.warning("%s", quota_is_used_up(use))
