"""The line of each table, key and array element of a TOML text.

The standard parser gives values without lines, and error messages need them. This walks the tokens
of the text once more and records lines; it validates nothing. It is run only when there is an error
to report, so a valid file pays nothing for it. On a text that is not TOML it records what it can
and never fails: nesting is kept on a stack of its own, not by recursion.

A path is a tuple of names, with numbers for array elements: the second seed of site docs is
``("site", "docs", "seeds", 1)``.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

__all__ = ["DEEPEST", "Path", "Statement", "TomlPositions"]

Path: TypeAlias = tuple[str | int, ...]

DEEPEST = 50
"""No site file nests values deeper than this; where one does, their lines are not recorded."""

_TOKEN = re.compile(
    r"""
      (?P<space> [ \t\r]+ | \#[^\n]* )
    | (?P<newline> \n )
    | (?P<string> \"{3} (?: \\. | [^\\] )*? \"{3,5} | '{3} .*? '{3,5}
                | " (?: \\. | [^"\\\n] )* " | '[^'\n]*' )
    | (?P<mark> [\[\]{}=,.] )
    | (?P<bare> [^\s\[\]{}=,."'\#]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


class Statement(NamedTuple):
    """A table header or an assignment, and the line it begins on."""

    line: int
    path: Path


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class _Level(msgspec.Struct):
    """An open array or inline table."""

    path: Path
    is_array: bool
    index: int = 0
    """Of the current element, if this is an array."""
    awaits_key: bool = True
    """Whether a key comes next, if this is a table."""


class TomlPositions(msgspec.Struct):
    """The lines found in one text."""

    lines: dict[Path, int] = msgspec.field(default_factory=dict)
    """The line on which each path is first named; a table that is only implied counts as named."""
    statements: list[Statement] = msgspec.field(default_factory=list)
    """In the order of the text."""
    too_deep: int | None = None
    """The first line on which values are nested deeper than `DEEPEST`."""

    @classmethod
    def of(cls, text: str) -> TomlPositions:
        """Walk a text.

        >>> positions = TomlPositions.of('[site."a b"]\\nseeds = [\\n  "x",\\n  "y",\\n]')
        >>> positions.line_of(("site", "a b")), positions.line_of(("site", "a b", "seeds", 1))
        (1, 4)
        """
        positions = cls()
        _Walk(positions, _tokens(text)).run()
        return positions

    def line_of(self, path: Path) -> int:
        """The line of a path, or of what encloses it where it is not written down."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def statement_at(self, line: int) -> Statement | None:
        """The last statement that begins on a line or before it."""
        following = bisect_right(self.statements, line, key=lambda statement: statement.line)
        return self.statements[following - 1] if following else None


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "bare"
        if kind != "space":
            yield _Token(kind, match[0], line)
        if kind in ("newline", "string"):
            line += match[0].count("\n")


class _Walk:
    """One pass over the tokens. Keeps the open table and the stack of open values."""

    def __init__(self, positions: TomlPositions, tokens: Iterator[_Token]) -> None:
        self._positions = positions
        self._tokens = tokens
        self._table: Path = ()

    def run(self) -> None:
        for token in self._tokens:
            if token.kind == "newline":
                continue
            if token.text == "[":
                self._header(token.line)
            else:
                self._assignment(token)

    def _header(self, line: int) -> None:
        names, end = self._names([], until="]")
        if end is not None:
            self._table = tuple(names)
            self._note_statement(line, self._table)

    def _assignment(self, first: _Token) -> None:
        names, end = self._names([first], until="=")
        if end is not None:
            path = (*self._table, *names)
            self._note_statement(first.line, path)
            self._value(path)

    def _names(self, seen: list[_Token], until: str) -> tuple[list[str], _Token | None]:
        """The parts of a key up to a closing mark; no mark when the line ends before it."""
        names = [_name(token) for token in seen if token.kind != "mark"]
        for token in self._tokens:
            if token.text == until and token.kind == "mark":
                return names, token
            if token.kind == "newline":
                break
            if token.kind != "mark":
                names.append(_name(token))
        return names, None

    def _value(self, path: Path) -> None:
        """Walk one value to its end, and to the end of its line."""
        levels: list[_Level] = []
        for token in self._tokens:
            if not levels:
                if token.kind == "newline":
                    return
                self._open(token, path, levels)
            elif token.kind == "mark" and token.text in "]}":
                levels.pop()
            elif token.kind == "mark" and token.text == ",":
                levels[-1].index += 1
                levels[-1].awaits_key = True
            elif token.kind != "newline":
                self._inside(token, levels)

    def _inside(self, token: _Token, levels: list[_Level]) -> None:
        """A token of an element or a key in the innermost open value."""
        level = levels[-1]
        if level.is_array:
            path = (*level.path, level.index)
            self._positions.lines.setdefault(path, token.line)
            self._open(token, path, levels)
        elif level.awaits_key:
            level.awaits_key = False
            names, end = self._names([token], until="=")
            path = (*level.path, *names)
            self._note(token.line, path)
            opening = next(self._tokens, None) if end else None
            if opening is not None:
                self._open(opening, path, levels)

    def _open(self, token: _Token, path: Path, levels: list[_Level]) -> None:
        if token.kind != "mark" or token.text not in "[{":
            return
        if len(levels) >= DEEPEST:
            path = levels[-1].path
            if self._positions.too_deep is None:
                self._positions.too_deep = token.line
        levels.append(_Level(path, is_array=token.text == "["))

    def _note_statement(self, line: int, path: Path) -> None:
        self._positions.statements.append(Statement(line, path))
        self._note(line, path)

    def _note(self, line: int, path: Path) -> None:
        for length in range(1, min(len(path), DEEPEST) + 1):
            self._positions.lines.setdefault(path[:length], line)


def _name(token: _Token) -> str:
    if token.kind != "string":
        return token.text
    if "\\" not in token.text:
        return token.text[1:-1]
    try:
        return str(tomllib.loads(f"name = {token.text}")["name"])
    except tomllib.TOMLDecodeError:
        return token.text
