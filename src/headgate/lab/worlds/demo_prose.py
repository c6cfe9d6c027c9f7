"""Readable filler: the same key gives the same text, whatever was written before."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

__all__ = ["Prose"]

_ADJECTIVES = (
    *("old", "quiet", "narrow", "wide", "northern", "hidden", "patient", "green", "wooden"),
    *("early", "careful", "broad", "silver", "distant", "muddy", "steady"),
)
_NOUNS = (
    *("river", "sluice", "mill", "keeper", "canal", "heron", "barge", "gate", "meadow", "bridge"),
    *("weir", "lantern", "ferry", "reed", "orchard", "engine", "gauge", "harbour", "levee", "pump"),
)
_VERBS = (
    *("feeds", "follows", "measures", "crosses", "guards", "turns", "fills", "remembers"),
    *("divides", "carries", "shelters", "slows"),
)
_PLACES = (
    *("before the flood", "below the weir", "at first light", "in the dry season"),
    *("behind the mill", "without a sound", "year after year", "where the water bends"),
)


class Prose:
    """Draws from a stream of bytes that depends on the key alone."""

    def __init__(self, *key: object) -> None:
        self._key = repr(key).encode()
        self._block = 0
        self._bytes = b""

    def number(self, below: int) -> int:
        """Evenly enough for prose."""
        if len(self._bytes) < 2:
            self._bytes = blake2b(self._key + self._block.to_bytes(4)).digest()
            self._block += 1
        drawn, self._bytes = self._bytes[:2], self._bytes[2:]
        return int.from_bytes(drawn) % below

    def title(self) -> str:
        """
        >>> Prose(1, "news").title() == Prose(1, "news").title()
        True
        """
        return f"The {self._pick(_ADJECTIVES)} {self._pick(_NOUNS)}"

    def paragraphs(self, size: int) -> list[str]:
        """Paragraphs of about so many characters in all."""
        paragraphs = []
        while size > 0:
            paragraph = " ".join(self._sentence() for _ in range(4 + self.number(4)))
            paragraphs.append(paragraph)
            size -= len(paragraph) + len("<p></p>\n")
        return paragraphs

    def _sentence(self) -> str:
        one, other = (f"the {self._pick(_ADJECTIVES)} {self._pick(_NOUNS)}" for _ in range(2))
        return f"{one[0].upper()}{one[1:]} {self._pick(_VERBS)} {other} {self._pick(_PLACES)}."

    def _pick(self, words: Sequence[str]) -> str:
        return words[self.number(len(words))]
