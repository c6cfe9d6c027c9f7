"""The process in which a user's own scorer runs; its arguments are the name and its parent's id.

Pages come in on standard input, scores go out on what was standard output, both as MessagePack with
four bytes of length before each message; the first message out is empty, or says why the scorer
cannot be loaded. What the scorer prints goes to standard error.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

import msgspec

from headgate.crawling.child_process import die_with_parent, leave_signals_to_parent
from headgate.focus.signs import LinkSigns, PageSigns

__all__ = ["GROUP", "LENGTH_BYTES", "Scored", "load_scorer"]

GROUP = "headgate.scorers"
LENGTH_BYTES = 4
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


def serve(name: str, requests: BinaryIO, answers: BinaryIO) -> None:
    decode = msgspec.msgpack.Decoder(PageSigns).decode
    try:
        score = load_scorer(name)
    except Exception as error:
        _send(answers, _in_words(error).encode())
        return
    _send(answers, b"")
    while length := requests.read(LENGTH_BYTES):
        page = decode(requests.read(int.from_bytes(length)))
        _send(answers, msgspec.msgpack.encode(score_page(score, page)))


def _send(answers: BinaryIO, message: bytes) -> None:
    answers.write(len(message).to_bytes(LENGTH_BYTES) + message)
    answers.flush()


def _in_words(error: Exception) -> str:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words[:_LONGEST_WORDS].encode("utf-8", "replace").decode()


def main() -> None:
    """The parent handles signals."""
    name, parent = sys.argv[1:]
    leave_signals_to_parent()
    die_with_parent(int(parent))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(name, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
