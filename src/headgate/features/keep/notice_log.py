"""Notices still to be sent, so that a restart forgets none, and the news they are made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.page import ArchivedPage, Change, ChangeNotice, PageChange
from headgate.model.site import Site
from headgate.storage.atomic_write import write_soon, write_whole
from headgate.storage.collection import RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.memory.merging import Files
from headgate.storage.memory.page import PageMemory, after
from headgate.storage.memory.remembering import sightings
from headgate.storage.memory.site import SiteMemory
from headgate.storage.safe_files import (
    NameOf,
    make_own_folder,
    open_own,
    opened,
    own_files,
    writing,
)
from headgate.storage.warc.writer import file_safe

__all__ = ["NoticeLog", "leave_news", "take_news"]

_NAME = "notices.jsonl"
_MOST_BYTES = 500_000_000
_TIDY_AFTER = 5_000
"""Lines of notices that are done."""


class _Line(msgspec.Struct, omit_defaults=True):
    number: int
    notice: ChangeNotice | None = None
    """None: it is done."""


class NoticeLog:
    """``notices.jsonl``: notices of changes that are still to be sent, so that a restart forgets
    none.

    A line for each notice, and another when it is done. Lines are written at once but not synced:
    they survive the process, but a power cut may lose those of the last seconds. Only the notice is
    lost then; the change itself is in the archive. The file is rewritten with open notices when it
    is opened, and whenever most of its lines are done.

    Numbers only grow, also over restarts while any notice is open.
    """

    def __init__(self, collection: Path) -> None:
        self._path = collection / _NAME
        self.open: dict[int, ChangeNotice] = dict(_read(self._path))
        self._next = max(self.open, default=0) + 1
        self._done = 0
        self._fd = -1
        self._tidy()

    @staticmethod
    def is_in(collection: Path) -> bool:
        """Whether the collection has one."""
        return (collection / _NAME).exists()

    def add(self, notice: ChangeNotice) -> int:
        """Returns its number."""
        number = self._next
        self._write(_Line(number, notice))
        self._next += 1
        self.open[number] = notice
        return number

    def done(self, number: int) -> None:
        self.open.pop(number, None)
        self._write(_Line(number))
        self._done += 1
        if self._done >= _TIDY_AFTER and self._done >= len(self.open):
            self._tidy()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, line: _Line) -> None:
        data = memoryview(msgspec.json.encode(line) + b"\n")
        with writing(self._path):
            while data:
                data = data[os.write(self._fd, data) :]

    def _tidy(self) -> None:
        lines = (_Line(number, notice) for number, notice in self.open.items())
        write_whole(self._path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        self.close()
        with writing(self._path):
            self._fd = open_own(self._path, os.O_WRONLY | os.O_APPEND)
        self._done = 0


def _read(path: Path) -> Iterator[tuple[int, ChangeNotice]]:
    """Open notices; torn lines are ignored."""
    found: dict[int, ChangeNotice] = {}
    try:
        with opened(path) as file:
            lines = file.read(_MOST_BYTES).splitlines()
    except (OSError, UserMistake):
        return
    for text in lines:
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.MsgspecError:
            continue
        if line.notice is None:
            found.pop(line.number, None)
        else:
            found[line.number] = line.notice
    yield from found.items()


# What a visit found new, changed or gone, for notices.
#
# Made before the visit is merged into its site's memory, which forgets the old versions then. It is
# written to the folder ``notices`` of the collection, a file per visit; again after a crash, it is
# the same file.


_FOLDER = "notices"
_MOST = 10_000
"""Most changes reported of one visit."""

Found = tuple[Change, PageMemory | None, PageMemory]
"""The kind of change, the page before, and the page now."""


def leave_news(
    run: RunFolder,
    owner: Owner,
    site: Site,
    old: SiteMemory,
    read: Callable[[], Iterable[Commit]],
) -> None:
    """Save the news of a visit that has ended; none of a first visit, where everything is new."""
    if not site.keeping.on_change or not len(old):
        return
    files = Files(list(old.summary.files))
    found = list(islice(_found(run, old, read(), files), _MOST))
    if not found:
        return
    wanted = {page.url for _, _, page in found}
    titles = {row.url: row.title for _, rows, _ in read() for row in rows if row.url in wanted}
    notices = [_notice(site, titles.get(one[2].url, ""), files, *one) for one in found]
    folder = run.collection / _FOLDER
    make_own_folder(folder)
    write_soon(folder / _name(owner), msgspec.json.encode(notices))


def take_news(collection: Path, owner: Owner | None = None) -> Iterator[ChangeNotice]:
    """Saved news of a visit, or of all; each file is deleted when the next is requested. A visit
    that is not merged yet may leave its news again."""
    for path in own_files(collection / _FOLDER, NameOf.OF_VISIT):
        if owner is not None and path.name != _name(owner):
            continue
        try:
            with opened(path) as file:
                notices = msgspec.json.decode(file.read(_MOST_BYTES), type=list[ChangeNotice])
        except (OSError, UserMistake, msgspec.MsgspecError, ValueError, RecursionError):
            notices = []
        yield from notices
        path.unlink(missing_ok=True)


def _name(owner: Owner) -> str:
    return f"{file_safe(owner.site)}~{owner.visit}.json"


def _found(
    run: RunFolder, old: SiteMemory, commits: Iterable[Commit], files: Files
) -> Iterator[Found]:
    """A page is new with its first content, however long its URL has been known; but what the
    site's first volume knew and did not fetch is the rest of its first visit."""

    @cache
    def first() -> float:
        return min(page.first_known for page in old)

    for sighting in sightings(run, commits, files):
        if sighting.look is None:
            continue
        before = old.find(sighting.url)
        page = after(before, sighting)
        if page.gone and not (page.never_there or before is None or before.gone):
            yield Change.GONE, before, page
        elif page.failing or not page.changed:
            continue
        elif before is None or before.gone:
            yield Change.NEW, before, page
        elif not before.changed:
            if before.first_known > first():
                yield Change.NEW, before, page
        elif page.changes > before.changes:
            yield Change.CHANGED, before, page


def _notice(
    site: Site,
    title: str,
    files: Files,
    change: Change,
    before: PageMemory | None,
    page: PageMemory,
) -> ChangeNotice:
    seen = None if before is None or not before.told_at else before.told_at
    told = PageChange(
        change, site.name, url=page.url, title=title, seen_at=page.asked, before_at=seen
    )
    if change is not Change.CHANGED or before is None:
        return ChangeNotice(told)
    old, new = (
        ArchivedPage(files.names[one.file], one.offset, one.original_url or one.url, one.digest)
        for one in (before, page)
    )
    return ChangeNotice(told, old, new)
