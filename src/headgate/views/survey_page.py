"""A survey's report as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headgate.model.survey_report import DepthAhead, SurveyDepth, SurveyReport
from headgate.model.units import format_duration, format_size
from headgate.surveying.facts import SurveyFacts
from headgate.views.host_graph import MOST_NODES, graph_picture
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined
from headgate.views.plan_words import plural
from headgate.views.survey_charts import depth_chart, domain_chart, harvest_chart, speed_chart
from headgate.views.survey_text import TLS_WORDS, nothing_surveyed

__all__ = ["survey_page"]

_ISSUERS_SHOWN = 10


def survey_page(report: SurveyReport, facts: SurveyFacts) -> str:
    """The page; the same survey gives the same text."""
    headline = (
        f"{report.reachable:,} of {report.servers:,} servers answer, linking to"
        f" {report.hosts:,} other hosts"
    )
    if report.nothing_fetched:
        headline = nothing_surveyed(report)
    header = element(
        "header",
        element("p", f"Headgate, survey {report.stamp}", class_="kicker"),
        element("h1", headline),
        element("p", f"Ended: {report.ending}.", class_="amounts"),
    )
    tiles = element("section", *_tiles(report), class_="tiles")
    body = joined((header, tiles, *_sections(report, facts)), "\n")
    return document(f"{headline} – Headgate", body)


def _sections(report: SurveyReport, facts: SurveyFacts) -> Iterator[Markup]:
    yield section(
        "Hosts found against requests",
        harvest_chart(facts),
        "Hosts found by number of requests; dashed: had they been found at a steady pace.",
    )
    yield section(
        "Cost and yield by depth",
        depth_chart(facts),
        "Requests for pages down to each depth, and hosts they link to, as shares of all.",
    )
    yield section(
        "Each depth",
        _depths(report),
        "What was requested, and an estimate of what was not: links seen and not followed, and"
        " what they would lead to."
        if report.ahead
        else "What was requested. Nothing was left out.",
    )
    yield section("Servers by domain", domain_chart(facts))
    yield section(
        "Transfer rate against response time",
        speed_chart(facts),
        "A dot for each server that sent a body of more than ten packets; shorter ones arrive at"
        " once and do not show the rate.",
    )
    yield section(
        "TLS",
        _tls(report),
        "Servers by TLS version and by issuer of their certificates; servers.parquet has each.",
    )
    yield section(
        "robots.txt",
        _counts("what it says", report.robots),
        "absent: there is none; open: no rule for us; closed: not even the home page;"
        " unavailable: it could not be fetched, so nothing was requested.",
    )
    yield section("Servers without a page", _counts("why", report.unreachable))
    yield section(
        "The graph of hosts",
        graph_picture(facts),
        f"Up to {MOST_NODES} hosts with the most links: blue ones answer, red ones do not, grey"
        " ones were not contacted. hosts.graphml has all.",
    )


def _tiles(report: SurveyReport) -> Iterator[Markup]:
    per_host = f"{report.requests / report.hosts:.1f} per host found" if report.hosts else ""
    yield _tile("Requests", f"{report.requests:,}", per_host)
    unchanged = f"{plural(report.unchanged, 'page')} unchanged since the last survey"
    yield _tile("Bytes", format_size(report.wire_bytes), unchanged if report.unchanged else "")
    yield _tile(
        "The most for one server",
        f"{report.most_requests:,} requests",
        format_size(report.most_bytes),
    )
    if report.share_found is None:
        yield _tile("Found", "nothing", "no host was found to judge by what is left")
    else:
        found = f"about {report.share_found:.0%}"
        yield _tile("Found", found, "of what depth and caps leave to find")
    yield _tile("Time", format_duration(report.seconds), f"policy {report.policy}")


def _tile(what: str, figure: str, note: str) -> Markup:
    return element(
        "div",
        element("h2", what),
        element("p", figure, class_="figure"),
        element("p", note, class_="note"),
        class_="tile",
    )


def _depths(report: SurveyReport) -> Markup | None:
    walked = {level.depth: level for level in report.depths}
    ahead = {level.depth: level for level in report.ahead}
    depths = sorted(walked.keys() | ahead.keys())
    if not depths:
        return None
    rows = [
        _row(
            "td",
            str(depth),
            *_costs(walked.get(depth)),
            *(_costs(ahead.get(depth)) if ahead else ()),
        )
        for depth in depths
    ]
    asked = ("requests", "bytes", "new hosts", "per request")
    left = ("not asked", "bytes", "would bring", "per request") if ahead else ()
    return _table(_row("th", "depth", *asked, *left), rows)


def _costs(level: SurveyDepth | DepthAhead | None) -> tuple[str, str, str, str]:
    if level is None or not level.requests:
        return ("",) * 4
    costs = (f"{level.requests:,}", format_size(level.wire_bytes))
    if level.new_hosts is None:
        return (*costs, "unknown", "")
    return (*costs, f"{level.new_hosts:,.0f}", f"{level.new_hosts / level.requests:.3f}")


def _tls(report: SurveyReport) -> Markup | None:
    expiring = {"expires within 30 days": report.expiring} if report.expiring else {}
    issuers = dict(list(report.issuers.items())[:_ISSUERS_SHOWN])
    tables = (
        _counts("version", {TLS_WORDS.get(word, word): n for word, n in report.tls.items()}),
        _counts("certificate of", issuers),
        _counts("problem", {**report.tls_errors, **expiring}),
    )
    shown = [table for table in tables if table is not None]
    return element("div", *shown, class_="counts") if shown else None


def _counts(what: str, servers: Mapping[str, int]) -> Markup | None:
    """The most frequent first."""
    if not servers:
        return None
    ranked = sorted(servers.items(), key=lambda item: (-item[1], item[0]))
    rows = [_row("td", word, f"{count:,}") for word, count in ranked]
    return _table(_row("th", what, "servers"), rows)


def _table(head: Markup, rows: Iterable[Markup]) -> Markup:
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scroll")


def _row(kind: str, first: str, *others: str) -> Markup:
    cells = (element(kind, text, class_="number") for text in others)
    return element("tr", element(kind, first), *cells)
