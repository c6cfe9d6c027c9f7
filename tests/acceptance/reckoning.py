"""A run reckoned anew from what it left and what others saw of it, never from its own report.

The archive tells pages, bytes of content and errors; a stopwatch beside the process tells how long
its legs took; the server's log tells when which bytes left it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from .small_web import SmallWeb

__all__ = ["Leg", "Reckoned", "interrupted", "reckon", "run_leg", "stopped_for", "worst_second"]

COMMAND = [sys.executable, "-m", "headgate"]


@dataclass(frozen=True)
class Leg:
    """One process: how long it was there, and how long it is seen to have crawled."""

    seconds: float
    seen_seconds: float
    """From the first request that a server saw to the last. (A response may be under way long after
    the process that wanted it has gone.)"""
    code: int
    out: str
    err: str

    @property
    def report(self) -> Any:
        return json.loads(self.out)


def run_leg(*words: object, web: SmallWeb | None = None) -> Leg:
    """To its end."""
    began = time.monotonic()
    seen = 0 if web is None else len(web.asked_at)
    done = subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=90, check=False
    )
    return Leg(*_took(began, seen, web), done.returncode, done.stdout, done.stderr)


def interrupted(sign: int, *words: object, web: SmallWeb, after_seconds: float) -> Leg:
    """Sends a signal so long after the first request."""
    began = time.monotonic()
    seen = len(web.asked_at)
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while len(web.asked_at) == seen and time.monotonic() < began + 30:
        time.sleep(0.01)
    time.sleep(after_seconds)
    process.send_signal(sign)
    out, err = process.communicate(timeout=60)
    return Leg(*_took(began, seen, web), process.returncode, out, err)


def stopped_for(seconds: float, *words: object, web: SmallWeb) -> Leg:
    """To its end, stopped for so long in the middle."""
    began, seen = time.monotonic(), len(web.asked_at)
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while len(web.asked_at) < seen + 10 and time.monotonic() < began + 30:
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    return Leg(*_took(began, seen, web), process.returncode, out, err)


def _took(began: float, seen: int, web: SmallWeb | None) -> tuple[float, float]:
    moments = web.asked_at[seen:] if web is not None else []
    return time.monotonic() - began, moments[-1] - moments[0] if moments else 0.0


@dataclass
class Reckoned:
    """Of the newest run of a collection."""

    pages: int = 0
    content_bytes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


def reckon(out: Path) -> Reckoned:
    """By its WARC files alone."""
    found = Reckoned()
    newest = sorted(path for path in out.glob("runs/*") if path.is_dir())[-1]
    for path in sorted(newest.glob("warc/*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=False):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                if record.rec_type not in ("response", "revisit"):
                    continue
                status = record.http_headers.get_statuscode()
                found.content_bytes += len(record.raw_stream.read())
                if url.endswith(("/robots.txt", "/sitemap.xml")):
                    continue
                found.statuses[status] += 1
                found.pages += status in ("200", "304")
    return found


def worst_second(served: Sequence[tuple[float, int]]) -> float:
    """The most bytes that left the server in any second."""
    most = 0
    for start, _ in served:
        most = max(most, sum(size for moment, size in served if start <= moment < start + 1.0))
    return most
