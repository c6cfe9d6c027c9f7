"""A survey within a crawl's allowance: quota, the user's last word, the catalog, its time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.acceptance.small_web import SmallWeb, serving

import headgate
from headgate.control.catalog import Outcome
from headgate.engine.real_parts import real_parts
from headgate.features.survey.job import SurveyJob, SurveyUnderWay, survey
from headgate.features.survey.request import survey_settings
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.frontier.politeness import PolitenessRules
from headgate.model.budget import Budget, Quota
from headgate.model.errors import UserMistake
from headgate.model.units import UNLIMITED, BytesPerSecond
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection

from .looking_on import Nobody

RULES = SurveyRules(pace=PolitenessRules(connections=1, failure_limit=3, busy_limit=3))


def job(web: SmallWeb, out: Path, budget: Budget, *, resume: bool = False) -> SurveyJob:
    starts = (web.seed,)
    return SurveyJob(
        starts,
        RULES,
        budget=budget,
        out=out,
        fetcher=survey_settings(starts, "test"),
        resume=resume,
    )


def catalog_of(out: Path) -> SqliteCatalog:
    return SqliteCatalog(out / "catalog.sqlite")


def line_use(out: Path) -> int:
    with catalog_of(out) as catalog:
        return sum(catalog.line_use(0).values())


def test_the_catalog_learns_of_the_run_the_line_and_the_servers(tmp_path: Path) -> None:
    with serving(SmallWeb(20)) as web:
        report = headgate.survey([web.seed], out=tmp_path, rules=RULES, contact="test")
    with catalog_of(tmp_path) as catalog:
        (run,) = catalog.runs()
        assert (run.stamp, run.outcome) == (report.stamp, Outcome.FINISHED)
        assert [server.address for server in catalog.servers()] == ["127.0.0.1"]
    assert line_use(tmp_path) == report.wire_bytes
    assert report.pages == 20
    left = {path.name for path in (tmp_path / "runs" / report.stamp).iterdir()}
    assert {"report.json", "report.html", "servers.parquet", "survey.log"} <= left
    assert not Collection(tmp_path).unfinished_run()


def test_a_quota_holds_a_survey_and_is_remembered_when_it_goes_on(tmp_path: Path) -> None:
    most = 150_000
    budget = Budget(UNLIMITED, quota=Quota.parse(f"{most} B/month", ZoneInfo("UTC")))
    with serving(SmallWeb(60, page_bytes=12_000, random_bytes=5_500)) as web:
        watch = Nobody(stop_at_pause=True)
        first = asyncio.run(survey(job(web, tmp_path, budget), real_parts(), watch))
        (use,) = watch.pauses
        assert use.spent
        assert first.interrupted
        assert 0.8 * most < line_use(tmp_path) <= most
        asked = sum(web.asked.values())
        again = Nobody(stop_at_pause=True)
        asyncio.run(survey(job(web, tmp_path, budget, resume=True), real_parts(), again))
        assert len(again.pauses) == 1
        assert sum(web.asked.values()) == asked, "nothing is asked for while nothing may pass"
    with catalog_of(tmp_path) as catalog:
        assert [run.outcome for run in catalog.runs()] == [Outcome.INTERRUPTED]


def test_the_users_last_word_holds_and_the_time_of_all_legs_counts(tmp_path: Path) -> None:
    """At 1 B/s it would take hours."""

    class Hurrying(Nobody):
        def on_start(self, run: SurveyUnderWay) -> None:
            super().on_start(run)
            folder = Collection(tmp_path).unfinished_run()
            assert folder is not None
            folder.save("budget", b"infinity")

    slow = Budget(BytesPerSecond(1.0))
    with serving(SmallWeb(20)) as web:
        first = asyncio.run(survey(job(web, tmp_path, slow), real_parts(), Nobody(most=0)))
        assert first.interrupted
        again = job(web, tmp_path, slow, resume=True)
        second = asyncio.run(survey(again, real_parts(), Hurrying()))
    assert not second.interrupted
    assert second.pages == 20
    assert second.seconds > first.seconds > 0


def test_what_can_be_no_survey_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="'no url' is no URL"):
        headgate.survey(["no url"], out=tmp_path)
    with pytest.raises(UserMistake, match="needs a URL"):
        headgate.survey([], out=tmp_path)
    with pytest.raises(UserMistake, match="no unfinished survey"):
        headgate.survey(["http://127.0.0.1/"], out=tmp_path, resume=True)
