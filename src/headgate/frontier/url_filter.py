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

from collections.abc import Iterable, Sequence

from headgate.frontier.omissions import Omissions
from headgate.frontier.scope import Scope, is_web_url
from headgate.frontier.seen import UrlSeen, url_hashes
from headgate.frontier.sessions import may_carry_session, without_session
from headgate.frontier.traps import TrapRules, Traps
from headgate.model.left_out import Reason

__all__ = ["MOST_SITEMAPS", "UrlFilter"]

MOST_SITEMAPS = 50
"""Most sitemaps read in a site run."""
_MOST_LATELY = 32_768
_LONGEST_LATELY = 200


class UrlFilter:
    """The filter of one site run. Fills URLseen; accepted URLs go to URLtodo or the bench."""

    def __init__(self, scope: Scope, trap_rules: TrapRules) -> None:
        self.scope = scope
        self.seen = UrlSeen()
        self.refused = Omissions()
        """A URL of another host counts once while it is in the cache."""
        self.closed = False
        """All links were followed; only URLs known before are still accepted."""
        self._traps = Traps(trap_rules)
        self._lately: set[str] = set()
        self._sitemaps: set[str] = set()
        self._passed_over: set[str] = set()
        """Links that were not to be followed where they were found, so that they are counted once.
        They may be accepted if found elsewhere."""

    def links(self, urls: Sequence[str]) -> list[str]:
        """The URLs that are new and to be fetched, in order."""
        return [] if self.closed else self.recalled(urls)

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
        fresh = self.seen.meet(candidates)
        self._remember(candidates)
        return self._judged(fresh) if fresh else fresh

    def pass_over(self, urls: Sequence[str], reason: Reason) -> None:
        """Count links that are not followed where they were found, if they are new and may be in
        scope."""
        passed = self._passed_over
        strange = [url for url in urls if url not in self._lately and url not in passed]
        fresh = [url for url in self.scope.candidates(strange) if url not in self.seen]
        if len(passed) > _MOST_LATELY:
            passed.clear()
        passed.update([url for url in fresh if len(url) < _LONGEST_LATELY])
        self.refused.note(reason, fresh)

    def sitemaps(self, urls: Sequence[str]) -> list[str]:
        """The sitemaps that are on hosts of the site and new, up to the limit of a site."""
        own = [] if self.closed else self.scope.own([url for url in urls if is_web_url(url)])
        if len(own) < len(urls):
            self.refused.note(Reason.OTHER_HOST, _without(urls, own))
        fresh = [url for url in dict.fromkeys(own) if url not in self._sitemaps]
        room = MOST_SITEMAPS - len(self._sitemaps)
        self.refused.note(Reason.SITEMAPS, fresh[room:])
        self._sitemaps.update(fresh[:room])
        return fresh[:room]

    def seeds(self, urls: Sequence[str]) -> list[str]:
        """The new ones among seeds, which only have to be web URLs."""
        usable = [url for url in urls if is_web_url(url)]
        if len(usable) < len(urls):
            self.refused.note(Reason.OUT_OF_SCOPE, [url for url in urls if not is_web_url(url)])
        return self.seen.meet(usable)

    def asked(self, urls: Sequence[str], depth: int) -> list[str]:
        """The new ones among known pages, found at this depth by an earlier run."""
        if depth == 0:
            return [] if self.closed else self.seen.meet(self._following_seeds(urls))
        return self.recalled(urls)

    def redirect(self, target: str, depth: int) -> list[str]:
        """The target of a redirect of a page at this depth, if it is to be fetched."""
        if depth == 0 and not self.closed and self.scope.follows_seed(target):
            self._lately.clear()  # may contain links to a host that has just joined the site
            return self.seen.meet([without_session(target)])
        return self.links([target])

    def recall(self, urls: Sequence[str], depth: int) -> list[str]:
        """Accept again what was accepted before a crash; return those not yet recalled."""
        if depth == 0:
            self._following_seeds(urls)
        self._traps.count(urls)
        return self.seen.meet(urls)

    def recall_settled(self, urls: Iterable[str]) -> None:
        """Mark URLs that ended before a crash as seen, so that `recall` leaves them out."""
        self.seen.fill(url_hashes(urls))

    def _following_seeds(self, urls: Sequence[str]) -> list[str]:
        """Of seeds and the pages they redirected to, those that belong to the site; their hosts may
        join it."""
        return [url for url in urls if self.scope.follows_seed(url)]

    def _judged(self, fresh: list[str]) -> list[str]:
        inside = self.scope.inside(fresh)
        if len(inside) < len(fresh):
            self.refused.note(Reason.OUT_OF_SCOPE, _without(fresh, inside))
        harmless, traps = self._traps.sift(inside)
        if traps:
            for trap, url in zip(traps, _without(inside, harmless), strict=True):
                self.refused.note(trap, [url])
        return harmless

    def _note_elsewhere(self, strange: Sequence[str]) -> None:
        elsewhere = self.scope.elsewhere(strange)
        self.refused.note(Reason.OTHER_HOST, elsewhere)
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
