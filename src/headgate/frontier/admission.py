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

from collections import Counter
from collections.abc import Iterable, Sequence

from headgate.frontier.scope import Scope, is_web_url
from headgate.frontier.seen import UrlSeen, url_hashes
from headgate.frontier.sessions import may_carry_session, without_session
from headgate.frontier.traps import TrapRules, Traps

__all__ = ["OUT_OF_SCOPE", "Admission"]

OUT_OF_SCOPE = "out of scope"

_MOST_LATELY = 32_768
_LONGEST_LATELY = 200


class Admission:
    """The gate of one site run. Fills URLseen; what it lets in goes to URLtodo or the bench."""

    def __init__(self, scope: Scope, trap_rules: TrapRules) -> None:
        self.scope = scope
        self.seen = UrlSeen()
        self.refused: Counter[str] = Counter()
        """URLs refused, by reason. Links that fall by their host alone are not counted."""
        self._traps = Traps(trap_rules)
        self._lately: set[str] = set()

    def links(self, urls: Sequence[str]) -> list[str]:
        """The URLs among these that are new and to be fetched, in their order."""
        lately = self._lately
        strange = [url for url in urls if url not in lately]
        candidates = self.scope.candidates(strange) if strange else strange
        if not candidates:
            return candidates
        if may_carry_session(candidates):
            candidates = [without_session(url) for url in candidates]
        fresh = self.seen.meet(candidates)
        if len(lately) > _MOST_LATELY:
            lately.clear()
        lately.update([url for url in candidates if len(url) < _LONGEST_LATELY])
        return self._judged(fresh) if fresh else fresh

    def seeds(self, urls: Sequence[str]) -> list[str]:
        """The same for seeds, which only have to be web addresses."""
        usable = [url for url in urls if is_web_url(url)]
        if len(usable) < len(urls):
            self.refused[OUT_OF_SCOPE] += len(urls) - len(usable)
        return self.seen.meet(usable)

    def redirect(self, target: str, depth: int) -> list[str]:
        """The same for where a page at this depth redirects to."""
        if depth == 0 and self.scope.follows_seed(target):
            return self.seen.meet([without_session(target)])
        return self.links([target])

    def recall(self, urls: Sequence[str], depth: int) -> list[str]:
        """Let in again what was let in before a crash; the answer is what was not yet recalled."""
        if depth == 0:
            for url in urls:
                self.scope.follows_seed(url)
        self._traps.count(urls)
        return self.seen.meet(urls)

    def recall_settled(self, urls: Iterable[str]) -> None:
        """Remember URLs that came to their end before a crash, so that `recall` leaves them out."""
        self.seen.fill(url_hashes(urls))

    def _judged(self, fresh: list[str]) -> list[str]:
        inside = self.scope.inside(fresh)
        if len(inside) < len(fresh):
            self.refused[OUT_OF_SCOPE] += len(fresh) - len(inside)
        harmless, traps = self._traps.sift(inside)
        if traps:
            self.refused.update(traps)
        return harmless
