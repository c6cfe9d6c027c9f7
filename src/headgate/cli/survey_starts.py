"""The starting URLs of a survey: from the command line, a file or stdin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headgate.cli.speaking import say
from headgate.jobs.site_files import read_text
from headgate.model.errors import UserMistake
from headgate.surveying.start_list import StartList, start_url

__all__ = ["read_starts"]

_COMPLAINTS = 20
_LIST_ENDINGS = (".txt", ".csv", ".lst", ".list")
"""A word with such an ending is a missing file, not a host."""


def read_starts(words: Sequence[str]) -> tuple[str, ...]:
    """The URLs of a list, or the words themselves; in order, without repetitions."""
    if len(words) == 1 and (words[0] == "-" or Path(words[0]).is_file()):
        return _listed(words[0])
    starts = []
    for word in words:
        start = None if word.endswith(_LIST_ENDINGS) and "://" not in word else start_url(word)
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
    found = StartList.of(read_text(path))
    for number, text in found.bad_lines[:_COMPLAINTS]:
        say(f"{path}:{number}: {text[:80]!r} is no URL; left out")
    if len(found.bad_lines) > _COMPLAINTS:
        say(f"{path}: {len(found.bad_lines) - _COMPLAINTS:,} more lines are no URLs")
    if not found.urls:
        raise UserMistake(f"{path}: no line of it is a URL")
    return found.urls
