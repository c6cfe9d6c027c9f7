"""The URL filter: decides which URLs are crawled. Every URL found passes it.

The checks in order, the cheapest and most decisive first, with their costs per link:

    lately   0.05 µs   nine of ten links: they were on one of the last pages, too
    host     0.08 µs   most of the others that are refused
    session            searched for in all links of a page at once, and removed
    seen     0.5 µs    URLs found long ago
    scope              expressions, if there are any
    traps    0.3 µs

robots.txt is checked later, when the URL is due: it may not have been fetched yet, and most URLs of
a large site are never due.

A refused URL stays in URLseen, so that the link to /login on every page is checked once. The URLs
found lately are cached as text, where a lookup is ten times as cheap as by hash: at most 5 MB, then
the cache is cleared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from headgate.frontier.scope import Scope, is_web_url, origin_of
from headgate.frontier.seen_urls import UrlSeen, url_hashes
from headgate.frontier.traps import TrapRules, Traps
from headgate.model.run_report import MOST_EXAMPLES, LeftOut, Reason
from headgate.model.site import Requisites

__all__ = [
    "MOST_SITEMAPS",
    "Refusals",
    "SkippedUrls",
    "UrlFilter",
    "may_carry_session",
    "without_session",
]

MOST_SITEMAPS = 50
"""Most sitemaps read in a site run."""
_MOST_LATELY = 32_768
_LONGEST_LATELY = 200


class UrlFilter:
    """The filter of one site run. Fills URLseen; accepted URLs go to URLtodo or the bench."""

    def __init__(self, scope: Scope, trap_rules: TrapRules) -> None:
        self.scope = scope
        self.seen = UrlSeen()
        self.refused = SkippedUrls()
        """A URL of another host counts once while it is in the cache."""
        self._closed = False
        self._traps = Traps(trap_rules)
        self.shown = UrlSeen()
        """Accepted as page requisites."""
        self._lately: set[str] = set()
        self._sitemaps: set[str] = set()
        self._passed_over: set[str] = set()
        """Links that were not to be followed where they were found, so that they are counted once.
        They may be accepted if found elsewhere."""

    def close(self) -> None:
        """All links were followed; only URLs known before are still accepted."""
        self._closed = True

    def links(self, urls: Sequence[str]) -> list[str]:
        """The URLs that are new and to be fetched, in order."""
        return [] if self._closed else self.recalled(urls)

    def recalled(self, urls: Sequence[str]) -> list[str]:
        """The same for URLs known from earlier runs."""
        lately = self._lately
        strange = [url for url in urls if url not in lately]
        candidates = self.scope.candidates(strange) if strange else strange
        if len(candidates) < len(strange):
            self._note_elsewhere(strange)
        if not candidates:
            return candidates
        if may_carry_session(candidates):
            candidates = [without_session(url) for url in candidates]
        self._remember(candidates)
        if self.scope.requisites is not Requisites.NONE:
            # What is out of scope as a link may be needed by a page, so it is not yet seen.
            return self._harmless(self.seen.add(self._inside(candidates)))
        return self._harmless(self._inside(self.seen.add(candidates)))

    def needed(self, urls: Sequence[str]) -> list[str]:
        """The page requisites that are new and to be fetched, in order; they may have been refused
        as links."""
        needed = [] if self._closed else self.scope.needed(urls)
        if may_carry_session(needed):
            needed = [without_session(url) for url in needed]
        fresh = self.seen.add(needed)
        wanted = self.scope.not_excluded(fresh)
        self.refused.record(Reason.OUT_OF_SCOPE, _without(fresh, wanted))
        return self.shown.add(self._harmless(wanted))

    def pass_over(self, urls: Sequence[str], reason: Reason) -> None:
        """Count links that are not followed where they were found, if they are new and may be in
        scope."""
        passed = self._passed_over
        strange = [url for url in urls if url not in self._lately and url not in passed]
        fresh = [url for url in self.scope.candidates(strange) if url not in self.seen]
        if len(passed) > _MOST_LATELY:
            passed.clear()
        passed.update([url for url in fresh if len(url) < _LONGEST_LATELY])
        self.refused.record(reason, fresh)

    def sitemaps(self, urls: Sequence[str]) -> list[str]:
        """The sitemaps that are on hosts of the site and new, up to the limit of a site."""
        own = [] if self._closed else self.scope.own([url for url in urls if is_web_url(url)])
        if len(own) < len(urls):
            self.refused.record(Reason.OTHER_HOST, _without(urls, own))
        fresh = [url for url in dict.fromkeys(own) if url not in self._sitemaps]
        room = MOST_SITEMAPS - len(self._sitemaps)
        self.refused.record(Reason.SITEMAPS, fresh[room:])
        self._sitemaps.update(fresh[:room])
        return fresh[:room]

    def may_read_sitemaps(self, url: str) -> bool:
        """Whether those of its origin may be of the site: not where it only shows pictures."""
        return url not in self.shown or bool(self.scope.own([f"{origin_of(url)}/sitemap.xml"]))

    def seeds(self, urls: Sequence[str]) -> list[str]:
        """The new ones among seeds, which only have to be web URLs."""
        usable = [url for url in urls if is_web_url(url)]
        if len(usable) < len(urls):
            self.refused.record(Reason.OUT_OF_SCOPE, [url for url in urls if not is_web_url(url)])
        return self.seen.add(usable)

    def asked(self, urls: Sequence[str], depth: int) -> list[str]:
        """The new ones among known pages, found at this depth by an earlier run."""
        if depth == 0:
            return [] if self._closed else self.seen.add(self._following_seeds(urls))
        return self.recalled(urls)

    def redirect(self, target: str, depth: int, *, needed: bool = False) -> list[str]:
        """The target of a redirect of a page at this depth, if it is to be fetched; of one that is
        ``needed`` by a page, wherever a requisite may be."""
        if needed:
            return self.needed([target]) or self.shown.add(self.links([target]))
        if depth == 0 and not self._closed and self.scope.follows_seed(target):
            self._lately.clear()  # may contain links to a host that has just joined the site
            return self.seen.add([without_session(target)])
        return self.links([target])

    def recall(self, urls: Sequence[str], depth: int, *, needed: bool = False) -> list[str]:
        """Accept again what was accepted before a crash, as page requisites or not; return those
        not yet recalled."""
        if needed:
            self.shown.add(urls)
        elif depth == 0:
            self._following_seeds(urls)
        self._traps.count(urls)
        return self.seen.add(urls)

    def recall_settled(self, urls: Iterable[str]) -> None:
        """Mark URLs that ended before a crash as seen, so that `recall` leaves them out."""
        self.seen.fill(url_hashes(urls))

    def _following_seeds(self, urls: Sequence[str]) -> list[str]:
        """Of seeds and the pages they redirected to, those that belong to the site; their hosts may
        join it."""
        self._lately.clear()  # may contain links to a host that joins now
        return [url for url in urls if self.scope.follows_seed(url)]

    def _inside(self, candidates: list[str]) -> list[str]:
        if not candidates:
            return candidates
        inside = self.scope.inside(candidates)
        if len(inside) < len(candidates):
            self.refused.record(Reason.OUT_OF_SCOPE, _without(candidates, inside))
        return inside

    def _harmless(self, inside: list[str]) -> list[str]:
        if not inside:
            return inside
        harmless, traps = self._traps.sift(inside)
        if traps:
            for trap, url in zip(traps, _without(inside, harmless), strict=True):
                self.refused.record(trap, [url])
        return harmless

    def _note_elsewhere(self, strange: Sequence[str]) -> None:
        elsewhere = self.scope.elsewhere(strange)
        self.refused.record(Reason.OTHER_HOST, elsewhere)
        self._remember(elsewhere)

    def _remember(self, urls: Sequence[str]) -> None:
        lately = self._lately
        if len(lately) > _MOST_LATELY:
            lately.clear()
        lately.update([url for url in urls if len(url) < _LONGEST_LATELY])


def _without(urls: Sequence[str], others: Sequence[str]) -> list[str]:
    """The URLs that are not among the others, in order."""
    taken = frozenset(others)
    return [url for url in urls if url not in taken]


# Removes session ids from URLs.
#
# A server with session ids in URLs serves the same page under a new URL on every visit. Refusing
# such URLs would lose the whole site, since all its links have the id; without the id, the server
# at worst starts a new session. So it is removed before the lookup in URLseen.
#
# Known: ``;jsessionid=...`` and ``;sid=...`` after the path, ASP.NET's ``/(S(...))/``, and query
# parameters named like PHPSESSID. Names that also mean other things (``sid``, ``session``) count
# only with a value of 16 or more letters and digits, both of them: ``sid=12`` is a section,
# ``sid=4f8a60c1b2d97e35`` a session.


_HINTS = ("sid=", "session", "sess=", "sess_id=", "cfid=", "cftoken=", "zenid=", "/(s(")
"""Every URL with a known session id contains one of these, in lower case."""

_SURE = "phpsessid|jsessionid|aspsessionid[a-z]*|cfid|cftoken|zenid|oscsid|sess(?:ion)?_?id"
_UNSURE = "sid|session|sess"
_RANDOM = r"(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z]{16,}"
_PARAMETER = rf"(?<=[?&])(?:(?:{_SURE})=[^&#]*|(?:{_UNSURE})={_RANDOM}(?![^&#]))(?:&|(?=#|$))"
_PATH_PARAMETER = rf";(?:(?:{_SURE})=[^;/?#]*|(?:{_UNSURE})={_RANDOM}(?![^;/?#]))"
_ASP_SEGMENT = r"/\(S\([0-9a-z]{16,}\)\)(?=/)"


def may_carry_session(urls: Iterable[str]) -> bool:
    """A quick test for all URLs of a page: whether any may have a session id.

    >>> may_carry_session(["http://a/?page=2"]), may_carry_session(["http://a/?PHPSESSID=7"])
    (False, True)
    """
    text = "\n".join(urls)
    if "?" not in text and ";" not in text and "(" not in text:
        return False
    text = text.lower()
    return any(hint in text for hint in _HINTS)


def without_session(url: str) -> str:
    """The URL without its session id.

    >>> without_session("http://a/x?p=1&PHPSESSID=0f&q=2"), without_session("http://a/x?sid=7")
    ('http://a/x?p=1&q=2', 'http://a/x?sid=7')
    >>> without_session("http://a/x.jsp;jsessionid=0A1?p=1"), without_session("http://a/?cfid=9")
    ('http://a/x.jsp?p=1', 'http://a/')
    """
    if ";" in url:
        url = _compiled(_PATH_PARAMETER).sub("", url)
    if "(" in url:
        url = _compiled(_ASP_SEGMENT).sub("", url)
    path, mark, query = url.partition("?")
    if not mark:
        return url
    stripped = _compiled(_PARAMETER).sub("", mark + query)
    if stripped == mark + query:
        return url
    return path + stripped.rstrip("?&")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: few sites have session ids in URLs."""
    return re.compile(pattern, re.IGNORECASE)


_LONGEST_EXAMPLE = 200

Refusals = Sequence[tuple[str, int, str]]
"""Reason, number of URLs, and one of them."""


class SkippedUrls:
    """URLs that a frontier left out, by reason: how many, and the first few of each.

    Memory is bounded by the number of reasons. What is new can be taken out for the journal, since
    a resumed run does not meet refused URLs again.

    Counts of one part of the frontier.
    """

    __slots__ = ("_examples", "_fresh", "counts")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._fresh: dict[str, tuple[int, str]] = {}

    def record(self, reason: str, urls: Sequence[str]) -> None:
        if urls:
            self._count(reason, len(urls), urls[:MOST_EXAMPLES])
            before, example = self._fresh.get(reason, (0, urls[0][:_LONGEST_EXAMPLE]))
            self._fresh[reason] = before + len(urls), example

    def fresh(self) -> Refusals:
        """What was noted since the last call."""
        if not self._fresh:
            return ()
        fresh = [(reason, count, example) for reason, (count, example) in self._fresh.items()]
        self._fresh.clear()
        return fresh

    def recall(self, refusals: Refusals) -> None:
        """Count refusals from the journal."""
        for reason, count, example in refusals:
            self._count(reason, count, [example])

    def report(self) -> dict[str, LeftOut]:
        return {
            reason: LeftOut(count, tuple(self._examples[reason]))
            for reason, count in self.counts.items()
        }

    def _count(self, reason: str, count: int, urls: Sequence[str]) -> None:
        self.counts[reason] += count
        examples = self._examples.setdefault(reason, [])
        for url in urls:
            if len(examples) < MOST_EXAMPLES:
                examples.append(url[:_LONGEST_EXAMPLE])
