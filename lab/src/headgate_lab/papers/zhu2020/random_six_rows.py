"""The six sites with random deadlines as rows of text, results obtained independently beside."""

from __future__ import annotations

from headgate_lab.papers.zhu2020.random_six import RandomSix
from headgate_lab.papers.zhu2020.reference import SIX_SITES
from headgate_lab.papers.zhu2020.reproduction import Reproduction

__all__ = ["RANDOM_SIX_COLUMNS", "random_six_rows"]

RANDOM_SIX_COLUMNS = {950: ("latest end", "sum of times"), 1300: ("total lateness",)}
"""By what Eq. 1 asks for; after each, what others found."""
_FIGURES = {"latest end": "max_time", "sum of times": "total_time", "total lateness": "lateness"}


def random_six_rows(reproduction: Reproduction, asked: int) -> list[list[str]]:
    return [
        [
            found.policy,
            *(cell for name in RANDOM_SIX_COLUMNS[asked] for cell in _cells(found, name)),
        ]
        for found in reproduction.random_six
        if found.asked == asked
    ]


def _cells(found: RandomSix, name: str) -> tuple[str, str]:
    mean, spread = (getattr(one, _FIGURES[name]) for one in (found.mean, found.spread))
    known = SIX_SITES[name].get(found.policy)
    return f"{mean:.1f} ± {spread:.1f}", "" if known is None else f"{known:g}"
