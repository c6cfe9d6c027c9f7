"""How many new hosts a page will bring, learned while the survey runs.

A multiplicative Gamma-Poisson model:

    value(page) = b(depth) * f(server) * f(section) * f(word)

Each factor is what was found over what the others foresaw, drawn to 1 by a prior worth ``a`` hosts:

    f = (a + x) / (a + B)      x new hosts found in the group, B hosts foreseen without f

Old finds fade (half of a section's weight after 45 pages), because hosts run out. Found hosts count
only up to a clip: one long list of links says little of the pages beside it. Because B is made with
all other factors, a server that was asked for its best sections first is not taken for a rich one.

The value orders pages well but is too low for what is left at the end, as a list of links may stand
anywhere. How many hosts are to be expected is therefore told by a second form,
b'(depth) * (c + (1 - c) * f(server) * f(section) * f(word)), with c = 0.2.

Costs: two floats per server, per section and per word; words are bounded, sections by the pages
that a server may be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from xxhash import xxh3_64_intdigest

from headgate.survey.page_kinds import words_of

__all__ = ["BreadthFirst", "Kind", "PageValues", "YieldModel"]

_MOST_WORDS = 50_000
_RICH = 1.5
"""A word's factor from which it sets a page apart."""
_LIST_WORDS = (
    "links", "link", "weblinks", "partners", "partner", "members", "directory", "resources",
    "sponsors", "friends", "blogroll", "related", "liens", "partenaires", "enlaces", "parceiros",
    "ligacoes", "viungo", "washirika", "روابط",
)  # fmt: skip
"""How lists of links are called: taken for rich until found otherwise."""
_LIST_FACTOR = 2.0
_LEAST_FACTOR = 0.05
_ANYWHERE = 0.2
"""The part of the hosts that server, section and words say nothing about."""
_PRIOR_HOSTS_PER_PAGE = 1.0
_DEPTHS = 64
_EARLIER_WORDS = ("last:0", "last:1", "last:2", "last:4", "last:8")
"""Stand for what a page brought in an earlier survey: so many new hosts at the least."""


class Kind(NamedTuple):
    """Pages that nothing tells apart before they are fetched."""

    server: int
    section: str
    depth: int
    word: str
    """The most promising of what links say of them; empty: none stands out."""


class PageValues(Protocol):
    """What a survey orders pages by."""

    def value(self, kind: Kind) -> float: ...

    def within_server(self, kind: Kind) -> float: ...

    def signs(self, url: str, anchor: str) -> tuple[str, tuple[str, ...]]: ...

    def learn(self, kind: Kind, words: Iterable[str], new_hosts: int) -> None: ...


class BreadthFirst:
    """The paper's order: by depth alone, on every server."""

    def value(self, kind: Kind) -> float:
        return self.within_server(kind)

    def within_server(self, kind: Kind) -> float:
        return 1.0 / (1 + kind.depth)

    def signs(self, url: str, anchor: str) -> tuple[str, tuple[str, ...]]:  # noqa: ARG002
        return "", ()

    def learn(self, kind: Kind, words: Iterable[str], new_hosts: int) -> None:
        """Nothing changes it."""


class _Group:
    """Hosts found in, and foreseen for, pages that have one thing in common."""

    __slots__ = ("foreseen", "found")

    def __init__(self) -> None:
        self.found = 0.0
        self.foreseen = 0.0

    def factor(self, prior: float) -> float:
        return (prior + self.found) / (prior + self.foreseen)

    @property
    def ratio(self) -> float:
        return self.found / self.foreseen

    def learn(self, found: float, foreseen: float, keep: float) -> None:
        self.found = self.found * keep + found
        self.foreseen = self.foreseen * keep + foreseen


class YieldModel:
    """All servers of one survey. The constants were set on webs that no test or figure uses."""

    server_prior = 15.0
    section_prior = 2.5
    word_prior = 20.0
    keep_depth = 0.99995
    keep_server = 0.99
    keep_section = 0.985
    keep_word = 0.999
    clip = 8
    section_clip = 3

    def __init__(self) -> None:
        self._depths = [_Group() for _ in range(_DEPTHS)]
        self._expected = [_Group() for _ in range(_DEPTHS)]
        for group in (*self._depths, *self._expected):
            group.learn(_PRIOR_HOSTS_PER_PAGE, 1.0, 1.0)
        self._earlier: dict[int, str] = {}
        self._servers: dict[int, _Group] = {}
        self._sections: dict[tuple[int, str], _Group] = {}
        self._words: dict[str, _Group] = {"": _Group()}
        for word in _LIST_WORDS:
            group = self._words[word] = _Group()
            group.learn((_LIST_FACTOR - 1) * self.word_prior, 0.0, 1.0)

    def value(self, kind: Kind) -> float:
        """What pages are ordered by."""
        return self.within_server(kind) * self._server_factor(kind.server)

    def expected(self, kind: Kind) -> float:
        """New hosts to be expected of one page."""
        known = self._within(kind) * self._server_factor(kind.server)
        return self._expected[kind.depth].ratio * (_ANYWHERE + (1 - _ANYWHERE) * known)

    def within_server(self, kind: Kind) -> float:
        """Without the server's own factor: what orders the pages of one server."""
        return self._base(kind.depth) * self._within(kind)

    def depth_profile(self) -> list[float]:
        """b'(depth), for those who foresee pages that were not met yet."""
        return [group.ratio for group in self._expected]

    def signs(self, url: str, anchor: str) -> tuple[str, tuple[str, ...]]:
        """What a link says of its target: the word that promises most, or none; and all words."""
        words = tuple(words_of(url, anchor))
        if self._earlier:
            earlier = self._earlier.get(xxh3_64_intdigest(url.encode()))
            if earlier is not None:
                return earlier, (earlier, *words)
        best, most = "", _RICH
        for word in words:
            group = self._words.get(word)
            if group is not None and (factor := group.factor(self.word_prior)) > most:
                best, most = word, factor
        return best, words

    def learn(self, kind: Kind, words: Iterable[str], new_hosts: int) -> None:
        """A page of this kind was fetched and brought so many hosts that nobody knew."""
        found = min(new_hosts, self.clip)
        base = self._base(kind.depth)
        server = self._servers.setdefault(kind.server, _Group())
        section = self._sections.setdefault((kind.server, kind.section), _Group())
        by_server = server.factor(self.server_prior)
        by_section = section.factor(self.section_prior)
        by_word = self._words[kind.word].factor(self.word_prior)
        whole = by_server * by_section * by_word
        self._depths[kind.depth].learn(found, max(whole, _LEAST_FACTOR), self.keep_depth)
        self._expected[kind.depth].learn(
            found, _ANYWHERE + (1 - _ANYWHERE) * whole, self.keep_depth
        )
        if not kind.word:  # a list of links says nothing of the pages around it
            server.learn(found, base * by_word, self.keep_server)
            section.learn(
                min(found, self.section_clip), base * by_word * by_server, self.keep_section
            )
            self._words[""].learn(found, base * by_server * by_section, self.keep_word)
        self._learn_words(words, found, base * by_server * by_section)

    def remember(self, url: str, new_hosts: int) -> None:
        """What a page brought in the survey before: the best that can be known of it."""
        word = _EARLIER_WORDS[min(new_hosts.bit_length(), len(_EARLIER_WORDS) - 1)]
        self._earlier[xxh3_64_intdigest(url.encode())] = word
        group = self._words.get(word)
        if group is None:
            group = self._words[word] = _Group()
        group.learn(min(new_hosts, self.clip), _PRIOR_HOSTS_PER_PAGE, self.keep_word)

    def _learn_words(self, words: Iterable[str], found: float, foreseen: float) -> None:
        for word in words:
            group = self._words.get(word)
            if group is None:
                if len(self._words) >= _MOST_WORDS:
                    continue
                group = self._words[word] = _Group()
            group.learn(found, foreseen, self.keep_word)

    def _within(self, kind: Kind) -> float:
        factor = self._words[kind.word].factor(self.word_prior)
        section = self._sections.get((kind.server, kind.section))
        return factor if section is None else factor * section.factor(self.section_prior)

    def _server_factor(self, server: int) -> float:
        group = self._servers.get(server)
        return 1.0 if group is None else group.factor(self.server_prior)

    def _base(self, depth: int) -> float:
        return self._depths[depth].ratio
