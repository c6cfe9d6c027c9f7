"""The end of a survey: tables, catalog and report are made of its log.

Idempotent, so that it can be repeated after a crash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.control.catalog import Catalog, Outcome
from headgate.engine.report_pages import PAGE
from headgate.features.survey.log import read_survey
from headgate.features.survey.report import DepthAhead, SurveyDepth, SurveyReport
from headgate.features.survey.strategy.facts import DepthFacts, ServerFacts, SurveyFacts
from headgate.features.survey.strategy.rules import RegistrableDomain
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.model.run_report import GridReport
from headgate.storage.atomic_write import replacing, write_whole
from headgate.storage.collection import SURVEY_LOG, RunFolder
from headgate.storage.safe_files import writing

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

    facts = SurveyFacts.from_log(lambda: read_survey(run.path / SURVEY_LOG), surveyor.trees)
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

    facts = SurveyFacts.from_log(lambda: read_survey(folder / SURVEY_LOG))
    write_whole(folder / PAGE, survey_page(report, facts).encode("utf-8", "replace"))


def _expires(server: ServerFacts) -> int | None:
    return int(server.tls.expires) or None if server.tls else None


_SERVERS: Sequence[tuple[str, Any, Callable[[ServerFacts], object]]] = (
    ("server", pa.string(), lambda s: s.domain),
    ("start", pa.string(), lambda s: s.start),
    ("round", pa.int32(), lambda s: s.round),
    ("reachable", pa.bool_(), lambda s: s.reachable),
    ("state", pa.string(), lambda s: s.state),
    ("reason", pa.string(), lambda s: s.reason),
    ("address", pa.string(), lambda s: s.address),
    ("moved_to", pa.string(), lambda s: s.moved_to),
    ("https", pa.bool_(), lambda s: s.https),
    ("tls_version", pa.string(), lambda s: s.tls.version if s.tls else None),
    ("certificate_issuer", pa.string(), lambda s: (s.tls.issuer or None) if s.tls else None),
    ("certificate_expires", pa.timestamp("s", "UTC"), _expires),
    ("tls_error", pa.string(), lambda s: s.tls_error or None),
    ("robots", pa.string(), lambda s: s.robots.value if s.robots else None),
    ("crawl_delay", pa.float64(), lambda s: s.crawl_delay or None),
    ("software", pa.string(), lambda s: s.software),
    ("response_seconds", pa.float64(), lambda s: s.response_seconds),
    ("bytes_per_second", pa.float64(), lambda s: s.transfer_rate),
    ("requests", pa.int64(), lambda s: s.requests),
    ("wire_bytes", pa.int64(), lambda s: s.wire_bytes),
    ("errors", pa.int64(), lambda s: s.errors),
    ("pages", pa.int64(), lambda s: s.pages),
    ("pages_by_depth", pa.list_(pa.int64()), lambda s: s.pages_by_depth),
    ("languages", pa.map_(pa.string(), pa.int64()), lambda s: s.languages.most_common()),
    ("charsets", pa.map_(pa.string(), pa.int64()), lambda s: s.charsets.most_common()),
    ("outbound_hosts", pa.int64(), lambda s: len(s.links)),
    ("outbound_links", pa.int64(), lambda s: sum(link.links for link in s.links.values())),
    ("scripts", pa.int64(), lambda s: s.script_count),
    ("most_met_scripts", pa.map_(pa.string(), pa.int64()), lambda s: s.scripts),
    ("links_not_taken", pa.int64(), lambda s: s.cut),
)


def write_survey_tables(facts: SurveyFacts, folder: Path) -> None:
    """A survey's results as files that other programs read.

    servers.parquet     one row per server
    links.parquet       one row per server and host it links to
    depths.parquet      one row per depth level: what it cost and what it brought
    hosts.graphml       the graph of hosts, for Gephi and NetworkX

    Write all files; each appears completely or not at all.
    """
    servers = list(facts.servers.values())
    columns = {name: pa.array([of(s) for s in servers], kind) for name, kind, of in _SERVERS}
    _write(pa.table(columns), folder / "servers.parquet")
    _write(_links_table(servers), folder / "links.parquet")
    _write(_depths_table(facts.depths), folder / "depths.parquet")
    write_whole(folder / "hosts.graphml", "".join(_graphml(facts)).encode("utf-8", "replace"))


def _links_table(servers: Sequence[ServerFacts]) -> pa.Table:
    rows = [
        (server.domain, name, link.links, link.pages, link.source, link.target)
        for server in servers
        for name, link in server.links.items()
    ]
    kinds = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string(), pa.string())
    names = ("server", "host", "links", "pages", "example_source", "example_target")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table(
        {name: pa.array(column, kind)
         for name, column, kind in zip(names, columns, kinds, strict=True)}
    )  # fmt: skip


def _depths_table(depths: Sequence[DepthFacts]) -> pa.Table:
    whole = {
        "depth": list(range(len(depths))),
        "requests": [level.requests for level in depths],
        "pages": [level.pages for level in depths],
        "wire_bytes": [level.wire_bytes for level in depths],
        "new_hosts": [level.new_hosts for level in depths],
    }
    return pa.table({name: pa.array(column, pa.int64()) for name, column in whole.items()})


def _write(table: pa.Table, path: Path) -> None:
    with replacing(path) as part, writing(path), part.open("wb") as file:
        pq.write_table(table, file, compression="zstd")


def _graphml(facts: SurveyFacts) -> Iterable[str]:
    """Servers and hosts as nodes, links as directed edges with their number as weight."""
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="surveyed" for="node" attr.name="surveyed" attr.type="boolean"/>\n'
        '<key id="reachable" for="node" attr.name="reachable" attr.type="boolean"/>\n'
        '<key id="pages" for="node" attr.name="pages" attr.type="long"/>\n'
        '<key id="weight" for="edge" attr.name="weight" attr.type="long"/>\n'
        '<graph id="hosts" edgedefault="directed">\n'
    )
    for name, server in facts.servers.items():
        reachable = str(server.reachable).lower()
        yield (
            f'<node id={quoteattr(name)}><data key="surveyed">true</data>'
            f'<data key="reachable">{reachable}</data><data key="pages">{server.pages}</data>'
            "</node>\n"
        )
    for name in sorted({facts.node_of(name) for name in facts.hosts} - facts.servers.keys()):
        yield f'<node id={quoteattr(name)}><data key="surveyed">false</data></node>\n'
    for server in facts.servers.values():
        weights: Counter[str] = Counter()
        for name, link in server.links.items():
            weights[facts.node_of(name)] += link.links
        for name, weight in weights.items():
            yield (
                f"<edge source={quoteattr(server.domain)} target={quoteattr(name)}>"
                f'<data key="weight">{weight}</data></edge>\n'
            )
    yield "</graph>\n</graphml>\n"
