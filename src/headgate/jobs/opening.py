"""The run that a job fills: a new one, or the unfinished one of its collection.

A collection has one unfinished run at the most, a crawl's or a survey's, and whoever comes goes on
with it, gives it up, or goes elsewhere. What was asked is kept with the run.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection, RunFolder

__all__ = ["JobKind", "kind_of", "open_run", "refuse_unfinished"]


class JobKind(StrEnum):
    """Named as its command is."""

    CRAWL = "crawl"
    SURVEY = "survey"
    KEEP = "keep"
    MANAGER = "manager"
    SCRAPY = "scrapy"

    @property
    def state(self) -> str:
        """Under which name what was asked is kept."""
        return "request" if self is JobKind.CRAWL else self.value


def kind_of(run: RunFolder) -> JobKind | None:
    """Of a run that is not finished; None: it was killed at birth, before it was anything."""
    return next((kind for kind in JobKind if run.load(kind.state) is not None), None)


def refuse_unfinished(collection: Collection, kind: JobKind) -> None:
    """Raises `UserMistake` where somebody of another kind has to finish first."""
    unfinished = collection.unfinished_run()
    found = None if unfinished is None else kind_of(unfinished)
    if unfinished is None or found in (None, kind):
        return
    if found is JobKind.KEEP:
        raise UserMistake(
            f"{collection.path} is kept by 'headgate keep', which was not ended in order; start it"
            f" again, give its last volume up with {_giving_up(collection)}, or name another"
            " folder with --out"
        )
    manager = found is JobKind.MANAGER
    finish = f"'headgate {found}{'' if manager else f' --resume --out {collection.path}'}'"
    if found is JobKind.SCRAPY:
        finish = "the spider, run again"
    raise UserMistake(
        f"{collection.path} has an unfinished {found} ({unfinished.stamp}); finish it with"
        f" {finish}, give it up with {_giving_up(collection)}, or name another folder with --out"
    )


def _giving_up(collection: Collection) -> str:
    return f"'headgate crawl --abandon --out {collection.path}'"


def open_run(
    collection: Collection, kind: JobKind, request: bytes, started: datetime, *, resume: bool
) -> RunFolder:
    """Needs the collection's lock. A manager always goes on with its own."""
    refuse_unfinished(collection, kind)
    unfinished = collection.unfinished_run()
    found = None if unfinished is None else kind_of(unfinished)
    if resume:
        if unfinished is None:
            raise UserMistake(f"{collection.path} has no unfinished {kind}; leave out --resume")
        unfinished.refuse_links()
        return unfinished
    if unfinished is not None and found is JobKind.MANAGER:
        unfinished.refuse_links()
        return unfinished
    if unfinished is not None and found is not None:
        raise UserMistake(
            f"{collection.path} has an unfinished {kind} ({unfinished.stamp}); go on with --resume,"
            f" give it up with {_giving_up(collection)}, or name another folder with --out"
        )
    run = unfinished or collection.new_run(started)
    run.save(kind.state, request)
    return run
