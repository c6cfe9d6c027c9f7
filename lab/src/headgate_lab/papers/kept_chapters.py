"""Finished chapters, kept beside the report until it is written: an interrupted run continues with
them, and within a chapter with its next instance. They are used only if the arguments and the
program are exactly the same.

Instances are pickles, which may run code when loaded: they are in the user's own cache, not beside
the report, whose folder may belong to somebody else."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import headgate
from headgate.model.errors import UserMistake
from headgate.report.markup import raw
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.claim import Claim
from headgate_lab.papers.kept_tasks import kept_tasks
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.reproducing import Trial

__all__ = ["KeptChapters"]

_ROOTS = (Path(headgate.__file__).parent, Path(__file__).parents[1])
"""Of both packages."""


class KeptChapters:
    def __init__(self, report: Path, trial: Trial) -> None:
        self.folder = report.with_name(f"{report.name}.parts")
        self._instances = _cache() / sha256(str(report.resolve()).encode()).hexdigest()[:16]
        self._key = {**trial.as_key(), "program": _program()}

    def open(self) -> None:
        """Check now that the report can be written."""
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as fault:
            raise UserMistake(f"{self.folder}: {fault.strerror or fault}") from None

    def taken_up(self, paper: str) -> tuple[Chapter, float] | None:
        """A kept chapter with the seconds that it took; None: it must be made."""
        try:
            kept = json.loads(self._path(paper).read_text(encoding="utf-8"))
            if kept["key"] != self._key:
                return None
            found = kept["chapter"]
            return _chapter(found), float(kept["seconds"])
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def keep(self, chapter: Chapter, seconds: float) -> None:
        kept = {"key": self._key, "seconds": seconds, "chapter": asdict(chapter)}
        path = self._path(chapter.paper)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(kept), encoding="utf-8")
        new.replace(path)

    def remembering(self, paper: str, mapper: Mapper) -> Mapper:
        """The same mapper, continuing with instances of an interrupted run."""
        key = sha256(json.dumps(self._key, sort_keys=True).encode()).hexdigest()
        self._instances.mkdir(parents=True, exist_ok=True)
        return kept_tasks(self._instances / paper, key, mapper)

    def forget(self) -> None:
        """The report is written."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self._instances, ignore_errors=True)

    def _path(self, paper: str) -> Path:
        return self.folder / f"{paper}.json"


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "headgate", "lab")


def _chapter(found: dict[str, Any]) -> Chapter:
    fields = dict(found)
    claims, parts = fields.pop("claims"), fields.pop("parts")
    return Chapter(
        claims=[Claim(**claim) for claim in claims],
        parts=[Part(part["heading"], raw(part["content"]), part["note"]) for part in parts],
        **fields,
    )


@cache
def _program() -> str:
    """A digest of this program's own files."""
    digest = sha256()
    for root in _ROOTS:
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
