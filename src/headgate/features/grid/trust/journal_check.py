"""Reads a journal that a stranger made, in a process with bounds of memory and time.

A few kilobytes may unpack to gigabytes, and a parser that is led astray takes its process with it.
So nobody else opens a journal before this child has read all of it, with the readers that will seal
it, against `features.grid.trust.result_gate`, and has found each row's record in the WARC files.
Where it dies, its parent lives on, and the result is refused.

One child checks many results: small ones take less time than starting a process.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.crawling.child_process import Child, Pipe
from headgate.features.grid.trust.result_gate import Lie, ResultGate
from headgate.model.errors import DamagedFile, HeadgateError
from headgate.model.task import Task
from headgate.storage.journals.journal import (
    Owner,
    commit_sizes,
    read_commits,
    read_owner,
    read_pages,
)
from headgate.storage.page import PageRow
from headgate.storage.warc.records import location_in, read_response, record_head, says

__all__ = ["Brought", "CheckedHere", "JournalChecks", "Judge", "lie_of", "main"]

_MEMORY_BYTES = 1 << 30
_CPU_SECONDS = 60
_PATIENCE_SECONDS = 600.0
"""On a machine that is busy."""
_FRAME_BYTES = 64 << 20
_GROWTH = 100
"""An honest journal is unpacked to nine times its size."""
_WHOLE_BYTES = 64 << 20
"""About so many bytes of records are read as a whole and held against their digests, of all others
the heads."""
_LARGE_BYTES = 10_000_000
_LONGEST_WORDS = 200
_BEYOND = "checking it takes more memory or time than any journal needs"


class Brought(msgspec.Struct, frozen=True):
    """A result whose files are complete."""

    journal: str
    files: dict[str, tuple[str, int]]
    """WARC files by name: where they are now, and their sizes."""
    task: Task
    latest: float
    """Nothing can have been fetched after it."""
    chance: bytes = b""
    """Decides which records are read as a whole; no node knows it before."""


class Judge(Protocol):
    def lie(self, brought: Brought) -> str:
        """What is wrong with a result, in words; empty: nothing that can be seen in it."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class JournalChecks:
    """The parent's side: a `Judge` for several threads. A child is started when it is needed."""

    _idle: list[Child] = field(default_factory=list)

    def lie(self, brought: Brought) -> str:
        try:
            child = self._idle.pop()
        except IndexError:
            child = Child("headgate.features.grid.trust.journal_check")
        try:
            child.send(msgspec.msgpack.encode(brought), _PATIENCE_SECONDS)
            answer = child.receive(_PATIENCE_SECONDS)
        except (EOFError, OSError):
            child.stop()
            return _BEYOND
        self._idle.append(child)
        return answer.decode()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().stop()


@dataclass(frozen=True, slots=True)
class CheckedHere:
    """A `Judge` without a child, for results of one's own."""

    def lie(self, brought: Brought) -> str:
        return lie_of(brought)

    def close(self) -> None:
        """Nothing is held."""


def main(pipe: Pipe) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for message in pipe:
        used = resource.getrusage(resource.RUSAGE_SELF)
        end = int(used.ru_utime + used.ru_stime) + _CPU_SECONDS
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (end, most))
        found = lie_of(msgspec.msgpack.decode(message, type=Brought))
        with suppress(OSError):  # the parent waits no longer
            pipe.send(found.encode("utf-8", "replace"))


def lie_of(brought: Brought) -> str:
    """What is wrong with a result; empty: nothing."""
    try:
        _check(brought)
    except Lie as lie:
        return str(lie)
    except DamagedFile as fault:  # of no memory there are no words
        return fault.how[:_LONGEST_WORDS] or _BEYOND
    except HeadgateError as fault:
        return str(fault)[:_LONGEST_WORDS]
    except (ValueError, RecursionError) as fault:
        return f"it cannot be read: {fault}"[:_LONGEST_WORDS]
    except MemoryError:
        return _BEYOND
    return ""


def _check(brought: Brought) -> None:
    journal, task = Path(brought.journal), brought.task
    if read_owner(journal) != Owner(*task.whose):
        raise Lie("it is the journal of another site")
    _check_sizes(journal)
    sizes = {name: size for name, (_, size) in brought.files.items()}
    records = _Records(brought)
    gate = ResultGate(task, sizes, brought.latest)
    joining = (row for rows in read_pages(journal) for row in rows if gate.hosts_join(row))
    for row in joining:  # what such a row lets in may be asked for before it
        if not records.moved(row):
            raise Lie(f"a redirect that is not in the archive: {row.url[:100]!r}")
        gate.joins(row)
    for commit in read_commits(journal):
        gate.take(commit)
        records.check(commit[1])


def _check_sizes(journal: Path) -> None:
    most = max(_GROWTH * journal.stat().st_size, _FRAME_BYTES)
    total = 0
    for size in commit_sizes(journal):
        total += size
        if size > _FRAME_BYTES or total > most:
            raise Lie("it unpacks to more than any journal does")


class _Records:
    """The records of a result's rows."""

    def __init__(self, brought: Brought) -> None:
        self._paths = {name: Path(path) for name, (path, _) in brought.files.items()}
        total = sum(size for _, size in brought.files.values())
        self._share = min(_WHOLE_BYTES / max(total, 1), 1.0)
        self._chance = brought.chance

    def check(self, rows: list[PageRow]) -> None:
        for row in rows:
            head, _ = record_head(self._paths[row.warc_file], row.warc_offset)
            if not says(head, row.url, row.digest):
                raise Lie(f"a row that its record does not bear out: {row.url[:100]!r}")
            has_body = bool(row.digest) and not row.original_url
            if has_body and self._is_drawn(row) and not self._is_right(row):
                raise Lie(f"a page whose record is another: {row.url[:100]!r}")

    def moved(self, row: PageRow) -> bool:
        """Whether the archive has the redirect that a row tells of."""
        path = self._paths.get(row.warc_file)
        if path is None:
            return False
        head, block = record_head(path, row.warc_offset)
        return says(head, row.url, row.digest) and location_in(block) == row.location

    def _is_drawn(self, row: PageRow) -> bool:
        if row.payload_bytes > _LARGE_BYTES:
            return False
        if self._share >= 1:
            return True
        drawn = blake2b(row.url.encode("utf-8", "replace"), key=self._chance, digest_size=4)
        return int.from_bytes(drawn.digest()) < self._share * 2**32

    def _is_right(self, row: PageRow) -> bool:
        path = self._paths[row.warc_file]
        return read_response(path, row.warc_offset, row.url, row.digest) is not None
