"""When real pages changed: terms and policies of services, watched for four years.

From Open Terms Archive (ODC-BY 1.0, see ``data/SOURCE.txt``): polled every 6 to 12 hours, so a
change's time is that of the poll that saw it. Pages in use: recorded before and after the first
day."""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

import numpy as np

from headgate.features.keep.recrawl.arrays import FloatArray

__all__ = ["DAYS", "WatchedPage", "halves", "watched_pages"]

_FIRST = datetime(2022, 9, 15, tzinfo=UTC).timestamp()
_LAST = datetime(2026, 8, 1, tzinfo=UTC).timestamp()
_DAY = 86_400.0
DAYS = (_LAST - _FIRST) / _DAY
_SHUFFLE_SEED = 7


@dataclass(frozen=True, slots=True)
class WatchedPage:
    """Times are days since the first. The site is the service: one that several collections watch
    is one."""

    site: str
    changes: FloatArray
    text_bytes: float
    """The mean of its versions."""


def watched_pages() -> list[WatchedPage]:
    """In the order of their names."""
    rows: dict[str, list[tuple[float, str, float]]] = defaultdict(list)
    for row in _rows():
        key = "|".join((row["collection"], row["service"], row["document"]))
        rows[key].append((float(row["unix_time"]), row["kind"], float(row["bytes"])))
    return [
        _page(key, sorted(versions))
        for key, versions in sorted(rows.items())
        if min(versions)[0] < _FIRST < max(versions)[0]
    ]


def halves(pages: list[WatchedPage]) -> tuple[list[WatchedPage], list[WatchedPage]]:
    """For tuning, and held out."""
    order = np.random.default_rng(_SHUFFLE_SEED).permutation(len(pages))
    middle = len(pages) // 2
    return [pages[i] for i in order[:middle]], [pages[i] for i in order[middle:]]


def _rows() -> Iterator[dict[str, str]]:
    packed = files(__package__).joinpath("data", "changes.csv.gz").read_bytes()
    yield from csv.DictReader(io.StringIO(gzip.decompress(packed).decode()))


def _page(key: str, versions: list[tuple[float, str, float]]) -> WatchedPage:
    changes = [
        (time - _FIRST) / _DAY
        for time, kind, _ in versions
        if kind == "changed" and _FIRST < time <= _LAST
    ]
    text_bytes = float(np.mean([size for _, _, size in versions]))
    _, service, _ = key.split("|")
    return WatchedPage(service, np.array(changes), text_bytes)
