"""``headgate survey diff A B``: what has changed between two surveys."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection
from headgate.storage.survey_log import SURVEY_LOG, read_survey
from headgate.survey.difference import SurveyDifference, difference

__all__ = ["show_diff"]

_SHOWN = 20


def show_diff(words: Sequence[str], *, as_json: bool) -> int:
    """Print the difference; exit code 0 whether there is one or not."""
    if len(words) != 2:
        raise UserMistake("survey diff wants two surveys: their folders, the older first")
    before, after = (read_survey(_log(Path(word))) for word in words)
    found = difference(before, after)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
    else:
        print("\n".join(_lines(found)))
    return 0


def _log(folder: Path) -> Path:
    """Of a run's own folder, or the newest survey of a collection."""
    if (folder / SURVEY_LOG).is_file():
        return folder / SURVEY_LOG
    runs = Collection(folder).runs() if folder.is_dir() else []
    for run in runs:
        if (run.path / SURVEY_LOG).is_file():
            return run.path / SURVEY_LOG
    raise UserMistake(f"{folder} holds no survey; name what --out was, or a folder in its runs/")


def _lines(found: SurveyDifference) -> Iterator[str]:
    yield from _part("servers gone", found.servers_gone)
    yield from _part("servers new", found.servers_new)
    moves = [f"{move.server}: {move.before} -> {move.after}" for move in found.servers_moved]
    yield from _part("servers moved", moves)
    yield from _part("servers not asked this time", found.servers_not_asked)
    yield from _part("links gone", [f"{link.server} -> {link.host}" for link in found.links_gone])
    yield from _part("links new", [f"{link.server} -> {link.host}" for link in found.links_new])
    yield f"links on pages that only one survey asked for: {found.links_unsure:,}"


def _part(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"{title}: {len(names):,}"
    yield from (f"  {name}" for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        yield f"  ... and {len(names) - _SHOWN:,} more (--json has all)"
