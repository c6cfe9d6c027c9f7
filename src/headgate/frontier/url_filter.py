"""Which URLs become work: every URL that is met passes here, once.

The order of the tests is the order of their costs per link, cheapest and most decisive first:

    lately   0.05 µs   nine of ten links: they stood on one of the last pages, too
    host     0.08 µs   most of the others that fall, fall here
    session            looked for in the whole page at once, taken out where found
    seen     0.5 µs    what was met long ago
    scope              expressions, if there are any
    traps    0.3 µs

Robots rules are asked later, when a URL's turn has come: its robots.txt may not be known yet, and
most URLs of a large site never come to their turn.

A URL refused stays in URLseen, so that the link to /login on every page is judged once. What was
met lately is a part of URLseen, kept as text, where a test is ten times as cheap as by hash: 5 MB
at the most, then it starts anew.
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
"""Most sitemaps of one site run."""
_MOST_LATELY = 32_768
_LONGEST_LATELY = 200


class UrlFilter:
    """The gate of one site run. Fills URLseen; what it lets in goes to URLtodo or the bench."""

    def __init__(self, scope: Scope, trap_rules: TrapRules) -> None:
        self.scope = scope
        self.seen = UrlSeen()
        self.refused = Omissions()
        """A URL of another host counts once while it is remembered as met lately."""
        self.closed = False
        """All that links lead to was let in; only what was known before still is."""
        self._traps = Traps(trap_rules)
        self._lately: set[str] = set()
        self._sitemaps: set[str] = set()
        self._passed_over: set[str] = set()
        """URLs that were in no place to be followed, lest they be counted again and again. They may
        yet be met in another."""

    def links(self, urls: Sequence[str]) -> list[str]:
        """The URLs among these that are new and to be fetched, in their order."""
        return [] if self.closed else self.recalled(urls)

    def recalled(self, urls: Sequence[str]) -> list[str]:
        """The same for URLs that earlier runs knew."""
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
        """Note links that are not followed from where they stand, if they are new and would be
        candidates elsewhere."""
        passed = self._passed_over
        strange = [url for url in urls if url not in self._lately and url not in passed]
        fresh = [url for url in self.scope.candidates(strange) if url not in self.seen]
        if len(passed) > _MOST_LATELY:
            passed.clear()
        passed.update([url for url in fresh if len(url) < _LONGEST_LATELY])
        self.refused.note(reason, fresh)

    def sitemaps(self, urls: Sequence[str]) -> list[str]:
        """Those among these that are the site's own and not met before, as far as any more are
        read of one site."""
        own = [] if self.closed else self.scope.own([url for url in urls if is_web_url(url)])
        if len(own) < len(urls):
            self.refused.note(Reason.OTHER_HOST, _without(urls, own))
        fresh = [url for url in dict.fromkeys(own) if url not in self._sitemaps]
        room = MOST_SITEMAPS - len(self._sitemaps)
        self.refused.note(Reason.SITEMAPS, fresh[room:])
        self._sitemaps.update(fresh[:room])
        return fresh[:room]

    def seeds(self, urls: Sequence[str]) -> list[str]:
        """The same for seeds, which only have to be web addresses."""
        usable = [url for url in urls if is_web_url(url)]
        if len(usable) < len(urls):
            self.refused.note(Reason.OUT_OF_SCOPE, [url for url in urls if not is_web_url(url)])
        return self.seen.meet(usable)

    def asked(self, urls: Sequence[str], depth: int) -> list[str]:
        """The same for known pages, at the depth at which they were found."""
        if depth == 0:
            return [] if self.closed else self.seen.meet(self._following_seeds(urls))
        return self.recalled(urls)

    def redirect(self, target: str, depth: int) -> list[str]:
        """The same for where a page at this depth redirects to."""
        if depth == 0 and not self.closed and self.scope.follows_seed(target):
            self._lately.clear()  # links to a host that has just joined may be among them
            return self.seen.meet([without_session(target)])
        return self.links([target])

    def recall(self, urls: Sequence[str], depth: int) -> list[str]:
        """Let in again what was let in before a crash; the answer is what was not yet recalled."""
        if depth == 0:
            self._following_seeds(urls)
        self._traps.count(urls)
        return self.seen.meet(urls)

    def recall_settled(self, urls: Iterable[str]) -> None:
        """Remember URLs that came to their end before a crash, so that `recall` leaves them out."""
        self.seen.fill(url_hashes(urls))

    def _following_seeds(self, urls: Sequence[str]) -> list[str]:
        """Seeds and where they redirected to: their hosts are the site's."""
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
    """In their order, each of which stands there once."""
    taken = frozenset(others)
    return [url for url in urls if url not in taken]
