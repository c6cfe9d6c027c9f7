"""Predicts how many new hosts a page will bring; learns during the survey.

A multiplicative Gamma-Poisson model:

    value(page) = b(depth) * f(server) * f(section) * f(word)

Each factor is what was found over what the others predicted, drawn to 1 by a prior worth ``a``
hosts:

    f = (a + x) / (a + B)      x new hosts found in the group, B hosts predicted without f

Old finds fade (half of a section's weight after 45 pages), because hosts run out. Found hosts count
only up to a clip: one long list of links says little of the pages beside it. Because B is made with
all other factors, a server that was asked for its best sections first is not taken for a rich one.

b of a depth is drawn to that of the depth above, times ``depth_fall``, by ``depth_prior`` pages.

The value orders pages well but is too low for what is left at the end, as a list of links may stand
anywhere. The expected number of hosts therefore has a second form, b'(depth) * (c + (1 - c) *
f(server) * f(section) * f(word)), with c = 0.2.

Costs: two floats per server, per section and per word; words are bounded, sections by the pages
that a server may be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from xxhash import xxh3_64_intdigest

__all__ = ["BreadthFirst", "PageKind", "PageValues", "YieldModel", "section_of"]

_MOST_WORDS = 50_000
_RICH = 1.5
"""Least factor of a word that counts."""
_LIST_WORDS = (
    "links", "link", "weblinks", "partners", "partner", "members", "directory", "resources",
    "sponsors", "friends", "blogroll", "related", "liens", "partenaires", "enlaces", "parceiros",
    "ligacoes", "viungo", "washirika", "روابط",
)  # fmt: skip
"""Words for lists of links: assumed to be rich until found otherwise."""
_LIST_FACTOR = 2.0
_LEAST_FACTOR = 0.05
_ANYWHERE = 0.2
"""The part of the hosts that does not depend on server, section and words."""
_PRIOR_HOSTS_PER_PAGE = 1.0
_FILE_FACTOR = 0.05
"""Factor of files that are not HTML, until found otherwise."""
_EARLIER_WORDS = ("last:0", "last:1", "last:2", "last:4", "last:8")
"""Pseudo-words for what a page brought in an earlier survey: at least so many new hosts."""


class PageKind(NamedTuple):
    """Pages that are indistinguishable before they are fetched."""

    server: int
    section: str
    depth: int
    word: str
    """The most promising word of their links; empty: none stands out."""


class PageValues(Protocol):
    """The order of pages in a survey."""

    def value(self, kind: PageKind) -> float: ...

    def within_server(self, kind: PageKind) -> float: ...

    def signs(self, url: str, anchor: str) -> tuple[str, tuple[str, ...]]: ...


class BreadthFirst:
    """The paper's order: by depth alone, on every server."""

    def value(self, kind: PageKind) -> float:
        return self.within_server(kind)

    def within_server(self, kind: PageKind) -> float:
        return 1.0 / (1 + kind.depth)

    def signs(self, url: str, anchor: str) -> tuple[str, tuple[str, ...]]:  # noqa: ARG002
        return "", ()


class _Group:
    """Hosts found on, and predicted for, pages with one thing in common."""

    __slots__ = ("foreseen", "found")

    def __init__(self) -> None:
        self.found = 0.0
        self.foreseen = 0.0

    def factor(self, prior: float) -> float:
        return (prior + self.found) / (prior + self.foreseen)

    def learn(self, found: float, foreseen: float, keep: float) -> None:
        self.found = self.found * keep + found
        self.foreseen = self.foreseen * keep + foreseen


class _DepthProfile:
    """New hosts per page, by depth. A depth is assumed to be like the one above it, only poorer,
    until its own pages show otherwise: else unseen depths would look better than known ones, and
    the survey would go deep first.

    >>> profile = _DepthProfile(prior=10.0, fall=0.5)
    >>> profile.learn(0, 20.0, 10.0, 1.0)
    >>> profile.at(0), profile.at(1), profile.at(2)
    (1.5, 0.75, 0.375)
    """

    __slots__ = ("_fall", "_groups", "_prior", "_values")

    def __init__(self, prior: float, fall: float) -> None:
        self._prior = prior
        """In pages."""
        self._fall = fall
        self._groups: list[_Group] = []
        self._values: list[float] = []

    def at(self, depth: int) -> float:
        known = len(self._values)
        if depth < known:
            return self._values[depth]
        above = self._values[-1] if known else _PRIOR_HOSTS_PER_PAGE / self._fall
        return above * self._fall ** (depth - known + 1)

    def learn(self, depth: int, found: float, foreseen: float, keep: float) -> None:
        while len(self._groups) <= depth:
            self._values.append(self.at(len(self._values)))
            self._groups.append(_Group())
        self._groups[depth].learn(found, foreseen, keep)
        for each in range(depth, len(self._groups)):
            above = self._values[each - 1] * self._fall if each else _PRIOR_HOSTS_PER_PAGE
            group = self._groups[each]
            self._values[each] = (self._prior * above + group.found) / (
                self._prior + group.foreseen
            )


class YieldModel:
    """All servers of one survey. The constants were set on webs and documentation that no test
    or figure uses."""

    depth_prior = 10.0
    expected_prior = 1.0
    depth_fall = 0.7
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
        self._depths = _DepthProfile(self.depth_prior, self.depth_fall)
        self._expected = _DepthProfile(self.expected_prior, self.depth_fall)
        self._per_page = _DepthProfile(self.expected_prior, self.depth_fall)
        """Without factors."""
        self._earlier: dict[int, str] = {}
        self._servers: dict[int, _Group] = {}
        self._sections: dict[tuple[int, str], _Group] = {}
        self._words: dict[str, _Group] = {"": _Group()}
        for word in _LIST_WORDS:
            group = self._words[word] = _Group()
            group.learn((_LIST_FACTOR - 1) * self.word_prior, 0.0, 1.0)

    def value(self, kind: PageKind) -> float:
        """The value that pages are ordered by."""
        return self.within_server(kind) * self._server_factor(kind.server)

    def expected(self, kind: PageKind) -> float:
        """Expected new hosts of one page."""
        known = self._within(kind) * self._server_factor(kind.server)
        return self._expected.at(kind.depth) * (_ANYWHERE + (1 - _ANYWHERE) * known)

    def within_server(self, kind: PageKind) -> float:
        """Without the server's own factor: what orders the pages of one server."""
        return self._depths.at(kind.depth) * self._within(kind)

    def depth_profile(self, deepest: int) -> list[float]:
        """b'(depth), for predicting pages that were not found yet."""
        return [self._expected.at(depth) for depth in range(deepest + 1)]

    def usual_factor(self, depth: int) -> float:
        """Average factor of server, section and words at a depth."""
        return self._per_page.at(depth) / self._expected.at(depth)

    def signs(self, url: str, anchor: str) -> tuple[str, tuple[str, ...]]:
        """The words of a link: the most promising one, or none; and all."""
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

    def learn(self, kind: PageKind, words: Iterable[str], new_hosts: int) -> None:
        """A page of this kind was fetched and brought so many new hosts."""
        found = min(new_hosts, self.clip)
        base = self._depths.at(kind.depth)
        server = self._servers.setdefault(kind.server, _Group())
        section = self._section(kind)
        by_server = server.factor(self.server_prior)
        by_section = section.factor(self.section_prior)
        by_word = self._words[kind.word].factor(self.word_prior)
        whole = by_server * by_section * by_word
        self._depths.learn(kind.depth, found, max(whole, _LEAST_FACTOR), self.keep_depth)
        self._expected.learn(
            kind.depth, found, _ANYWHERE + (1 - _ANYWHERE) * whole, self.keep_depth
        )
        self._per_page.learn(kind.depth, found, 1.0, self.keep_depth)
        if not kind.word:  # a list of links says nothing of the pages around it
            server.learn(found, base * by_word, self.keep_server)
            section.learn(
                min(found, self.section_clip), base * by_word * by_server, self.keep_section
            )
            self._words[""].learn(found, base * by_server * by_section, self.keep_word)
        self._learn_words(words, found, base * by_server * by_section)

    def remember(self, url: str, new_hosts: int) -> None:
        """What a page brought in the previous survey: the best predictor."""
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

    def _within(self, kind: PageKind) -> float:
        factor = self._words[kind.word].factor(self.word_prior)
        section = self._sections.get((kind.server, kind.section))
        if section is None:
            return factor * (_FILE_FACTOR if is_file(kind.section) else 1.0)
        return factor * section.factor(self.section_prior)

    def _section(self, kind: PageKind) -> _Group:
        name = (kind.server, kind.section)
        group = self._sections.get(name)
        if group is None:
            group = self._sections[name] = _Group()
            if is_file(kind.section):
                group.learn(0.0, self.section_prior * (1 / _FILE_FACTOR - 1), 1.0)
        return group

    def _server_factor(self, server: int) -> float:
        group = self._servers.get(server)
        return 1.0 if group is None else group.factor(self.server_prior)


# What a link says of its target before it is fetched: its section, and words.


_FILES = frozenset((
    "7z", "apk", "avi", "bmp", "bz2", "c", "css", "csv", "deb", "dmg", "doc", "docx", "eps",
    "epub", "exe", "gif", "gz", "h", "ico", "iso", "jar", "jpeg", "jpg", "js", "json", "md",
    "mid", "mov", "mp3", "mp4", "mpeg", "mpg", "odp", "ods", "odt", "ogg", "pdf", "png", "ppt",
    "pptx", "ps", "py", "rar", "rpm", "rtf", "svg", "tar", "tex", "tgz", "tif", "tiff", "ttf",
    "txt", "wav", "webm", "webp", "wmv", "woff", "woff2", "xls", "xlsx", "xml", "xz", "zip",
))  # fmt: skip
"""Endings of files that are not HTML."""
_MOST_KIND_WORDS = 12
_MOST_ANCHOR = 200


def section_of(url: str) -> str:
    """The part of a server that a page belongs to: its host and the first folder of its path.
    Files that are no pages are a part of their own.

    >>> section_of("http://a.ke/news/1.html"), section_of("http://a.ke/about")
    ('a.ke/news', 'a.ke/')
    >>> section_of("http://a.ke/news/map.PDF"), section_of("http://a.ke/v1.2")
    ('a.ke/*.pdf', 'a.ke/')
    """
    rest = url.partition("://")[2].partition("?")[0]
    name, _, path = rest.partition("/")
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    if ending in _FILES:
        return f"{name}/*.{ending}"
    folder, slash, _ = path.partition("/")
    return f"{name}/{folder}" if slash else f"{name}/"


def is_file(section: str) -> bool:
    """Whether a section is of files that have no links."""
    return "/*." in section


def words_of(url: str, anchor: str) -> Sequence[str]:
    """What a link says of its target: words of the last part of the path and of the anchor.

    >>> words_of("http://a/x/useful-links.html", "Our partners")
    ['useful', 'links', 'our', 'partners']
    """
    last = url.partition("?")[0].rpartition("/")[2].partition(".")[0]
    text = f"{last} {anchor[:_MOST_ANCHOR]}".lower()
    letters = "".join(char if char.isalpha() else " " for char in text)
    return list(dict.fromkeys(word for word in letters.split() if 3 <= len(word) <= 20))[
        :_MOST_KIND_WORDS
    ]
