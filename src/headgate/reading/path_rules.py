"""Path rules: which of a robots file's Allow and Disallow lines decides about a URL.

RFC 9309, 2.2.2: the rule with the most octets that matches decides; of two with as many, Allow
does; none matches: allowed. ``*`` stands for any octets, ``$`` at the end for the end of the path.

Paths are compared octet by octet with all percent escapes read, on both sides, so that no rule and
no URL escapes the other by spelling. The RFC says the same the other way round (escape what is
reserved, unescape what is not); of octets beyond ASCII each counts as the three of its escape.

Rules without wildcards, nine in ten, are kept sorted, each with the longest other one that it
begins with: the last one not behind the path in that order is its longest match, or leads to it.
The others are tried from the longest down; their pieces are searched from left to right, never by
trial, so that time grows with the lengths of path and rules, whoever wrote them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

__all__ = ["PathRules"]

_OCTET = "latin-1"
"""Octets are kept as a string of the characters with their numbers."""


@dataclass(frozen=True, slots=True)
class _Wildcard:
    length: int
    allow: bool
    first: str
    rest: tuple[str, ...]
    """What must follow, in this order, after anything."""
    anchored: bool
    """The last piece ends the path."""

    @property
    def telling_piece(self) -> str:
        """A path without it cannot match: a quick way to pass most rules over."""
        return max((self.first, *self.rest), key=len)

    def matches(self, path: str) -> bool:
        if not path.startswith(self.first):
            return False
        place = len(self.first)
        middle = self.rest[:-1] if self.anchored else self.rest
        for piece in middle:
            place = path.find(piece, place)
            if place < 0:
                return False
            place += len(piece)
        if not self.anchored:
            return True
        last = self.rest[-1] if self.rest else ""
        room = len(path) - len(last) - place
        return room >= 0 and path.endswith(last) and (bool(self.rest) or room == 0)


class PathRules:
    """Some rules, ready to be asked."""

    __slots__ = ("_beginnings", "_literals", "_verdicts", "_wildcards")

    def __init__(self, rules: Iterable[tuple[str, bool]]) -> None:
        """Of pairs: a path as written, and whether it is allowed."""
        verdicts: dict[str, bool] = {}
        wildcards: set[_Wildcard] = set()
        for written, allow in rules:
            if "*" in written or written.endswith("$"):
                wildcards.add(_wildcard(written, allow))
            elif written:
                path = _octets(written)
                verdicts[path] = allow or verdicts.get(path, False)
        self._literals = sorted(verdicts)
        self._verdicts = [verdicts[path] for path in self._literals]
        self._beginnings = _beginnings(self._literals)
        longest_first = sorted(wildcards, key=lambda rule: (-rule.length, not rule.allow))
        self._wildcards = [(rule.length, rule.telling_piece, rule) for rule in longest_first]

    def allow(self, path: str) -> bool:
        """May this path be fetched? With its query, in normal form.

        >>> rules = PathRules([("/a", False), ("/a/b*.html$", True)])
        >>> rules.allow("/a/b/c.html"), rules.allow("/a/b/c.html?d"), rules.allow("/b")
        (True, False, True)
        """
        if "%" in path:
            path = unquote(path, _OCTET)
        longest, allowed = self._longest_literal(path)
        for length, piece, rule in self._wildcards:
            if length < longest:
                break
            if piece in path and rule.matches(path):
                return rule.allow or (allowed and length == longest)
        return allowed

    def _longest_literal(self, path: str) -> tuple[int, bool]:
        place = bisect_right(self._literals, path) - 1
        while place >= 0:
            if path.startswith(self._literals[place]):
                return _length(self._literals[place]), self._verdicts[place]
            place = self._beginnings[place]
        return 0, True


def _beginnings(literals: list[str]) -> list[int]:
    """For each of these sorted texts, the place of the longest other one it begins with, or -1."""
    found: list[int] = []
    for place, literal in enumerate(literals):
        earlier = place - 1
        while earlier >= 0 and not literal.startswith(literals[earlier]):
            earlier = found[earlier]
        found.append(earlier)
    return found


def _wildcard(written: str, allow: bool) -> _Wildcard:
    anchored = written.endswith("$")
    first, *rest = map(_octets, (written[:-1] if anchored else written).split("*"))
    length = _length(first) + sum(map(_length, rest)) + len(rest) + anchored
    return _Wildcard(length, allow, first, tuple(rest), anchored)


def _octets(written: str) -> str:
    return unquote(written.encode("utf-8", "surrogateescape").decode(_OCTET), _OCTET)


def _length(octets: str) -> int:
    return len(octets) if octets.isascii() else sum(1 if char < "\x80" else 3 for char in octets)
