"""The text of a site file: parsed as TOML, with the line that each key and error stands on."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import msgspec

from headgate.model.errors import SiteFileError

__all__ = ["DEEPEST", "MOST_SITES", "Path", "SiteFileText", "TomlPositions"]

MOST_SITES = 100_000

_SITE_BEGINS = re.compile(
    r"""
    ^[ \t]* (?: \[ [ \t]* (?: site | "site" | 'site' ) [ \t]* \.
              | [^\s\#=\[] [^\#=\n]* = [ \t]* \{ )
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A site's table header or an inline table: no key takes one, so that is a site as well."""

_HEADER = re.compile(r"""^[ \t]*\[[ \t]*(?:site|"site"|'site')[ \t]*\.""", re.MULTILINE)

_PIECE_CHARACTERS = 100_000

_LONGEST_PROBLEM = 300


class SiteFileText(msgspec.Struct, frozen=True):
    """The text of a site file: parses it as TOML, and finds the line that an error is about.

    Lines are looked up only when there is an error to report.

    A site file before its values are read.
    """

    text: str
    path: str

    def document(self) -> dict[str, Any]:
        """The TOML values, or a `SiteFileError`."""
        self._refuse_too_many_sites()
        document = self._loaded_in_pieces() or self._loaded()
        if not document:
            raise self.error_on(1, "the file is empty; it needs a [budget] and a [site.NAME]")
        return document

    def _loaded_in_pieces(self) -> dict[str, Any] | None:
        """The parser holds five times as much for a table as the table takes, until it ends. None:
        the text is short, or needs to be seen as a whole, perhaps because something is wrong."""
        if len(self.text) <= _PIECE_CHARACTERS or self._may_span_lines:
            return None
        document: dict[str, Any] = {}
        sites: dict[str, Any] = {}
        for piece in self._pieces():
            try:
                found = tomllib.loads(piece)
            except (ValueError, RecursionError):
                return None
            here = found.pop("site", {})
            headers = sum(1 for _ in _HEADER.finditer(piece))
            if not isinstance(here, dict) or len(here) != headers:
                return None
            if document.keys() & found.keys() or sites.keys() & here.keys():
                return None
            document |= found
            sites |= here
        return {**document, "site": sites}

    def _pieces(self) -> Iterator[str]:
        """Each but the first begins with a site."""
        begin = 0
        for match in _HEADER.finditer(self.text):
            if match.start() - begin >= _PIECE_CHARACTERS:
                yield self.text[begin : match.start()]
                begin = match.start()
        yield self.text[begin:]

    @property
    def _may_span_lines(self) -> bool:
        """Whether a multi-line string may hold lines that look like sites."""
        return '"""' in self.text or "'''" in self.text

    def _loaded(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise self._syntax_error(str(error)) from None
        except RecursionError:
            line = TomlPositions.from_text(self.text).too_deep or 1
            raise self.error_on(line, "values are nested too deeply") from None
        except ValueError:
            digits = re.search(r"[0-9_]{4000,}", self.text)
            line = self._line_at(digits.start()) if digits else 1
            raise self.error_on(line, "a number has too many digits") from None

    def error(self, problem: str, at: Path) -> SiteFileError:
        """An error about a table, a key or a list's element."""
        line = TomlPositions.from_text(self.text).line_of(at)
        return self.error_on(line, problem, key=_as_written(at))

    def error_on(self, line: int, problem: str, key: str = "") -> SiteFileError:
        return SiteFileError(_shortened(problem), path=self.path, line=line, key=_shortened(key))

    def too_many_sites(self, line: int) -> SiteFileError:
        return self.error_on(line, f"more than {MOST_SITES:,} sites; split the file")

    def _refuse_too_many_sites(self) -> None:
        """By counting lines, because parsing so many would take minutes."""
        if self._may_span_lines:
            return
        for count, match in enumerate(_SITE_BEGINS.finditer(self.text)):
            if count == MOST_SITES:
                raise self.too_many_sites(self._line_at(match.start()))

    def _line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def _syntax_error(self, message: str) -> SiteFileError:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
        problem = message[: place.start()] if place else message
        line = int(place[1]) if place and place[1] else self.text.rstrip().count("\n") + 1
        positions = TomlPositions.from_text(self.text)
        statement = positions.statement_at(line)
        if statement and re.match("Cannot (declare|overwrite|mutate|redefine)", problem):
            return self._defined_twice(positions, statement)
        if problem == r"Illegal character '\n'":  # as the parser calls a string left open
            problem = "a text has no closing quote"
        elif problem.startswith("Expected ']' at the end of a table declaration"):
            problem += '; quote a name with blanks, like [site."my site"]'
        return self.error_on(line, f"this is not TOML: {problem[:1].lower()}{problem[1:]}")

    def _defined_twice(self, positions: TomlPositions, statement: Statement) -> SiteFileError:
        line, path = statement
        if positions.line_of(path) == line and path[0] == "site":
            path = path[:2]
        what = f'site "{path[1]}"' if path[0] == "site" and len(path) == 2 else _as_written(path)
        first = positions.line_of(path)
        where = f"first on line {first}" if first < line else "both on this line"
        return self.error_on(line, f"{what} is defined twice ({where}); keep one of them")


def _as_written(path: Path) -> str:
    """A path as the user writes it: ``[site.docs] deadline``; elements go by their list."""
    names = [name for name in path if isinstance(name, str)]
    table_length = {"budget": 1, "grid": 1, "site": 2}.get(names[0], 0) if names else 0
    table = ".".join(_name_as_written(name) for name in names[:table_length])
    return " ".join([f"[{table}]" if table else "", *names[table_length:]]).strip()


def _name_as_written(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else f'"{repr(name)[1:-1]}"'


def _shortened(words: str) -> str:
    half = _LONGEST_PROBLEM // 2
    return words if len(words) <= _LONGEST_PROBLEM else f"{words[:half]} ... {words[-half:]}"


Path: TypeAlias = tuple[str | int, ...]

DEEPEST = 50
"""No site file nests values deeper than this; where one does, their lines are not recorded."""

_TOKEN = re.compile(
    r"""
      (?P<space> [ \t\r]+ | \#[^\n]* )
    | (?P<newline> \n )
    | (?P<string> \"{3} (?: \\. | [^\\] )*? (?: \"{3,5} | \Z ) | '{3} .*? (?: '{3,5} | \Z )
                | " [^"\\\n]*+ (?: \\. [^"\\\n]*+ )* "? | '[^'\n]*+'? )
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
    """The line of each table, key and array element of a TOML text.

    The standard parser gives values without lines, and error messages need them. This walks the
    tokens of the text once more and records lines; it validates nothing. It is run only when there
    is an error to report, so a valid file pays nothing for it. On a text that is not TOML it
    records what it can and never fails: nesting is kept on a stack of its own, not by recursion.

    A path is a tuple of names, with numbers for array elements: the second seed of site docs is
    ``("site", "docs", "seeds", 1)``.

    The lines found in one text.
    """

    lines: dict[Path, int] = msgspec.field(default_factory=dict)
    """The line on which each path is first named; a table that is only implied counts as named."""
    statements: list[Statement] = msgspec.field(default_factory=list)
    """In the order of the text."""
    too_deep: int | None = None
    """The first line on which values are nested deeper than `DEEPEST`."""

    @classmethod
    def from_text(cls, text: str) -> TomlPositions:
        """Walk a text.

        >>> positions = TomlPositions.from_text('[site."a b"]\\nseeds = [\\n  "x",\\n  "y",\\n]')
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
