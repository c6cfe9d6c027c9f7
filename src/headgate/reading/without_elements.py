"""Removes the content of elements that CSS selectors name from a page.

One pass over the tags, without a tree. For each open element, bits say which selector prefixes
match it, so that the cost does not depend on its depth. An unclosed element ends with its parent;
``<p>``, ``<li>`` and the like end where the next begins, as in browsers. The tags of a named
element stay, so that a block stays a block.

Time grows with the page's length times the steps of the selectors, whatever the page holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.model.selector import Compound, Selector
from headgate.reading.tags import ATTRIBUTES, BLANK, attributes

__all__ = ["ElementNames"]

_TAG = re.compile(
    rf"<(?:!--(?:[\s\S]*?-->|[\s\S]*)|(/?)([a-zA-Z][^{BLANK}/>]*+)({ATTRIBUTES})(?:>|\Z)"
    r"|[!?/][^>]*+(?:>|\Z))"
)
_RAW_TEXT = frozenset(("script", "style", "textarea", "title", "iframe", "noembed", "xmp"))
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
    """Compiled selectors."""

    steps: tuple[_Step, ...]
    last: int
    """Bits of the steps that name an element."""

    @classmethod
    def of(cls, selectors: Sequence[Selector]) -> ElementNames:
        """
        >>> from headgate.model.selector import parse_selectors
        >>> names = ElementNames.of(parse_selectors("p > .views"))
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
        found = re.compile(rf"</{name}(?=[{BLANK}/>])", re.IGNORECASE).search(self.page, start)
        return len(self.page) if found is None else found.start()

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
