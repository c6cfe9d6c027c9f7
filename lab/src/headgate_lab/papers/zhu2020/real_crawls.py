"""Fig. 11 and 12: how long real sites take, against rate and against size.

The paper's downloads were of three web sites as of 2020. Here three documentation sites were
crawled on the bed (``python -m bench.site_times``, which prints these rows); they are shown as
they were measured, for a crawl of minutes needs root and does not belong in a first look."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CRAWLS", "MEASURED", "ONE_RATE", "Crawled", "alpha"]

MEASURED = "17 November 2026, in a network namespace 20 ms away, beside other programs"
ONE_RATE = 300_000
"""Of Fig. 12."""


@dataclass(frozen=True, slots=True)
class Crawled:
    kind: str
    rate: int
    """Bytes per second."""
    payload: int
    """D, bytes of bodies."""
    pages: int
    seconds: float


CRAWLS = (
    Crawled("small pages", 100000, 2573335, 74, 27.27),
    Crawled("small pages", 200000, 2573335, 74, 14.13),
    Crawled("small pages", 300000, 2573335, 74, 9.42),
    Crawled("small pages", 400000, 2573335, 74, 7.93),
    Crawled("small pages", 500000, 2573335, 74, 6.35),
    Crawled("small pages", 300000, 466247, 18, 2.06),
    Crawled("small pages", 300000, 1696673, 37, 6.47),
    Crawled("small pages", 300000, 2263470, 56, 8.32),
    Crawled("large pages", 100000, 3900380, 17, 41.02),
    Crawled("large pages", 200000, 3900380, 17, 20.88),
    Crawled("large pages", 300000, 3900380, 17, 13.93),
    Crawled("large pages", 400000, 3900380, 17, 11.02),
    Crawled("large pages", 500000, 3900380, 17, 8.81),
    Crawled("large pages", 300000, 771236, 4, 3.51),
    Crawled("large pages", 300000, 873624, 8, 3.88),
    Crawled("large pages", 300000, 2835960, 13, 10.30),
    Crawled("with pictures", 100000, 7156097, 210, 75.63),
    Crawled("with pictures", 200000, 7156097, 210, 38.15),
    Crawled("with pictures", 300000, 7156097, 210, 25.51),
    Crawled("with pictures", 400000, 7156097, 210, 19.31),
    Crawled("with pictures", 500000, 7156097, 210, 15.62),
    Crawled("with pictures", 300000, 943156, 52, 3.66),
    Crawled("with pictures", 300000, 1902645, 105, 7.23),
    Crawled("with pictures", 300000, 3579463, 158, 13.25),
)


def alpha(kind: str) -> float:
    """Of Eq. 17, t = α D / v: the slope of t·v over D through all crawls of a site."""
    found = [(one.seconds * one.rate, one.payload) for one in CRAWLS if one.kind == kind]
    return sum(work * size for work, size in found) / sum(size * size for _, size in found)
