"""The run that a job fills: a new one, or the unfinished one of its collection.

A collection has at most one unfinished run, of any kind of job; it has to be resumed or given up
before another can start. The request is kept with the run.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection, RunFolder

__all__ = ["JobKind", "giving_up", "going_on", "kind_of", "open_run", "refuse_unfinished"]


class JobKind(StrEnum):
    """By the name of its command."""

    CRAWL = "crawl"
    SURVEY = "survey"
    KEEP = "keep"
    MANAGER = "manager"
    SCRAPY = "scrapy"

    @property
    def state(self) -> str:
        """The name under which the request is kept."""
        return "request" if self is JobKind.CRAWL else self.value


def kind_of(run: RunFolder) -> JobKind | None:
    """The kind of an unfinished run; None: it was killed before its request was saved."""
    return next((kind for kind in JobKind if run.load(kind.state) is not None), None)


def refuse_unfinished(collection: Collection, kind: JobKind) -> None:
    """Raise `UserMistake` if a job of another kind has to be finished first."""
    unfinished = collection.unfinished_run()
    found = None if unfinished is None else kind_of(unfinished)
    if unfinished is None or found in (None, kind):
        return
    if found is JobKind.KEEP:
        raise UserMistake(
            f"{collection.path} is kept by 'headgate keep', which was not ended in order; start it"
            f" again, give its last volume up with {giving_up(unfinished)}, or name another"
            " folder with --out"
        )
    raise UserMistake(
        f"{collection.path} has an unfinished {found} ({unfinished.stamp}); finish it with"
        f" {going_on(unfinished)}, give it up with {giving_up(unfinished)}, or name another folder"
        " with --out"
    )


def going_on(run: RunFolder) -> str:
    """What continues an unfinished run, as words for its user."""
    match kind_of(run):
        case JobKind.SCRAPY:
            return "the spider, run again"
        case JobKind.MANAGER | JobKind.KEEP as kind:
            return f"'headgate {kind}', started again"
        case JobKind.CRAWL if run.load(JobKind.CRAWL.state) == b"":
            return "the Python program, with resume=True"
        case kind:
            return f"'headgate {kind or JobKind.CRAWL} --resume --out {run.collection}'"


def giving_up(run: RunFolder) -> str:
    """The command that abandons an unfinished run."""
    return f"'headgate crawl --abandon --out {run.collection}'"


def open_run(
    collection: Collection, kind: JobKind, request: bytes, started: datetime, *, resume: bool
) -> RunFolder:
    """The caller holds the collection's lock. A manager always continues its own run."""
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
            f" give it up with {giving_up(unfinished)}, or name another folder with --out"
        )
    run = unfinished or collection.new_run(started)
    run.save(kind.state, request)
    return run
