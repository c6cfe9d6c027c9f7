"""Starting URLs: from the command line, or from a list of which some lines may be no URLs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from headgate.cli.site_files import read_text
from headgate.model.errors import UserMistake
from headgate.reading.urls import host, normalise

__all__ = ["read_starts"]

_COMPLAINTS = 20
_LIST_ENDINGS = (".txt", ".csv", ".lst", ".list")
"""A word that ends so and is no file was meant to be one: no host is called so."""


def read_starts(words: Sequence[str]) -> tuple[str, ...]:
    """The URLs of a list, or the words themselves; each once, in their order."""
    if len(words) == 1 and (words[0] == "-" or Path(words[0]).is_file()):
        listed = _listed(words[0])
        if not listed:
            raise UserMistake(f"{words[0]}: no line of it is a URL")
        return listed
    starts = []
    for word in words:
        start = None if word.endswith(_LIST_ENDINGS) and "://" not in word else _start(word)
        if start is None:
            raise UserMistake(_no_start(word))
        starts.append(start)
    return tuple(dict.fromkeys(starts))


def _no_start(word: str) -> str:
    if word == "-" or Path(word).is_file():
        return f"{word!r} is a list, and a list stands alone; put all URLs into one"
    if Path(word).is_dir():
        return f"{word!r} is a folder; name a list of URLs, or a URL"
    return f"{word!r} is no URL of http or https, nor a file"


def _listed(path: str) -> tuple[str, ...]:
    """Bad lines are named, and left out: a list of thousands always has some."""
    starts: dict[str, None] = {}
    bad = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        start = _start(text)
        if start is not None:
            starts[start] = None
            continue
        bad += 1
        if bad <= _COMPLAINTS:
            sys.stderr.write(f"headgate: {path}:{number}: {text[:80]!r} is no URL; left out\n")
    if bad > _COMPLAINTS:
        sys.stderr.write(f"headgate: {path}: {bad - _COMPLAINTS:,} more lines are no URLs\n")
    return tuple(starts)


def _start(text: str) -> str | None:
    if any(char.isspace() for char in text):
        return None
    url = normalise(text if "://" in text else f"http://{text}")
    name = "" if url is None else host(url)
    return url if "." in name or ":" in name or name == "localhost" else None
