"""What a run left out, and why: a line for the terminal, a table for the page.

A site with a single page gets its own sentence: "done, 1 page" is not enough if robots.txt or the
user's limits kept the rest away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from headgate.model.fetch import FailureKind
from headgate.model.run_report import (
    AT_DEADLINE,
    MAX_BYTES,
    MAX_PAGES,
    MAX_TIME,
    OUTGROWN,
    LeftOut,
    Reason,
    RunReport,
    SiteReport,
    merged,
)
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.phrases import plural

__all__ = ["left_out_rows", "left_out_words", "too_little"]

_MEANINGS = {
    Reason.OTHER_HOST: "on other hosts",
    Reason.OUT_OF_SCOPE: "not within include and exclude",
    Reason.BEYOND_DEPTH: "beyond depth",
    Reason.NOFOLLOW: "marked nofollow",
    Reason.ROBOTS: "forbidden by robots.txt",
    Reason.HOST_GIVEN_UP: "on hosts given up",
    Reason.COPY: "copies of one page, whose links were no longer followed",
    Reason.HOPS: "behind too many redirects",
    Reason.SITEMAPS: "more sitemaps than are read of a site",
    Reason.UNREADABLE: "stored, but reading them for links broke off",
    FailureKind.UNWANTED_TYPE: "of types not in fetch",
    FailureKind.TOO_LARGE: "larger than max_page_size",
    FailureKind.NOT_STORED: "fetched for their links, and not in store",
    FailureKind.FORBIDDEN_ADDRESS: "at private addresses",
    MAX_PAGES: "left at max_pages",
    MAX_BYTES: "left at max_bytes",
    MAX_TIME: "left at max_time",
    OUTGROWN: "left of sites far larger than expected",
    AT_DEADLINE: "left at the deadline",
}
_USUAL = (Reason.OTHER_HOST, Reason.NOFOLLOW)
"""Reasons that every site has: they come last."""
_MOST_SITES = 3
_LONGEST_NAME = 40
_LONGEST_URL = 120


def left_out_words(report: RunReport) -> list[str]:
    """How many for which reason, the least usual reasons first."""
    return [f"{found.count:,} {meaning}" for _, meaning, found in _by_reason(report)]


def too_little(site: SiteReport) -> str:
    """Why a finished site has one page; empty: it has more, or another text says why."""
    if site.state != "done" or site.pages != 1 or site.errors or site.given_up:
        return ""
    if Reason.UNREADABLE in site.left_out:
        return "reading it for links broke off"
    if not site.left_out:
        return "there are no links on it"
    total = sum(found.count for found in site.left_out.values())
    reason = max(site.left_out, key=lambda reason: site.left_out[reason].count)
    most = site.left_out[reason]
    links = plural(total, "link")
    if most.count < total:
        rest = ", ".join(f"{f.count:,} {_meaning(r)}" for r, f in _ordered(site.left_out))
        return f"of {links} {rest}"
    whole = f"its {links}" if total == 1 else f"all {links}"
    if reason == Reason.ROBOTS:
        return f"robots.txt forbids {whole}"
    verb = "is" if total == 1 else "are"
    remedy = _remedy(reason, most)
    return f"{whole} {verb} {_meaning(reason)}" + (f": {remedy}" if remedy else "")


def left_out_rows(report: RunReport) -> list[Markup]:
    """A row for each reason: what it means, how many, on which sites, some of them."""
    return [
        element(
            "tr",
            element("td", reason),
            element("td", meaning, class_="label"),
            element("td", f"{found.count:,}"),
            element("td", _sites(report, reason), class_="words"),
            element("td", joined(_examples(found)), class_="words"),
        )
        for reason, meaning, found in _by_reason(report)
    ]


def _by_reason(report: RunReport) -> Iterator[tuple[str, str, LeftOut]]:
    whole = merged(*(site.left_out for site in report.sites))
    for reason, found in _ordered(whole):
        yield reason, _meaning(reason), found


def _ordered(found: dict[str, LeftOut]) -> list[tuple[str, LeftOut]]:
    return sorted(found.items(), key=lambda pair: (pair[0] in _USUAL, -pair[1].count, pair[0]))


def _meaning(reason: str) -> str:
    """Traps and reasons of later versions are shown as they are."""
    return _MEANINGS.get(reason, reason)


def _remedy(reason: str, found: LeftOut) -> str:
    if reason != Reason.OTHER_HOST or not found.examples:
        return ""
    hosts = Counter(urlsplit(url).netloc for url in found.examples)
    ((host, _),) = hosts.most_common(1)
    return f'include = ["://{host}/"] would let in those of {host}'


def _sites(report: RunReport, reason: str) -> str:
    counts = [(s.left_out[reason].count, s.name) for s in report.sites if reason in s.left_out]
    names = [name for _, name in sorted(counts, key=lambda pair: (-pair[0], pair[1]))]
    more = f" and {len(names) - _MOST_SITES:,} more" if len(names) > _MOST_SITES else ""
    return ", ".join(shortened(name, _LONGEST_NAME) for name in names[:_MOST_SITES]) + more


def _examples(found: LeftOut) -> Iterator[Markup]:
    for url in found.examples:
        yield element("div", shortened(url, _LONGEST_URL), title=url)
