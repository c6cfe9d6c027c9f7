"""The end of a survey: tables, catalog and report are made of its log.

Idempotent, so that it can be repeated after a crash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headgate.control.catalog import Catalog, Outcome
from headgate.engine.report_pages import PAGE
from headgate.features.survey.log import read_survey
from headgate.features.survey.report import DepthAhead, SurveyDepth, SurveyReport
from headgate.features.survey.strategy.facts import ServerFacts, SurveyFacts
from headgate.features.survey.strategy.rules import RegistrableDomain
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.model.run_report import GridReport
from headgate.storage.atomic_write import write_whole
from headgate.storage.collection import SURVEY_LOG, RunFolder

__all__ = ["registrable_domain", "wrap_up_survey", "write_survey_page"]

_SOON_SECONDS = 30 * 86_400.0


def wrap_up_survey(
    run: RunFolder,
    catalog: Catalog,
    surveyor: Surveyor,
    ending: str,
    seconds: float,
    wall: float,
    grid: GridReport | None = None,
) -> SurveyReport:
    """``seconds`` counts all legs of the run; ``grid`` is given for a survey by nodes."""

    from headgate.features.survey.tables import write_survey_tables  # here: it brings 50 MB

    facts = SurveyFacts.of(lambda: read_survey(run.path / SURVEY_LOG), surveyor.trees)
    write_survey_tables(facts, run.path)
    report = msgspec.structs.replace(
        _report(run.stamp, facts, surveyor, ending, seconds),
        grid=grid,
        expiring=_expiring(facts.servers.values(), wall),
    )
    write_whole(run.path / "report.json", msgspec.json.encode(report))
    write_survey_page(report, run.path)
    if report.interrupted:
        catalog.end_run(run.stamp, wall, Outcome.INTERRUPTED)
    else:
        run.finish()
        catalog.end_run(run.stamp, wall, Outcome.FINISHED)
    return report


def _report(
    stamp: str, facts: SurveyFacts, surveyor: Surveyor, ending: str, seconds: float
) -> SurveyReport:
    servers = facts.servers.values()
    return SurveyReport(
        stamp=stamp,
        seconds=seconds,
        ending=ending,
        interrupted=surveyor.ending != ending,
        policy="depth" if surveyor.rules.breadth_first else "yield",
        servers=len(servers),
        reachable=sum(server.reachable for server in servers),
        hosts=len(facts.hosts),
        links=sum(len(server.links) for server in servers),
        requests=sum(server.requests for server in servers),
        pages=sum(server.pages for server in servers),
        wire_bytes=sum(server.wire_bytes for server in servers),
        unchanged=facts.unchanged,
        most_requests=max((server.requests for server in servers), default=0),
        most_bytes=max((server.wire_bytes for server in servers), default=0),
        share_found=surveyor.outlook.share_found(),
        next_yield=surveyor.outlook.next_yield() if surveyor.hosts else None,
        unreachable=Counter(
            server.reason or server.state for server in servers if not server.pages
        ),
        depths=[
            SurveyDepth(number, level.requests, level.pages, level.wire_bytes, level.new_hosts)
            for number, level in enumerate(facts.depths)
        ],
        ahead=_ahead(surveyor, facts),
        tls=_ranked(
            server.tls.version if server.tls else "none" for server in servers if server.reachable
        ),
        issuers=_ranked(
            server.tls.issuer for server in servers if server.tls and server.tls.issuer
        ),
        tls_errors=_ranked(server.tls_error for server in servers if server.tls_error),
        robots=_ranked(server.robots.value for server in servers if server.robots),
    )


def _ranked(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common())


def _expiring(servers: Iterable[ServerFacts], wall: float) -> int:
    ends = (server.tls.expires for server in servers if server.tls and server.tls.expires)
    return sum(expires < wall + _SOON_SECONDS for expires in ends)


def _ahead(surveyor: Surveyor, facts: SurveyFacts) -> list[DepthAhead]:
    requests = sum(level.requests for level in facts.depths)
    bytes_per_request = sum(level.wire_bytes for level in facts.depths) / max(requests, 1)
    return [
        DepthAhead(
            level.depth,
            round(level.pages),
            round(level.pages * bytes_per_request),
            round(level.new_hosts, 1) if surveyor.hosts else None,
        )
        for level in surveyor.outlook.to_come()
        if round(level.pages)
    ]


def registrable_domain() -> RegistrableDomain:
    """The registered domain of a host.

    By the public suffix list that comes with its library.
    """
    from publicsuffixlist import PublicSuffixList

    listed = PublicSuffixList()

    def registered(name: str) -> str:
        is_address = ":" in name or name.rpartition(".")[2].isdigit()
        return name if is_address else listed.privatesuffix(name) or name

    return registered


def write_survey_page(report: SurveyReport, folder: Path) -> None:
    """From the survey's log in the folder."""
    from headgate.features.survey.log import read_survey
    from headgate.features.survey.strategy.facts import SurveyFacts
    from headgate.features.survey.view.page import survey_page
    from headgate.storage.collection import SURVEY_LOG

    facts = SurveyFacts.of(lambda: read_survey(folder / SURVEY_LOG))
    write_whole(folder / PAGE, survey_page(report, facts).encode("utf-8", "replace"))
