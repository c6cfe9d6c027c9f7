"""What a user asked ``headgate survey`` for; kept with the run for --resume."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from headgate.engine.event_loop import run_blocking
from headgate.engine.real_parts import real_parts
from headgate.engine.site_inputs import asked_bandwidth
from headgate.engine.watcher import Watcher
from headgate.features.survey.job import SURVEY_LIMITS, SurveyJob, SurveyMoment, SurveyUnderWay
from headgate.features.survey.job import survey as survey_job
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.rules import DEEPEST, SurveyRules, SurveyScope, start_url
from headgate.fetching.client import FetcherSettings
from headgate.frontier.politeness import PolitenessRules
from headgate.model.budget import Budget, Quota, QuotaUse
from headgate.model.errors import UserMistake
from headgate.model.grid import GridTerms
from headgate.model.units import UNLIMITED, parse_duration, parse_size
from headgate.reading.urls import host
from headgate.report.words import quota_is_used_up
from headgate.site_file.parsing import parse_budget, parse_grid

__all__ = ["SurveyRequest", "survey", "survey_settings", "unfinished_request"]

_FEWEST_REQUESTS = 2


class SurveyRequest(msgspec.Struct, frozen=True):
    """Starting URLs and options."""

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
    quota: str | None = None
    make_way: bool | None = None
    budget_path: str = ""
    """The site file whose [budget] holds where no option overrides it; empty: none."""
    budget_text: str = ""
    contact: str = ""

    @classmethod
    def from_options(cls, starts: tuple[str, ...], options: Mapping[str, Any]) -> Self:
        return cls(starts).changed(options)

    def changed(self, options: Mapping[str, Any]) -> Self:
        """The request with the options that were given."""
        given = {
            name: options[name]
            for name in self.__struct_fields__
            if name != "starts" and options.get(name) is not None
        }
        return msgspec.structs.replace(self, **given)

    def budget(self) -> Budget:
        """The budget after all checks."""
        own = Budget(UNLIMITED)
        if self.budget_path:
            own = parse_budget(self.budget_text, self.budget_path, UNLIMITED)
        rate = asked_bandwidth(self.bandwidth)
        return replace(
            own,
            bandwidth=own.bandwidth if rate is None else rate,
            quota=Quota.parse(self.quota, own.calendar.zone) if self.quota else own.quota,
            make_way=self.make_way or own.make_way,
            contact=self.contact or own.contact,
        )

    def grid(self) -> GridTerms:
        """The settings of a grid, for a survey by nodes."""
        return parse_grid(self.budget_text, self.budget_path) if self.budget_path else GridTerms()

    def job(
        self,
        out: Path,
        *,
        resume: bool = False,
        new_bandwidth: bool = False,
        private_hosts: bool = True,
    ) -> SurveyJob:
        """The job that performs the request. ``private_hosts``: hosts of starts may have private
        addresses, because the user named them."""
        from headgate.features.survey.job import SurveyJob

        request = msgspec.json.encode(self)
        budget = self.budget()
        settings = survey_settings(self.starts if private_hosts else (), budget.contact)
        return SurveyJob(
            self.starts,
            self.rules(),
            budget=budget,
            out=out,
            fetcher=settings,
            resume=resume,
            request=request,
            new_bandwidth=new_bandwidth,
        )

    def rules(self) -> SurveyRules:
        """The rules after all checks."""
        _check("--depth", self.depth, 0, DEEPEST)
        _check("--rounds", self.rounds, 0, math.inf)
        _check("--until", self.until, 0.01, 1.0)
        _check("--yield", self.least_yield, 0.0, math.inf)
        _check("--max-pages", self.max_pages, _FEWEST_REQUESTS, math.inf)
        _check("--at-once", self.at_once, 1, 10_000)
        if self.least_yield and self.policy == "depth":
            raise UserMistake(
                "--yield ends a survey when the best page promises too little; with --policy depth"
                " pages are not ordered by that: use one of the two"
            )
        most_bytes = int(parse_size(self.max_bytes))
        if not most_bytes:
            raise UserMistake("--max-bytes must be more than 0, like '100 MB'")
        return SurveyRules(
            depth=self.depth,
            scope=SurveyScope.parse(self.scope, self.starts),
            rounds=self.rounds,
            whole_registration=self.registrable,
            breadth_first=self.policy == "depth",
            least_yield=self.least_yield,
            until=self.until,
            most_requests=self.max_pages,
            most_bytes=most_bytes,
            slots=self.at_once,
            pace=PolitenessRules(
                connections=1, delay=parse_duration(self.delay), failure_limit=3, busy_limit=3
            ),
        )


def unfinished_request(out: Path) -> SurveyRequest:
    """The request of the unfinished survey of a collection."""
    from headgate.storage.collection import Collection

    run = Collection(out).unfinished_run()
    remedy = "restore it from a copy, or give the survey up with 'headgate crawl --abandon'"
    request = None if run is None else run.load_as("survey", SurveyRequest, remedy)
    if request is None:
        raise UserMistake(f"{out}: no unfinished survey to go on with; leave out --resume")
    return request


def _check(option: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most or math.isinf(value):
        upper = "" if math.isinf(most) else f" and at most {most:,}"
        raise UserMistake(f"{option} {value:,} must be at least {least:g}{upper}")


# ``headgate.survey(...)``: a whole survey as one plain function call.


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

    def on_pause(self, use: QuotaUse, too_late: Sequence[str]) -> None:  # noqa: ARG002 - it has no deadlines
        _log.warning("%s", quota_is_used_up(use))
