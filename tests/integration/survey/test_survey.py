"""Surveys of the virtual web over real sockets: caps, crash, repetition, and what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from headgate.engine.parts import Parts
from headgate.features.survey.difference import LinkChange, ServerMove, difference
from headgate.features.survey.job import SurveyJob, survey
from headgate.features.survey.log import read_survey
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.entries import SurveyEntry
from headgate.features.survey.strategy.facts import SurveyFacts
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.fetching.client import FetcherSettings
from headgate.fetching.limits import Limits
from headgate.frontier.politeness import PolitenessRules
from headgate.model.budget import Budget
from headgate.model.units import UNLIMITED
from headgate.storage.collection import SURVEY_LOG
from headgate_lab.worlds.virtual_server import Edits, VirtualServer, addresses, manner_of, starts
from headgate_lab.worlds.virtual_web import VirtualWeb, make_web

from .looking_on import Nobody, parts_with_names

_PACE = PolitenessRules(connections=1, failure_limit=3, busy_limit=3)
_CAP = 16
_LIMITS = Limits(connect_seconds=5.0, first_byte_seconds=3.0)


def _job(
    web: VirtualWeb,
    port: int,
    out: Path,
    sites: Sequence[int],
    *,
    resume: bool = False,
    budget: Budget = Budget(UNLIMITED),  # noqa: B008 - frozen
) -> SurveyJob:
    everyone = list(starts(web, port))
    return SurveyJob(
        tuple(everyone[site] for site in sites),
        SurveyRules(most_requests=_CAP, pace=_PACE),
        budget=budget,
        out=out,
        fetcher=FetcherSettings("test", _LIMITS, named=frozenset(("127.0.0.0/8",))),
        resume=resume,
    )


def _parts(web: VirtualWeb) -> Parts:
    return parts_with_names(addresses(web))


def test_caps_hold_and_the_silent_are_facts(tmp_path: Path) -> None:
    web = make_web(70, sites=60)
    sites = [site for site in range(60) if _is_quick(site)]

    async def surveyed() -> tuple[SurveyReport, VirtualServer]:
        server = VirtualServer(web)
        await server.start()
        try:
            return await survey(
                _job(web, server.port, tmp_path, sites), _parts(web), Nobody()
            ), server
        finally:
            await server.stop()

    report, server = asyncio.run(surveyed())
    manners = {site: manner_of(site) for site in sites}
    assert max(server.requests.values()) <= _CAP
    assert report.servers == len(sites)
    assert report.unreachable["first-byte-timeout"] == sum(m.hangs for m in manners.values())
    assert report.unreachable["refused"] == sum(m.dead for m in manners.values())
    assert report.unreachable["dns"] == sum(m.nameless for m in manners.values())
    assert not report.interrupted
    facts = _facts(tmp_path, report)
    for name, found in facts.servers.items():
        assert found.requests == server.requests[name] or not found.reachable
    small = [
        site for site in sites
        if web.first[site + 1] - web.first[site] < _CAP - 2 and not manners[site].hangs
        and not manners[site].dead and not manners[site].nameless
    ]  # fmt: skip
    assert small
    for site in small:  # what fits under the cap is found in full, down to depth 8
        pages = range(int(web.first[site]), int(web.first[site + 1]))
        hosts = {web.host_name(n) for p in pages if web.depth[p] <= 8 for n in web.external(p)}
        assert set(facts.servers[web.name(site)].links) == hosts


def test_an_interrupted_survey_goes_on_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    web = make_web(71, sites=60)
    sites = [site for site in range(60) if _is_quick(site) and not manner_of(site).hangs]

    async def surveyed() -> tuple[SurveyReport, SurveyReport, VirtualServer]:
        server = VirtualServer(web)
        await server.start()
        try:
            first = await survey(_job(web, server.port, tmp_path, sites), _parts(web), Nobody(100))
            again = _job(web, server.port, tmp_path, sites, resume=True)
            return first, await survey(again, _parts(web), Nobody()), server
        finally:
            await server.stop()

    first, second, server = asyncio.run(surveyed())
    assert first.interrupted
    assert not second.interrupted
    assert second.requests > first.requests
    pages = {url: count for url, count in server.urls.items() if not url.endswith("robots.txt")}
    twice = [url for url, count in pages.items() if count > 1]
    assert len(twice) <= 100  # at most what was under way at the interruption
    assert second.pages >= len(pages) - len(twice) - second.unreachable.get("status 404", 0)


def test_a_second_survey_transfers_little_and_reports_the_differences(tmp_path: Path) -> None:
    web = make_web(72, sites=40)
    answering = [
        site for site in range(40)
        if _is_quick(site)
        and not (manner_of(site).hangs or manner_of(site).dead or manner_of(site).nameless)
    ]  # fmt: skip
    gone, moved, new, *others = answering
    home = {site: int(web.first[site]) for site in answering}
    with_links = next(site for site in others if web.external(home[site]))
    other = next(site for site in others if site != with_links)
    lost = web.external(home[with_links])[0]
    edits = Edits(
        without={
            page: frozenset((lost,))
            for page in range(home[with_links], int(web.first[with_links + 1]))
        },
        beside={home[other]: ("brand-new.example",)},
    )
    table = addresses(web)
    later = dict(table)
    del later[web.name(gone)]
    later[web.name(moved)] = "127.0.1.40" if table[web.name(moved)] != "127.0.1.40" else "127.0.1.1"

    async def surveyed() -> tuple[SurveyReport, SurveyReport]:
        before, after = VirtualServer(web), VirtualServer(web, edits)
        await before.start()
        job = _job(web, before.port, tmp_path, [s for s in answering if s != new])
        first = await survey(job, _parts(web), Nobody())
        port = before.port
        await before.stop()
        await after.start(port)
        try:
            again = _job(web, port, tmp_path, answering)
            return first, await survey(again, parts_with_names(later), Nobody())
        finally:
            await after.stop()

    first, second = asyncio.run(surveyed())
    found = difference(_log(tmp_path, first), _log(tmp_path, second))
    assert found.servers_gone == [web.name(gone)]
    assert found.servers_new == [web.name(new)]
    assert found.servers_moved == [
        ServerMove(web.name(moved), table[web.name(moved)], later[web.name(moved)])
    ]
    assert found.links_gone == [LinkChange(web.name(with_links), web.host_name(lost))]
    assert found.links_new == [LinkChange(web.name(other), "brand-new.example")]
    saved = _facts(tmp_path, second)
    both = [web.name(site) for site in others]
    then = sum(_facts(tmp_path, first).servers[name].wire_bytes for name in both)
    now = sum(saved.servers[name].wire_bytes for name in both)
    assert now < 0.4 * then


def _log(out: Path, report: SurveyReport) -> Iterator[SurveyEntry]:
    return read_survey(out / "runs" / report.stamp / SURVEY_LOG)


def _facts(out: Path, report: SurveyReport) -> SurveyFacts:
    return SurveyFacts.from_log(lambda: _log(out, report))


def _is_quick(site: int) -> bool:
    """Tests have no time for slow servers; `bench/survey.py` has."""
    return manner_of(site).latency < 0.1
