r"""Regular expressions of users, for texts of strangers: by RE2, which never goes back.

Python's engine tries every way in which a pattern may match, so an ordinary
``.*page=\d+.*sort=.*`` needs a second for one URL that is made for it. RE2 goes through a text
once, whatever pattern and text are. What it cannot do at all is refused, with a remedy, when a
pattern is read: looking ahead and back, and references to groups.

A pattern is written in Python's syntax and read by Python's own parser; what that made of it is
written anew for RE2. So it means the same, down to ``\w`` in all scripts, but for ``\b``, which
knows the letters of ASCII only, and ``$``, which is the very end: neither URLs nor lines end with a
newline. In URLs, which are ASCII, ``\w`` and the like are those of ASCII, because the letters of
all scripts make a pattern a hundred times as large.

One match is found in time linear in the text; all of them are not, where each is sought to the end
of a long line. So after the first few in a line, a match is sought in the next `_WINDOW` bytes
only, and a longer one is not found.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from headgate.model.errors import UserMistake

__all__ = ["Pattern", "line_pattern", "url_pattern"]

_MOST_MEMORY = 2_000_000
"""Bytes that RE2 may hold for a pattern: a few thousand mostly, more where a text drives it."""
_WHOLE_SEARCHES = 16
_WINDOW = 1_024


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_anywhere", "_match")

    def __init__(self, written: str, *, ignore_case: bool) -> None:
        """``written``: as RE2 reads it. Raises `ValueError` if that takes too much memory."""
        from re2 import _re2  # here: few starts need it

        options = _re2.RE2.Options()
        options.log_errors = False
        options.max_mem = _MOST_MEMORY
        options.never_capture = True
        options.case_sensitive = not ignore_case
        engine = _re2.RE2(written.encode(), options)
        if not engine.ok():
            raise ValueError(engine.error())
        self._anywhere = _re2.RE2.Anchor.UNANCHORED
        self._match = engine.Match

    def search(self, text: str) -> bool:
        """Whether it matches somewhere in the text."""
        data = text.encode("utf-8", "surrogatepass")
        found: int = self._match(self._anywhere, data, 0, len(data))[0][0]
        return found >= 0

    def without(self, line: str) -> str:
        r"""The line with a blank for each match that is not empty.

        >>> line_pattern(r"\d+ visitors").without("Tea, 17 visitors, 5 EUR")
        'Tea,  , 5 EUR'
        """
        data = line.encode("utf-8", "surrogatepass")
        if self._match(self._anywhere, data, 0, len(data))[0][0] < 0:
            return line  # most lines
        kept, end = [], 0
        for start, stop in self._matches(data):
            kept.append(data[end:start])
            end = stop
        if not kept:
            return line
        kept.append(data[end:])
        return b" ".join(kept).decode("utf-8", "surrogatepass")

    def _matches(self, data: bytes) -> Iterator[tuple[int, int]]:
        place, length, searches = 0, len(data), 0
        while place < length:
            searches += 1
            far = length if searches <= _WHOLE_SEARCHES else min(place + _WINDOW, length)
            start, stop = self._match(self._anywhere, data, place, far)[0]
            if start < 0:
                if far == length:
                    return
                place += _WINDOW // 2
            elif start == stop:
                place = stop + 1
            else:
                yield start, stop
                place = stop


def url_pattern(pattern: str) -> Pattern:
    """For URLs. Raises `UserMistake` for what is no pattern, or none that can be used here.

    >>> url_pattern("[.]html$").search("https://example.org/a.html")
    True
    >>> url_pattern("(.)++")
    Traceback (most recent call last):
    headgate.model.errors.UserMistake: '(.)++' cannot be used: drop ++, *+, ?+ and (?>; \
nothing goes back here
    """
    return _compiled(pattern, of_urls=True)


def line_pattern(pattern: str) -> Pattern:
    """The same for lines of text, regardless of case."""
    return _compiled(pattern, of_urls=False)


@lru_cache(256)
def _compiled(pattern: str, *, of_urls: bool) -> Pattern:
    from re import _parser  # type: ignore[attr-defined]

    flags = 0 if of_urls else re.IGNORECASE
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later Python will refuse
            tree = _parser.parse(pattern, flags)
        written = _Writer(pattern, of_urls=of_urls).parts(tree, tree.state.flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise UserMistake(f"{pattern!r} is not a regular expression: {error}") from None
    try:
        return Pattern(written, ignore_case=bool(tree.state.flags & re.IGNORECASE))
    except ValueError:
        problem = f"{pattern!r} takes too much memory; let it repeat less often"
        raise UserMistake(problem) from None


_LONGEST_REPEAT = 1_000
_ASCII_CLASSES = {"DIGIT": "0-9", "SPACE": r"\t-\r ", "WORD": "0-9A-Za-z_"}
_CLASSES = {
    "DIGIT": r"\p{Nd}",
    "SPACE": r"\t-\r\x1c- \x{85}\p{Z}",
    "WORD": r"\p{L}\p{N}_",
}
"""What Python takes for them."""

_NOTHING = r"[^\x00-\x{10ffff}]"
_LOOKS = (
    "it looks ahead or back, which a stranger's page can make endless; say it without (?= (?! (?<="
    " (?<!, for URLs with a second pattern in exclude"
)
_REFERS = "it refers to a group; write out what may stand there"
_HOLDS_FAST = "drop ++, *+, ?+ and (?>; nothing goes back here"
_REFUSED = {
    **dict.fromkeys(("ASSERT", "ASSERT_NOT", "FAILURE"), _LOOKS),
    **dict.fromkeys(("GROUPREF", "GROUPREF_EXISTS"), _REFERS),
    **dict.fromkeys(("ATOMIC_GROUP", "POSSESSIVE_REPEAT"), _HOLDS_FAST),
}
_TOO_OFTEN = f"it repeats more than {_LONGEST_REPEAT:,} times; write + or * instead"


class _Writer:
    """Writes what Python's parser read as RE2 reads it."""

    def __init__(self, pattern: str, *, of_urls: bool) -> None:
        self._pattern = pattern
        self._classes = _ASCII_CLASSES if of_urls else _CLASSES

    def parts(self, parts: Iterable[tuple[Any, Any]], flags: int) -> str:
        return "".join([self._part(str(op), value, flags) for op, value in parts])

    def _part(self, op: str, value: Any, flags: int) -> str:
        match op:
            case "LITERAL":
                return self._char(value)
            case "NOT_LITERAL":
                return f"[^{self._char(value)}]"
            case "ANY":
                return "(?s:.)" if flags & re.DOTALL else r"[^\n]"
            case "IN":
                return self._set(value)
            case "AT":
                return self._place(str(value), flags)
            case "BRANCH":
                return f"(?:{'|'.join(self.parts(one, flags) for one in value[1])})"
            case "SUBPATTERN":
                return self._group(value, flags)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeated(value, flags) + ("?" if op == "MIN_REPEAT" else "")
            case _:
                raise self._mistake(_REFUSED[op])

    def _mistake(self, why: str) -> UserMistake:
        return UserMistake(f"{self._pattern!r} cannot be used: {why}")

    def _char(self, number: int) -> str:
        if 0xD800 <= number < 0xE000:
            raise self._mistake("no text has half a character; drop it")
        return rf"\x{{{number:x}}}"

    def _place(self, name: str, flags: int) -> str:
        whole_text = not flags & re.MULTILINE
        places = {
            "AT_BEGINNING": r"\A" if whole_text else "(?m:^)",
            "AT_END": r"\z" if whole_text else "(?m:$)",
            "AT_BEGINNING_STRING": r"\A",
            "AT_END_STRING": r"\z",
            "AT_BOUNDARY": r"\b",
            "AT_NON_BOUNDARY": r"\B",
        }
        return places[name]

    def _group(self, value: Any, flags: int) -> str:
        _, added, dropped, inside = value
        within = (flags | added) & ~dropped
        sign = "i" if within & re.IGNORECASE else "-i"
        return f"(?{sign}:{self.parts(inside, within)})"

    def _repeated(self, value: Any, flags: int) -> str:
        least, most, inside = value
        endless = str(most) == "MAXREPEAT"
        if max(least, 0 if endless else most) > _LONGEST_REPEAT:
            raise self._mistake(_TOO_OFTEN)
        return f"(?:{self.parts(inside, flags)}){{{least},{'' if endless else most}}}"

    def _set(self, items: Sequence[tuple[Any, Any]]) -> str:
        r"""Of characters. RE2 cannot say "a word's letter, but not this one" (``[^\W_]``) with the
        letters of all scripts, so these are counted up."""
        negated = str(items[0][0]) == "NEGATE"
        kinds = [str(value) for op, value in items if str(op) == "CATEGORY"]
        turned = [kind for kind in kinds if "NOT_" in kind]
        members = [item for item in items if str(item[0]) != "NEGATE"]
        if negated and turned:
            return self._counted_up(turned[0].removeprefix("CATEGORY_NOT_"), members)
        apart = "".join(f"|[^{self._class(kind)}]" for kind in turned)
        plain = "".join(self._member(str(op), value) for op, value in members)
        if not plain:
            return f"(?:{apart[1:]})"
        written = f"[{'^' if negated else ''}{plain}]"
        return f"(?:{written}{apart})" if apart else written

    def _member(self, op: str, value: Any) -> str:
        match op:
            case "LITERAL":
                return self._char(value)
            case "RANGE":
                return f"{self._char(value[0])}-{self._char(value[1])}"
            case _:
                return "" if "NOT_" in str(value) else self._class(str(value))

    def _class(self, name: str) -> str:
        return self._classes[name.removeprefix("CATEGORY_").removeprefix("NOT_")]

    def _counted_up(self, kind: str, but: Sequence[tuple[Any, Any]]) -> str:
        """All characters of a kind for which none of these stands."""
        ascii_only = self._classes is _ASCII_CLASSES
        left = [
            char
            for char in _characters(kind, 128 if ascii_only else sys.maxunicode + 1)
            if not any(_stands_for(str(op), value, char) for op, value in but)
        ]
        ranges: list[list[int]] = []
        for number in map(ord, left):
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        written = "".join(f"{self._char(low)}-{self._char(high)}" for low, high in ranges)
        return f"[{written}]" if written else _NOTHING


def _stands_for(op: str, value: Any, char: str) -> bool:
    match op:
        case "LITERAL":
            return ord(char) == int(value)
        case "RANGE":
            return int(value[0]) <= ord(char) <= int(value[1])
        case _:
            name = str(value).removeprefix("CATEGORY_")
            return _is_of(name.removeprefix("NOT_"), char) is not name.startswith("NOT_")


def _is_of(kind: str, char: str) -> bool:
    if kind == "WORD":
        return char.isalnum() or char == "_"
    return char.isdecimal() if kind == "DIGIT" else char.isspace()


def _characters(kind: str, end: int) -> Iterator[str]:
    return (char for char in map(chr, range(end)) if _is_of(kind, char))
