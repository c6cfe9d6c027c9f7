"""Noise: differences between two copies of a page that are no change: dates, counters, tokens.

A line is compared after its noise is removed. By default, noise is:

- dates and times of day in the usual forms, and "3 hours ago";
- numbers of visitors, views, hits, downloads, comments and the like;
- long tokens: sixteen or more letters and digits, both among them, without a blank.

Users can add patterns for text, and selectors for elements to ignore. Other numbers, such as
prices, count.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from headgate.model.keeping import CSS_MARK
from headgate.model.selector import parse_selectors
from headgate.reading.without_elements import ElementNames
from headgate.site_file.keeping_values import check_ignore_rule

__all__ = ["EXACT", "Noise", "noise_of"]

_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE = rf"\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}\b"
_AGO = "(?:second|minute|hour|day|week|month|year)s? ago\\b"
_COUNTED = (
    "views?|visits?|visitors?|hits?|reads?|downloads?|comments?|likes?|shares?|followers?"
    "|members?|users?|guests?|online"
)
_BEGUN_BY_DIGITS = (
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    r"\d{1,2}[./]\d{1,2}[./]\d{2,4}\b",
    _DATE,
    r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?(?: (?:UTC|GMT|CET|CEST))?",
    rf"\d{{1,6}} {_AGO}",
    rf"\d[\d.,]{{0,20}}[kKmM]? (?:{_COUNTED})\b",
)
_BEGUN_BY_LETTERS = (
    rf"{_DAY}{_DATE}",
    rf"{_DAY}{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    rf"(?:an?|one) {_AGO}",
    rf"(?:{_COUNTED})(?: today)?: ?\d[\d.,]{{0,20}}",
)
_TOKEN = r"(?<!-)(?=[\w-]{16})(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}(?![\w-])"
_USUAL_NOISE = re.compile(
    rf"""(?<!\w)(?:(?=\d)(?:{"|".join(_BEGUN_BY_DIGITS)})
    |(?=[adfhjlmonrstuvwcg])(?:{"|".join(_BEGUN_BY_LETTERS)})|{_TOKEN})""".replace("\n    ", ""),
    re.IGNORECASE,
)
"""Selected by the first letter of a word, for speed."""
_MAYBE_USUAL = re.compile(r"\d| ago", re.IGNORECASE)
"""What every default noise contains: most lines do not, and skip the rest."""


@dataclass(frozen=True, slots=True)
class Noise:
    usual: bool
    patterns: tuple[re.Pattern[str], ...] = ()
    elements: ElementNames | None = None

    @classmethod
    def of(cls, ignore: Sequence[str] = ()) -> Noise:
        """The default noise and the user's rules.

        >>> noise = Noise.of([r"Offer \\d+", "css:.clock"])
        >>> noise.without("Offer 12: 1,204 views on 3 May 2026, 5 EUR")
        ': on , 5 EUR'
        """
        for rule in ignore:
            check_ignore_rule(rule)
        named = [rule.removeprefix(CSS_MARK) for rule in ignore if rule.startswith(CSS_MARK)]
        selectors = [selector for rule in named for selector in parse_selectors(rule)]
        return cls(
            True,
            tuple(_pattern(rule) for rule in ignore if not rule.startswith(CSS_MARK)),
            ElementNames.of(selectors) if selectors else None,
        )

    def without(self, line: str) -> str:
        """A line without noise; blanks do not count."""
        left = line
        for pattern in self.patterns:
            left = pattern.sub(" ", left)
        if self.usual and _MAYBE_USUAL.search(left):
            left = _USUAL_NOISE.sub(" ", left)
        return line if left is line else " ".join(left.split())

    def without_elements(self, page: str) -> str:
        """An HTML page without ignored elements."""
        return page if self.elements is None else self.elements.taken_out(page)


EXACT = Noise(usual=False)
"""Every letter counts."""


@lru_cache(maxsize=1_000)
def noise_of(ignore: tuple[str, ...]) -> Noise:
    """`Noise.of`, cached."""
    return Noise.of(ignore)


def _pattern(rule: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of what a later Python will refuse
        return re.compile(rule, re.IGNORECASE)
