"""The subset of CSS selectors that names parts of a page to ignore.

Element names or ``*``, ``#id``, ``.class``, attributes (``[key]``, ``[key=value]`` and with ``~=``,
``^=``, ``$=``, ``*=``), descendants (a blank), children (``>``) and lists (commas). All of these
can be decided at an element's start tag, so a page is read once and without a tree. Selectors that
depend on siblings or on what follows (``+``, ``~``, ``:last-child``) are refused.
"""

from __future__ import annotations

import re

import msgspec

from headgate.model.errors import UserMistake

__all__ = ["Attribute", "Compound", "Selector", "parse_selectors"]

_NAME = r"[\w-]+"
_PART = re.compile(
    rf"""
      (?P<element> \* | {_NAME} )
    | \# (?P<id> {_NAME} )
    | \. (?P<class> {_NAME} )
    | \[ \s* (?P<key> {_NAME} ) \s*
         (?: (?P<operator> [~^$*]?= ) \s* (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)'
                                           | (?P<bare> {_NAME} ) ) \s* )? \]
    """,
    re.VERBOSE,
)
_COMBINATOR = re.compile(r"\s*(>)\s*|\s+")
_COMMA = re.compile(r"\s*,\s*")
_MOST_LETTERS = 500
_MOST_STEPS = 8
_KNOWN = "known are element, #id, .class, [key], [key=value], a blank, > and commas"


class Attribute(msgspec.Struct, frozen=True):
    """A condition on one attribute of an element."""

    key: str
    operator: str = ""
    """As in CSS; empty: the attribute only has to be present."""
    value: str = ""

    def met_by(self, value: str) -> bool:
        """Whether an attribute of this key with this value matches.

        >>> Attribute("class", "~=", "ad").met_by("big ad"), Attribute("id", "^=", "").met_by("x")
        (True, False)
        """
        if not self.operator:
            return True
        if self.operator == "=":
            return value == self.value
        if not self.value:
            return False
        if self.operator == "~=":
            return self.value in value.split()
        if self.operator == "^=":
            return value.startswith(self.value)
        return value.endswith(self.value) if self.operator == "$=" else self.value in value


class Compound(msgspec.Struct, frozen=True):
    """All conditions on one element."""

    element: str = ""
    """Its name in lower case; empty: any."""
    attributes: tuple[Attribute, ...] = ()


class Selector(msgspec.Struct, frozen=True):
    """Nested elements; the last step is the one that is selected."""

    steps: tuple[Compound, ...]
    child: tuple[bool, ...]
    """For each step, whether it must be a child of the one before. The first is False."""


def parse_selectors(text: str) -> tuple[Selector, ...]:
    """Read a list of selectors.

    >>> [first, second] = parse_selectors("div.ad > span, #clock")
    >>> first.steps[0].attributes, first.child, second.steps[0].element
    ((Attribute(key='class', operator='~=', value='ad'),), (False, True), '')
    """
    if len(text) > _MOST_LETTERS:
        raise UserMistake(f"a selector has at most {_MOST_LETTERS} letters; this has {len(text)}")
    reader = _Reader(text.strip())
    selectors = [reader.selector()]
    while not reader.at_end:
        reader.comma()
        selectors.append(reader.selector())
    return tuple(selectors)


class _Reader(msgspec.Struct):
    text: str
    place: int = 0

    @property
    def at_end(self) -> bool:
        return self.place == len(self.text)

    def selector(self) -> Selector:
        steps, child = [self._compound()], [False]
        while not self.at_end and not _COMMA.match(self.text, self.place):
            between = _COMBINATOR.match(self.text, self.place)
            if between is None:
                raise self._mistake()
            self.place = between.end()
            steps.append(self._compound())
            child.append(bool(between[1]))
            if len(steps) > _MOST_STEPS:
                raise UserMistake(f"a selector has at most {_MOST_STEPS} steps; drop the outermost")
        return Selector(tuple(steps), tuple(child))

    def comma(self) -> None:
        match = _COMMA.match(self.text, self.place)
        if match is None:
            raise self._mistake()
        self.place = match.end()

    def _compound(self) -> Compound:
        element, attributes, start = "", [], self.place
        while part := _PART.match(self.text, self.place):
            if part["element"]:
                if self.place > start:
                    break
                element = part["element"].lower()
            else:
                attributes.append(_attribute(part))
            self.place = part.end()
        if self.place == start:
            raise self._mistake()
        return Compound("" if element == "*" else element, tuple(attributes))

    def _mistake(self) -> UserMistake:
        rest = self.text[self.place :][:20]
        where = f"at {rest!r}" if rest else "where it ends"
        return UserMistake(
            f"{self.text!r} is no CSS selector that Headgate reads, {where}; {_KNOWN}"
        )


def _attribute(part: re.Match[str]) -> Attribute:
    if part["id"]:
        return Attribute("id", "=", part["id"])
    if part["class"]:
        return Attribute("class", "~=", part["class"])
    value = part["double"] or part["single"] or part["bare"] or ""
    return Attribute(part["key"].lower(), part["operator"] or "", value)
