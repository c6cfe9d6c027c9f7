"""What passes as a result: values that cannot hold a lie of form. Pure.

A journal from a node is read here as it will be read when the run is sealed, remembered and
shared out, commit by commit. What no crawl writes is a `Lie`: lists of unequal length, numbers
without a meaning, records where no file is, URLs of other sites. Whether a page really looked like
that is another question, which a second node answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from headgate.features.grid.trust.scope_gate import SiteBounds, is_plain_url
from headgate.frontier.events import NEEDED, JournalEntry
from headgate.model.fetch import REDIRECTS, FailureKind
from headgate.model.page import Role
from headgate.model.task import Task
from headgate.reading.urls import MAX_LENGTH, in_header, join
from headgate.storage.safe_files import NameOf, is_name

if TYPE_CHECKING:
    from headgate.storage.journals.journal import Commit, LinkLines
    from headgate.storage.page import PageRow
    from headgate.storage.warc.writer import Mark

__all__ = ["Lie", "ResultGate"]

MOST_DEPTH = 1 << 20
"""A chain of a million pages; counters are lists by depth."""
_LONGEST_TEXT = 1_000
_MOST_REASONS = 1_000
_MOST_COUNT = 2**40
_DIGESTS = (0, 20)
_LONGEST_DIGEST = 64
_ROLES, _FAILURES = frozenset(Role), frozenset(FailureKind)
_CUTS = frozenset(("", "length", "time", "disconnect"))
_TEXTS = ("content_type", "title", "language", "etag", "last_modified", "error_detail")


class Lie(Exception):
    """What no crawl of this task writes; the message says what, in a few words."""


def _refuse(what: str, value: object = "") -> Lie:
    return Lie(f"{what}: {str(value)[:100]!r}" if value != "" else what)


@dataclass(slots=True)
class ResultGate:
    """The commits of one journal, in order. ``files``: WARC files by name, with their sizes;
    ``latest``: nothing can have been fetched after it."""

    task: Task
    files: Mapping[str, int]
    latest: float
    bounds: SiteBounds = field(init=False)
    _row_visit: int = field(init=False)
    _place: tuple[str, int] = ("", 0)
    """Where the next record may begin: records are in the order of their rows."""

    def __post_init__(self) -> None:
        self.bounds = SiteBounds(self.task.site, self.task.asks or ())
        self._row_visit = 0 if self.task.kept is None else self.task.visit

    def hosts_join(self, row: PageRow) -> bool:
        """Whether a row is the answer of a seed that redirects, so that another host may join the
        site; the caller holds it against its record, and then calls `joins`."""
        return (
            row.role == Role.PAGE and row.depth == 0 and row.status in REDIRECTS
            and bool(row.location) and self.bounds.starts(row.url)
        )  # fmt: skip

    def joins(self, row: PageRow) -> None:
        self.bounds.redirects(row.url, join(row.url, in_header(row.location)) or "")

    def take(self, commit: Commit) -> None:
        """Raises `Lie`. Rows of seeds that redirect were given to `joins`."""
        group, rows, links = commit
        if group.site or group.visit:
            raise _refuse("a commit for another site", group.site)
        for row in rows:
            self._take_row(row)
        self._take_mark(group.mark)
        for entry in group.entries:
            self._take_entry(entry)
        depths = {(row.url, row.depth) for row in rows}
        for lines in links:
            if (lines.source, lines.depth) not in depths:
                raise _refuse("links of a page that was not fetched", lines.source)
            _take_lines(lines)

    def _take_row(self, row: PageRow) -> None:
        if row.visit != self._row_visit:
            raise _refuse("a row of another visit", row.visit)
        if not is_plain_url(row.url):
            raise _refuse("a row of no URL", row.url)
        if row.role not in _ROLES:
            raise _refuse("a row of an unknown kind", row.role)
        if row.role == Role.PAGE and not self.bounds.has(row.url):
            raise _refuse("a page outside of the site", row.url)
        if row.depth > MOST_DEPTH:
            raise _refuse("a page at an impossible depth", row.depth)
        self._take_times(row)
        _take_outcome(row)
        self._take_record(row)

    def _take_times(self, row: PageRow) -> None:
        numbers = (row.fetched_at, row.original_at, row.first_byte_seconds, row.seconds)
        if not all(map(math.isfinite, (*numbers, row.relevance or 0.0))):
            raise _refuse("a time that is no number", row.url)
        if max(row.fetched_at, row.original_at) > self.latest:
            raise _refuse("a page of the future", row.url)

    def _take_record(self, row: PageRow) -> None:
        end = row.warc_offset + row.warc_length
        if not row.warc_length or end > self.files.get(row.warc_file, 0):
            raise _refuse("a row without its record", row.url)
        if (row.warc_file, row.warc_offset) < self._place:
            raise _refuse("two rows of one record", row.url)
        self._place = row.warc_file, end

    def _take_mark(self, mark: Mark) -> None:
        """Files are cut to it when a run is taken up again."""
        name = next(
            (name for name in self.files if name.endswith(f"-{mark.number:05d}.warc.gz")), ""
        )
        if (mark.number or mark.length) and mark.length > self.files.get(name, -1):
            raise _refuse("a commit beyond the end of its files")
        if self._place > (name, mark.length):
            raise _refuse("a commit without its records")

    def _take_entry(self, entry: JournalEntry) -> None:
        if not 0 <= entry.depth <= MOST_DEPTH:
            raise _refuse("a URL at an impossible depth", entry.depth)
        if len(entry.levels) not in (0, len(entry.found)):
            raise _refuse("URLs and levels of unequal number")
        if len(entry.raised_levels) != len(entry.raised):
            raise _refuse("URLs and levels of unequal number")
        if len(entry.digest) > _LONGEST_DIGEST or len(entry.detail) > _LONGEST_TEXT:
            raise _refuse("a text that is too long", entry.url)
        if entry.depth == 0 and entry.detail != NEEDED:
            strange = next((url for url in entry.found if not self.bounds.starts(url)), "")
        else:
            strange = self.bounds.outside(entry.found)
        ended = (entry.url,) if entry.url else ()
        strange = strange or self.bounds.outside(
            chain(ended, entry.raised, (url for url, _ in entry.modified))
        )
        if strange:
            raise _refuse("a URL outside of the site", strange)
        if left := self.bounds.unasked(entry.left):
            raise _refuse("a URL that nobody asked for", left)
        if not all(0 <= at <= self.latest for _, at in entry.modified):
            raise _refuse("a date of change that is none")
        _take_refusals(entry.refused)


def _take_outcome(row: PageRow) -> None:
    if (row.status == 0) != bool(row.error) or (row.error and row.error not in _FAILURES):
        raise _refuse("a page that neither came nor failed", row.url)
    if len(row.digest) not in _DIGESTS or row.truncated not in _CUTS:
        raise _refuse("a page with an impossible digest or end", row.url)
    if any(len(getattr(row, name)) > _LONGEST_TEXT for name in _TEXTS):
        raise _refuse("a text that is too long", row.url)
    if max(len(row.location), len(row.original_url)) > MAX_LENGTH:
        raise _refuse("a URL that is too long", row.url)
    if row.original_file and not is_name(NameOf.ARCHIVED, row.original_file):
        raise _refuse("an earlier record in no file of the archive", row.original_file)


def _take_refusals(refused: Sequence[tuple[str, int, str]]) -> None:
    if len(refused) > _MOST_REASONS:
        raise _refuse("too many reasons")
    for reason, count, example in refused:
        if not 0 <= count <= _MOST_COUNT:
            raise _refuse("an impossible number of links", count)
        if len(reason) > _LONGEST_TEXT or len(example) > MAX_LENGTH:
            raise _refuse("a text that is too long", reason)


def _take_lines(lines: LinkLines) -> None:
    """That targets and rels are of equal number is in the type."""
    if lines.depth > MOST_DEPTH:
        raise _refuse("a page at an impossible depth", lines.depth)
