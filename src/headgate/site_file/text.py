"""The text of a site file: parses it as TOML, and finds the line that an error is about.

Lines are looked up only when there is an error to report.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.model.errors import SiteFileError
from headgate.site_file.toml_positions import Path, Statement, TomlPositions

__all__ = ["MOST_SITES", "SiteFileText"]

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
    """A site file before its values are read."""

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
            line = TomlPositions.of(self.text).too_deep or 1
            raise self.error_on(line, "values are nested too deeply") from None
        except ValueError:
            digits = re.search(r"[0-9_]{4000,}", self.text)
            line = self._line_at(digits.start()) if digits else 1
            raise self.error_on(line, "a number has too many digits") from None

    def error(self, problem: str, at: Path) -> SiteFileError:
        """An error about a table, a key or a list's element."""
        line = TomlPositions.of(self.text).line_of(at)
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
        positions = TomlPositions.of(self.text)
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
