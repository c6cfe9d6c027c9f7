"""Whether a page has changed: the part of it that counts, and noise left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from headgate.model.keeping import CSS_MARK
from headgate.model.patterns import Pattern, line_pattern
from headgate.model.selector import Compound, Selector, parse_selectors
from headgate.reading.charset import decode
from headgate.reading.digests import content_digest
from headgate.reading.page_text import page_lines
from headgate.reading.tags import ATTRIBUTES, BLANK, attributes
from headgate.site_file.site_values import check_ignore_rule

__all__ = ["EXACT", "ElementNames", "Noise", "counted_digest", "noise_of", "text_lines"]


# The part of a page that counts when deciding whether it has changed.
#
# For text, the visible lines without noise; for anything else, and for pages without visible text,
# every byte. Two copies of a page with text have the same `counted_digest` if `difference` is
# empty.


_MOST_BYTES = 4_000_000
"""Only the beginning of a page is read."""


def counted_digest(body: bytes, content_type: str, noise: Noise) -> bytes:
    """Sixteen bytes that change when the page does; ``body`` is the decoded content.

    >>> noise = Noise.from_rules()
    >>> old = counted_digest(b"<p>5 EUR<p>7 views", "text/html", noise)
    >>> old == counted_digest(b"<div>5 <b>EUR</b></div>8 views", "text/html", noise)
    True
    >>> old == counted_digest(b"<p>6 EUR<p>7 views", "text/html", noise)
    False
    """
    lines = text_lines(body, content_type, noise)
    if not lines:
        return content_digest(body)
    counted = (noise.without(line) for line in lines)
    text = "\n".join(line for line in counted if line)
    return content_digest(text.encode("utf-8", "surrogatepass"))


def text_lines(body: bytes, content_type: str, noise: Noise) -> list[str] | None:
    """The lines of a page without ignored elements, but with all other noise; None: it is no
    text."""
    kind = (content_type or "text/html").lower()
    if not _is_text(kind):
        return None
    text = decode(body[:_MOST_BYTES], content_type)
    if "html" in kind:
        return page_lines(noise.without_elements(text))
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or "html" in kind or "xml" in kind or "json" in kind


_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE = rf"\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}\b"
_AGO = "(?:second|minute|hour|day|week|month|year)s? ago\\b"
_COUNTED = (
    "views?|visits?|visitors?|hits?|reads?|downloads?|comments?|likes?|shares?|followers?"
    "|members?|users?|guests?|online"
)
_BEGUN_BY_DIGITS = (
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    r"\d{1,2}[./]\d{1,2}[./]\d{2,4}\b",
    _DATE,
    r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?(?: (?:UTC|GMT|CET|CEST))?",
    rf"\d{{1,6}} {_AGO}",
    rf"\d[\d.,]{{0,20}}[kKmM]? (?:{_COUNTED})\b",
)
_BEGUN_BY_LETTERS = (
    rf"{_DAY}{_DATE}",
    rf"{_DAY}{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    rf"(?:an?|one) {_AGO}",
    rf"(?:{_COUNTED})(?: today)?: ?\d[\d.,]{{0,20}}",
)
_TOKEN = r"(?<!-)(?=[\w-]{16})(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}(?![\w-])"
_USUAL_NOISE = re.compile(
    rf"""(?<!\w)(?:(?=\d)(?:{"|".join(_BEGUN_BY_DIGITS)})
    |(?=[adfhjlmonrstuvwcg])(?:{"|".join(_BEGUN_BY_LETTERS)})|{_TOKEN})""".replace("\n    ", ""),
    re.IGNORECASE,
)
"""Selected by the first letter of a word, for speed."""
_MAYBE_USUAL = re.compile(r"\d| ago", re.IGNORECASE)
"""What every default noise contains: most lines do not, and skip the rest."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise: differences between two copies of a page that are no change: dates, counters, tokens.

    A line is compared after its noise is removed. By default, noise is:

    - dates and times of day in the usual forms, and "3 hours ago";
    - numbers of visitors, views, hits, downloads, comments and the like;
    - long tokens: sixteen or more letters and digits, both among them, without a blank.

    Users can add patterns for text, and selectors for elements to ignore. Other numbers, such as
    prices, count.
    """

    usual: bool
    patterns: tuple[Pattern, ...] = ()
    elements: ElementNames | None = None

    @classmethod
    def from_rules(cls, ignore: Sequence[str] = ()) -> Noise:
        """The default noise and the user's rules.

        >>> noise = Noise.from_rules([r"Offer \\d+", "css:.clock"])
        >>> noise.without("Offer 12: 1,204 views on 3 May 2026, 5 EUR")
        ': on , 5 EUR'
        """
        for rule in ignore:
            check_ignore_rule(rule)
        named = [rule.removeprefix(CSS_MARK) for rule in ignore if rule.startswith(CSS_MARK)]
        selectors = [selector for rule in named for selector in parse_selectors(rule)]
        return cls(
            True,
            tuple(line_pattern(rule) for rule in ignore if not rule.startswith(CSS_MARK)),
            ElementNames.from_selectors(selectors) if selectors else None,
        )

    def without(self, line: str) -> str:
        """A line without noise; blanks do not count."""
        left = line
        for pattern in self.patterns:
            left = pattern.without(left)
        if self.usual and _MAYBE_USUAL.search(left):
            left = _USUAL_NOISE.sub(" ", left)
        return line if left is line else " ".join(left.split())

    def without_elements(self, page: str) -> str:
        """An HTML page without ignored elements."""
        return page if self.elements is None else self.elements.taken_out(page)


EXACT = Noise(usual=False)
"""Every letter counts."""


@lru_cache(maxsize=1_000)
def noise_of(ignore: tuple[str, ...]) -> Noise:
    """`Noise.from_rules`, cached."""
    return Noise.from_rules(ignore)


_TAG = re.compile(
    rf"<(?:!--(?:[\s\S]*?-->|[\s\S]*)|(/?)([a-zA-Z][^{BLANK}/>]*+)({ATTRIBUTES})(?:>|\Z)"
    r"|[!?/][^>]*+(?:>|\Z))"
)
_RAW_TEXT = frozenset(("script", "style", "textarea", "title", "iframe", "noembed", "xmp"))
_END_OF_RAW_TEXT = re.compile(rf"</({'|'.join(sorted(_RAW_TEXT))})(?=[{BLANK}/>])", re.IGNORECASE)
_EMPTY = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
     "track", "wbr")
)  # fmt: skip
_BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figure",
     "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol",
     "p", "pre", "section", "table", "ul")
)  # fmt: skip
_ENDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset(("li",)), frozenset(("ul", "ol", "menu"))),
    "option": (frozenset(("option",)), frozenset(("select",))),
    "tr": (frozenset(("tr",)), frozenset(("table",))),
    **dict.fromkeys(("dt", "dd"), (frozenset(("dt", "dd")), frozenset(("dl",)))),
    **dict.fromkeys(("td", "th"), (frozenset(("td", "th")), frozenset(("tr", "table")))),
    **dict.fromkeys(
        _BLOCKS, (frozenset(("p",)), frozenset(("body", "div", "td", "li", "section")))
    ),
}
"""Which open elements a start tag ends, and those that keep it from looking further out."""
_FAR = 16
"""Most ancestors that are searched: else a page of unclosed tags would be expensive."""


@dataclass(slots=True)
class _Open:
    name: str
    here: int
    """Bits of the steps that lead exactly to this element."""
    within: int
    """And to it or one around it."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One compound of one selector."""

    wanted: Compound
    bit: int
    before: int
    """The bit of the step before; 0: it is the first."""
    child: bool

    def leads_to(self, name: str, written: str, around: _Open) -> bool:
        """To an element of this name, with its attributes as they are written."""
        if self.wanted.element and self.wanted.element != name:
            return False
        if self.before and not self.before & (around.here if self.child else around.within):
            return False
        if not self.wanted.attributes:
            return True
        # Most elements cannot match, and their attributes need not be parsed.
        if "&" not in written and not all(one.value in written for one in self.wanted.attributes):
            return False
        found = attributes(written)
        return all(
            wanted.key in found and wanted.met_by(found[wanted.key])
            for wanted in self.wanted.attributes
        )


@dataclass(frozen=True, slots=True)
class ElementNames:
    """Removes the content of elements that CSS selectors name from a page.

    One pass over the tags, without a tree. For each open element, bits say which selector prefixes
    match it, so that the cost does not depend on its depth. An unclosed element ends with its
    parent; ``<p>``, ``<li>`` and the like end where the next begins, as in browsers. The tags of a
    named element stay, so that a block stays a block.

    Time grows with the page's length times the steps of the selectors, whatever the page holds.

    Compiled selectors.
    """

    steps: tuple[_Step, ...]
    last: int
    """Bits of the steps that name an element."""

    @classmethod
    def from_selectors(cls, selectors: Sequence[Selector]) -> ElementNames:
        """
        >>> from headgate.model.selector import parse_selectors
        >>> names = ElementNames.from_selectors(parse_selectors("p > .views"))
        >>> names.taken_out("<p>Tea <i class=views>7</i> <b><i class=views>8</i></b>")
        '<p>Tea <i class=views></i> <b><i class=views>8</i></b>'
        """
        steps: list[_Step] = []
        last = 0
        for selector in selectors:
            before = 0
            for wanted, child in zip(selector.steps, selector.child, strict=True):
                bit = 1 << len(steps)
                steps.append(_Step(wanted, bit, before, child))
                before = bit
            last |= before
        return cls(tuple(steps), last)

    def taken_out(self, page: str) -> str:
        """The page without the content of the named elements."""
        reader = _Pass(self, page)
        place = 0
        while (tag := _TAG.search(page, place)) is not None:
            place = reader.met(tag)
        return reader.rest()

    def bits(self, name: str, written: str, around: _Open) -> int:
        """Of the steps that lead to an element."""
        bits = 0
        for step in self.steps:
            if step.leads_to(name, written, around):
                bits |= step.bit
        return bits


@dataclass(slots=True)
class _Pass:
    """Over one page. ``open`` are the open elements, the outermost first; ``counts`` says how many
    of each name they are."""

    names: ElementNames
    page: str
    open: list[_Open] = field(default_factory=lambda: [_Open("", 0, 0)])
    counts: Counter[str] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)
    kept_to: int = 0
    out_from: int | None = None
    """How many elements were open around the one that is being taken out."""

    def met(self, tag: re.Match[str]) -> int:
        """Process a tag; returns where to continue."""
        if tag[2] is None:
            return tag.end()
        name = tag[2].lower()
        if tag[1]:
            self._ended(name, tag.start())
            return tag.end()
        return self._begun(name, tag)

    def rest(self) -> str:
        if self.out_from is None:
            self.kept.append(self.page[self.kept_to :])
        return "".join(self.kept)

    def _begun(self, name: str, tag: re.Match[str]) -> int:
        self._end_others(name, tag.start())
        if name in _EMPTY:
            return tag.end()
        around = self.open[-1]
        here = self.names.bits(name, tag[3], around)
        self.open.append(_Open(name, here, around.within | here))
        self.counts[name] += 1
        if here & self.names.last and self.out_from is None:
            self.out_from = len(self.open) - 1
            self.kept.append(self.page[self.kept_to : tag.end()])
        if name not in _RAW_TEXT:
            return tag.end()
        return self._end_of_raw_text(name, tag.end())

    def _end_of_raw_text(self, name: str, start: int) -> int:
        ends = _END_OF_RAW_TEXT.finditer(self.page, start)
        return next((end.start() for end in ends if end[1].lower() == name), len(self.page))

    def _end_others(self, name: str, at: int) -> None:
        if name not in _ENDS:
            return
        ended, barriers = _ENDS[name]
        if not any(self.counts[one] for one in ended):
            return
        for depth in range(len(self.open) - 1, max(len(self.open) - 1 - _FAR, 0), -1):
            if self.open[depth].name in ended:
                self._cut(depth, at)
                return
            if self.open[depth].name in barriers:
                return

    def _ended(self, name: str, at: int) -> None:
        if not self.counts[name]:
            return
        depth = len(self.open) - 1
        while self.open[depth].name != name:
            depth -= 1
        self._cut(depth, at)

    def _cut(self, depth: int, at: int) -> None:
        """End all elements from this depth on."""
        for element in self.open[depth:]:
            self.counts[element.name] -= 1
        del self.open[depth:]
        if self.out_from is not None and depth <= self.out_from:
            self.out_from = None
            self.kept_to = at
