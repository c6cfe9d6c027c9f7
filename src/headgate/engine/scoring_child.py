"""The process in which a user's own scorer runs; its argument is the scorer's name.

Pages come in, scores go out, both as MessagePack; the first message out is empty, or says why the
scorer cannot be loaded. What the scorer prints goes to standard error.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import msgspec

from headgate.crawling.child_process import Pipe
from headgate.focus.signs import LinkSigns, PageSigns

__all__ = ["GROUP", "Scored", "load_scorer", "main"]

GROUP = "headgate.scorers"
_LONGEST_WORDS = 300

Score = Callable[[LinkSigns, PageSigns], float]


class Scored(msgspec.Struct, frozen=True, array_like=True):
    """The answer for one page."""

    scores: dict[str, float]
    """Of the links that could be scored."""
    faults: int = 0
    fault: str = ""
    """The first fault, in words."""


def load_scorer(name: str) -> Score:
    """By ``module:function``, or by the name of an entry point."""
    module, colon, function = name.partition(":")
    if colon:
        found = import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    else:
        from importlib.metadata import entry_points

        (point,) = entry_points(group=GROUP, name=name)
        found = point.load()
    if not callable(found):
        raise TypeError(f"{name} is not a function")
    return found


def score_page(score: Score, page: PageSigns) -> Scored:
    scores: dict[str, float] = {}
    faults, fault = 0, ""
    for link in page.links:
        try:
            value = float(score(link, page))
            if not math.isfinite(value):
                raise ValueError(f"{value} is no score")  # noqa: TRY301 - counted like any other
            scores[link.url] = min(max(value, 0.0), 1.0)
        except Exception as error:
            faults += 1
            fault = fault or _in_words(error)
    return Scored(scores, faults, fault)


def _in_words(error: Exception) -> str:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words[:_LONGEST_WORDS].encode("utf-8", "replace").decode()


def main(pipe: Pipe, name: str) -> None:
    sys.path.insert(0, str(Path.cwd()))  # where a user's module is looked for first
    decode = msgspec.msgpack.Decoder(PageSigns).decode
    try:
        score = load_scorer(name)
    except Exception as error:
        pipe.send(_in_words(error).encode())
        return
    pipe.send(b"")
    for page in pipe:
        pipe.send(msgspec.msgpack.encode(score_page(score, decode(page))))
