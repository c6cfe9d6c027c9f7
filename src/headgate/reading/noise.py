"""What differs between two copies of a page and is no change: dates, times, counters, tokens.

A line is compared after its noise is taken out. What counts as noise by itself:

- dates and times of day in the usual forms, and "3 hours ago";
- numbers of visitors, views, hits, downloads, comments and the like;
- long tokens: sixteen or more letters and digits, both among them, without a blank.

Users add patterns of their own. Other numbers, such as prices, count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.errors import UserMistake

__all__ = ["EXACT", "Noise"]

_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_COUNTED = (
    "views?|visits?|visitors?|hits?|reads?|downloads?|comments?|likes?|shares?|followers?"
    "|members?|users?|guests?|online"
)
_USUAL = (
    r"\b\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    r"\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b",
    rf"\b{_DAY}\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}\b",
    rf"\b{_DAY}{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    r"\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?(?: (?:UTC|GMT|CET|CEST))?",
    r"\b(?:\d+|an?|one) (?:second|minute|hour|day|week|month|year)s? ago\b",
    rf"\b\d[\d.,]*[kKmM]? (?:{_COUNTED})\b",
    rf"\b(?:{_COUNTED})(?: today)?: ?\d[\d.,]*",
    r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}(?![\w-])",
)
_MOST_PATTERN = 500


@dataclass(frozen=True, slots=True)
class Noise:
    pattern: re.Pattern[str] | None

    @classmethod
    def usual(cls, more: Sequence[str] = ()) -> Noise:
        """With the user's own patterns beside.

        >>> noise = Noise.usual([r"Offer \\d+"])
        >>> noise.without("Offer 12: 1,204 views on 3 May 2026, 5 EUR")
        ': on , 5 EUR'
        """
        return cls(re.compile("|".join((*_USUAL, *map(_checked, more))), re.IGNORECASE))

    def without(self, line: str) -> str:
        """What of a line counts."""
        if self.pattern is None:
            return line
        return " ".join(self.pattern.sub(" ", line).split())


EXACT = Noise(None)
"""Every letter counts."""


def _checked(pattern: str) -> str:
    if len(pattern) > _MOST_PATTERN:
        raise UserMistake(f"a pattern has at most {_MOST_PATTERN} letters; this has {len(pattern)}")
    try:
        re.compile(pattern)
    except re.error as error:
        raise UserMistake(f"{pattern!r} is no pattern: {error}") from None
    return f"(?:{pattern})"
