r"""Which fetched pages are stored: by media type, by size, by URL.

A rule has words of three kinds: ``application/pdf`` or ``image/*`` is a media type; ``< 5 MB`` and
``> 10 KB`` bound the size of the body as transferred; anything else is a regular expression that is
searched for in the URL (one that looks like a type must begin with a slash or have a dot escaped).
A page must match one of the types and one of the expressions, if there are any, and all sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.patterns import Pattern, url_pattern
from headgate.model.units import parse_size

__all__ = ["StoreRule"]

_TYPE = re.compile(r"(?:[\w.+-]+|\*)/(?:[\w.+-]+|\*)")


class StoreRule(msgspec.Struct, frozen=True):
    """The rule of one site."""

    types: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    least: float = 0.0
    most: float = float("inf")

    @classmethod
    def parse(cls, words: Sequence[str]) -> Self:
        """Read a rule.

        >>> rule = StoreRule.parse(["application/pdf", "< 5 MB", "/reports/"])
        >>> rule.keeps("http://a/reports/1", "application/pdf; x=1", 4_000_000)
        True
        >>> rule.keeps("http://a/1", "application/pdf", 10)
        False
        >>> rule.keeps("http://a/reports/1", "text/html", 10)
        False
        """
        types, patterns, least, most = [], [], 0.0, float("inf")
        for word in map(str.strip, words):
            if not word:
                raise UserMistake(
                    "an empty word keeps nothing; write a type like 'application/pdf'"
                )
            if word[0] == "<":
                most = min(most, parse_size(word[1:]))
            elif word[0] == ">":
                least = max(least, parse_size(word[1:]))
            elif _TYPE.fullmatch(word):
                types.append(word.lower())
            else:
                patterns.append(url_pattern(word))
        if least >= most:
            raise UserMistake("no size is within these bounds; turn them round")
        return cls(tuple(types), tuple(patterns), least, most)

    def keeps(self, url: str, kind: str, size: int) -> bool:
        """``kind`` is the Content-Type header; empty: there is none."""
        kind = kind.partition(";")[0].strip().lower()
        if self.types and not any(_fits(kind, wanted) for wanted in self.types):
            return False
        if self.patterns and not any(pattern.search(url) for pattern in self.patterns):
            return False
        return (not self.least or size > self.least) and size < self.most


def _fits(kind: str, wanted: str) -> bool:
    group, _, name = wanted.partition("/")
    mine, _, own = kind.partition("/")
    return group in ("*", mine) and name in ("*", own)
