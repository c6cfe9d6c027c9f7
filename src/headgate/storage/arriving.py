"""Results of other machines' crawling, on their way into a run: chunks become part files, and those
the run's own journal and WARC files.

    spool/<stamp>/arriving/<task>.<epoch>.<number>.part   ─►   spool/<stamp>/<site>.journal
                                                               runs/<stamp>/warc/<site>-00001.warc.gz

Bytes are written where they belong, so they may come in any order and again. A file gets its own
name only when it is whole and durable; done again after a crash, moving in is the same. Whoever
sends is a stranger: nothing is taken but files of the names that its task has, of the sizes that it
announced, and a journal that can be read.

Paths are strings here: a small result is a dozen of them, and as objects they would cost as much as
all the rest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest
from itertools import count
from pathlib import Path

from headgate.crawling.task_messages import Chunk, FileDigest, FileSize, Lease
from headgate.model.errors import HeadgateError
from headgate.storage.collection import RunFolder
from headgate.storage.faults import reading, writing
from headgate.storage.journals.appending import sync_folder
from headgate.storage.journals.journal import Owner, read_commits, read_owner

__all__ = ["Deliveries", "free_bytes"]

_KEPT_FREE_BYTES = 256 << 20
"""Of the disk: for what is made of the results."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
_WARC = ".warc.gz"


def free_bytes(folder: Path) -> int:
    """That results may still take."""
    with reading(folder):
        return max(shutil.disk_usage(folder).free - _KEPT_FREE_BYTES, 0)


def _is_crawled(path: Path, owner: Owner, names: dict[str, int]) -> bool:
    try:
        if read_owner(path) != owner:
            return False
        for _, rows, _ in read_commits(path, None):
            for row in rows:
                if row.warc_file and row.warc_offset >= names.get(row.warc_file, 0):
                    return False
    except (HeadgateError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Paths:
    arriving: str
    journals: str
    warc: str

    def part(self, lease: Lease, number: int) -> str:
        return f"{self.arriving}/{lease.task}.{lease.epoch}.{number}.part"

    def home(self, name: str) -> str:
        return f"{self.journals if name.endswith('.journal') else self.warc}/{name}"


@dataclass(slots=True)
class Deliveries:
    """Of one run. Calls that touch the disk may block."""

    run: RunFolder
    believable: Callable[[Path, Owner, dict[str, int]], bool] = field(default=_is_crawled)
    """Whether a journal can be read, is this visit's, and tells of no file that is not among these
    names and sizes."""
    _expected: dict[Lease, tuple[FileSize, ...]] = field(default_factory=dict)
    _paths: _Paths = field(init=False)

    def __post_init__(self) -> None:
        spool, warc = self.run.spool, self.run.warc
        self._paths = _Paths(str(spool / "arriving"), str(spool), str(warc))

    def fits(self, owner: Owner, names: Iterable[str]) -> bool:
        """Whether these are names that a visit's files have, each once, with a journal."""
        place = self.run.place(owner.site, visit=owner.visit)
        names = list(names)
        journal, begin = place.journal.name, f"{place.warc.stem}-"
        known = all(name == journal or _is_warc(name, begin) for name in names)
        return known and journal in names and len(set(names)) == len(names)

    def expect(self, lease: Lease, files: tuple[FileSize, ...]) -> None:
        if self._expected.get(lease) == files:
            return
        self.drop(lease)
        with writing(Path(self._paths.arriving)):
            with suppress(FileExistsError):
                os.mkdir(self._paths.arriving)  # noqa: PTH102
            for number in range(len(files)):
                os.close(os.open(self._paths.part(lease, number), _NEW, 0o600))
        self._expected[lease] = files

    def expected(self, lease: Lease) -> tuple[FileSize, ...]:
        """As announced; nothing: nobody waits for it."""
        return self._expected.get(lease, ())

    def write(self, chunk: Chunk, data: bytes) -> bool:
        """False: nobody waits for it, or it is beyond what was announced."""
        files = self.expected(chunk.lease)
        if chunk.file >= len(files) or chunk.offset + len(data) > files[chunk.file].size:
            return False
        path = self._paths.part(chunk.lease, chunk.file)
        with writing(Path(path)):
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                view = memoryview(data)
                at = chunk.offset
                while view:
                    written = os.pwrite(fd, view, at)
                    view, at = view[written:], at + written
            finally:
                os.close(fd)
        return True

    def close(self, lease: Lease) -> None:
        """No more chunks of it."""
        self._expected.pop(lease, None)

    def reopen(self, lease: Lease, files: tuple[FileSize, ...]) -> None:
        """Chunks again, over what is here."""
        self._expected[lease] = files

    def wrong(self, lease: Lease, files: Sequence[FileDigest]) -> tuple[int, ...]:
        """Numbers of the files that are not here, or not as they should be."""
        return tuple(
            number
            for number, file in enumerate(files)
            if not _is(self._paths.part(lease, number), file)
            and not _is(self._paths.home(file.name), file)
        )

    def is_journal_of(self, lease: Lease, files: Sequence[FileDigest], owner: Owner) -> bool:
        """Whether there is one, and it is `believable`."""
        names = {file.name: file.size for file in files}
        for number, file in enumerate(files):
            if file.name.endswith(".journal"):
                part = Path(self._paths.part(lease, number))
                journal = part if part.exists() else Path(self._paths.home(file.name))
                return self.believable(journal, owner, names)
        return False

    def keep(self, lease: Lease, files: Sequence[FileDigest]) -> None:
        """What came is whole: durable when it returns, but for the names."""
        for number, file in enumerate(files):
            with writing(Path(self._paths.home(file.name))), suppress(FileNotFoundError):
                _sync(self._paths.part(lease, number))

    def move_in(self, lease: Lease, files: Sequence[FileDigest]) -> None:
        """What was kept gets its own names; `sync` follows."""
        for number, file in enumerate(files):
            home = self._paths.home(file.name)
            with writing(Path(home)), suppress(FileNotFoundError):  # done before a crash
                os.replace(self._paths.part(lease, number), home)  # noqa: PTH105

    def sync(self) -> None:
        sync_folder(self.run.spool)
        sync_folder(self.run.warc)

    def parts(self, lease: Lease, files: Sequence[FileDigest]) -> dict[str, Path]:
        """By name, while they have not moved in."""
        return {
            file.name: Path(self._paths.part(lease, number)) for number, file in enumerate(files)
        }

    def drop(self, lease: Lease) -> None:
        """Whatever came of it."""
        announced = len(self._expected.pop(lease, ()))
        for number in count():
            try:
                os.unlink(self._paths.part(lease, number))  # noqa: PTH108
            except FileNotFoundError:
                if number >= announced:
                    return

    def tidy(self, wanted: Callable[[Lease], bool]) -> None:
        """Delete what an earlier manager left of leases that nobody wants any more."""
        for path in Path(self._paths.arriving).glob("*.part"):
            task, epoch, *_ = path.name.split(".")
            if not wanted(Lease(int(task), int(epoch))):
                path.unlink(missing_ok=True)


def _is_warc(name: str, begin: str) -> bool:
    number = name.removeprefix(begin).removesuffix(_WARC)
    digits = number.isascii() and number.isdecimal() and len(number) == 5
    return digits and name == f"{begin}{number}{_WARC}"


def _is(path: str, file: FileDigest) -> bool:
    try:
        with open(path, "rb") as opened:  # noqa: PTH123
            if os.fstat(opened.fileno()).st_size != file.size:
                return False
            return file_digest(opened, "sha256").hexdigest() == file.sha256
    except OSError:
        return False


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
