"""A survey's result, and what changed since another, in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headgate.features.survey.difference import SurveyDifference
from headgate.features.survey.report import DepthAhead, SurveyReport
from headgate.model.units import format_duration, format_size
from headgate.report.nodes import grid_words
from headgate.report.phrases import plural
from headgate.report.words import error_meaning

__all__ = ["TLS_WORDS", "difference_text", "nothing_surveyed", "survey_line", "survey_text"]


# A survey's result in words, for a terminal.


TLS_WORDS = {"none": "http only"}
"""Where a report's own word says too little."""


def survey_line(
    seconds: float, asked: int, servers: int, hosts: int, requests: int, size: float, waiting: int
) -> str:
    """How a survey goes.

    >>> survey_line(5.1, 1, 1, 0, 5, 21_800, 1)
    '5.1s: 1 of 1 server asked, 0 hosts found, 5 requests, 21.8 KB, 1 page waits'
    """
    return (
        f"{format_duration(seconds)}: {asked:,} of {plural(servers, 'server')} asked,"
        f" {plural(hosts, 'host')} found, {plural(requests, 'request')}, {format_size(size)},"
        f" {plural(waiting, 'page')} {'waits' if waiting == 1 else 'wait'}"
    )


def survey_text(report: SurveyReport, folder: str) -> str:
    """The result in a few lines; ``folder`` is where the rest of it is."""
    return "\n".join(_lines(report, folder))


def nothing_surveyed(report: SurveyReport) -> str:
    """Why no server gave a page, the most frequent reason first."""
    reasons = sorted(report.unreachable.items(), key=lambda item: (-item[1], item[0]))
    meanings = {reason: error_meaning(reason.removeprefix("status ")) for reason, _ in reasons}
    why = [
        f"{count:,} × {reason}" + (f" ({meanings[reason]})" if meanings[reason] else "")
        for reason, count in reasons
    ]
    return f"Nothing was fetched from {plural(report.servers, 'server')}: {', '.join(why)}"


def _lines(report: SurveyReport, folder: str) -> Iterator[str]:
    size = format_size(report.wire_bytes)
    if report.nothing_fetched:
        yield nothing_surveyed(report)
    yield (
        f"{report.reachable:,} of {plural(report.servers, 'server')} answered;"
        f" links to {plural(report.hosts, 'other host')} ({plural(report.links, 'pair')})"
    )
    yield (
        f"{plural(report.requests, 'request')}, {plural(report.pages, 'page')}"
        f" ({report.unchanged:,} unchanged), {size} in {format_duration(report.seconds)};"
        f" at most {plural(report.most_requests, 'request')} to one server"
    )
    yield f"ended: {report.ending}; {_share(report)}"
    if not report.nothing_fetched:
        for reason, count in sorted(report.unreachable.items(), key=lambda item: -item[1]):
            yield f"  {count:,} without a page: {reason}"
    yield from _manners(report)
    yield from _depths(report)
    yield from grid_words(report.grid)
    yield f"tables and graph: {folder}"
    yield f"report: {folder}/report.html"


def _manners(report: SurveyReport) -> Iterator[str]:
    """What servers show of TLS, and what their robots.txt says."""
    if report.tls:
        words = [f"TLS: {_counted(report.tls)}"]
        if report.expiring:
            words.append(f"{plural(report.expiring, 'certificate')} will expire within 30 days")
        if report.tls_errors:
            errors = report.tls_errors.items()
            words.append(f"errors: {', '.join(f'{count:,} × {why}' for why, count in errors)}")
        yield "; ".join(words)
        yield f"robots.txt: {_counted(report.robots)}"


def _counted(words: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {TLS_WORDS.get(word, word)}" for word, count in words.items())


def _share(report: SurveyReport) -> str:
    if report.share_found is None:
        return "no other host was found, so nothing tells how many there are"
    return f"about {report.share_found:.0%} of the hosts that depth and caps leave to find"


def _depths(report: SurveyReport) -> Iterator[str]:
    """What each depth cost and brought; and what is left of it would."""
    walked = {level.depth: level for level in report.depths}
    ahead = {level.depth: level for level in report.ahead}
    left = "  not asked  would bring" if ahead else ""
    yield f"depth  requests  new hosts{left}"
    for depth in sorted(walked.keys() | ahead.keys()):
        was, more = walked.get(depth), ahead.get(depth)
        line = f"{depth:5}  " + (
            f"{was.requests:8,}  {was.new_hosts:9,}" if was else f"{'':8}  {'':9}"
        )
        yield line + (f"  {more.requests:9,}  {_foreseen(more):>11}" if more else "")


def _foreseen(level: DepthAhead) -> str:
    return "unknown" if level.new_hosts is None else f"{level.new_hosts:,.0f}"


_SHOWN = 20


def difference_text(found: SurveyDifference) -> str:
    """What has changed between two surveys, in lines for a terminal."""
    return "\n".join(_difference_lines(found))


def _difference_lines(found: SurveyDifference) -> Iterator[str]:
    yield from _part("servers gone", found.servers_gone)
    yield from _part("servers new", found.servers_new)
    moves = [f"{move.server}: {move.before} -> {move.after}" for move in found.servers_moved]
    yield from _part("servers moved", moves)
    yield from _part("servers not asked this time", found.servers_not_asked)
    yield from _part("links gone", [f"{link.server} -> {link.host}" for link in found.links_gone])
    yield from _part("links new", [f"{link.server} -> {link.host}" for link in found.links_new])
    yield f"links on pages that only one survey requested: {found.links_unsure:,}"


def _part(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"{title}: {len(names):,}"
    yield from (f"  {name}" for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        yield f"  ... and {len(names) - _SHOWN:,} more (--json has all)"
