"""Small files wait in memory, and nothing is right before it is on disk."""

from __future__ import annotations

import os
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path

import pytest

from headgate.features.grid.coordinator import upload_files
from headgate.features.grid.coordinator.upload_files import UploadFiles
from headgate.features.grid.protocol import Chunk, FileDigest, FileSize, Lease
from headgate.storage.collection import RunFolder

JOURNAL, PAGES = b"journal", b"pages" * 100_000


@pytest.fixture
def deliveries(tmp_path: Path) -> UploadFiles:
    run = RunFolder(tmp_path, "2026-01-01T00-00-00")
    run.spool.mkdir(parents=True)
    run.warc.mkdir(parents=True)
    return UploadFiles(run)


def announced(*contents: bytes) -> tuple[FileSize, ...]:
    return tuple(
        FileSize(name=f"{number}.journal", size=len(data)) for number, data in enumerate(contents)
    )


def digests(*contents: bytes) -> list[FileDigest]:
    return [
        FileDigest(name=file.name, size=file.size, sha256=sha256(data).hexdigest())
        for file, data in zip(announced(*contents), contents, strict=True)
    ]


def send(deliveries: UploadFiles, lease: Lease, *contents: bytes) -> None:
    for number, data in enumerate(contents):
        assert not data or deliveries.write(Chunk(lease=lease, file=number, offset=0), data)


def stored(deliveries: UploadFiles, lease: Lease, *contents: bytes) -> list[bytes]:
    """Files of the run, when all went right."""
    files = digests(*contents)
    assert deliveries.wrong(lease, files) == ()
    parts = deliveries.parts(lease, files).values()
    assert [part.read_bytes() for part in parts] == list(contents), "on disk before it is kept"
    deliveries.keep(lease, files)
    deliveries.move_in(lease, files)
    return [(deliveries.run.spool / file.name).read_bytes() for file in files]


def test_files_of_any_size_arrive(deliveries: UploadFiles) -> None:
    lease, contents = Lease(1, 1), (JOURNAL, b"", PAGES)
    deliveries.expect(lease, announced(*contents))
    send(deliveries, lease, *contents)
    assert stored(deliveries, lease, *contents) == list(contents)


def test_when_many_wait_the_oldest_are_written(
    deliveries: UploadFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_files, "_MOST_HELD", 2)
    leases = [Lease(number, 1) for number in range(5)]
    for lease in leases:
        deliveries.expect(lease, announced(JOURNAL))
        send(deliveries, lease, JOURNAL)
    arrived = deliveries.run.spool / "arriving"
    assert len(list(arrived.iterdir())) == 3
    for lease in leases:
        assert stored(deliveries, lease, JOURNAL) == [JOURNAL]


def test_what_came_wrong_is_wrong_until_it_comes_again(deliveries: UploadFiles) -> None:
    lease = Lease(1, 1)
    deliveries.expect(lease, announced(JOURNAL, PAGES))
    send(deliveries, lease, b"JOURNAL", PAGES)
    assert deliveries.wrong(lease, digests(JOURNAL, PAGES)) == (0,)
    send(deliveries, lease, JOURNAL)
    assert stored(deliveries, lease, JOURNAL, PAGES) == [JOURNAL, PAGES]


def test_what_an_earlier_manager_left_is_in_nobodys_way(deliveries: UploadFiles) -> None:
    lease = Lease(1, 1)
    left = deliveries.run.spool / "arriving" / "1.1.1.part"
    left.parent.mkdir()
    left.write_bytes(2 * PAGES)
    deliveries.expect(lease, announced(JOURNAL, PAGES))
    send(deliveries, lease, JOURNAL, PAGES)
    assert stored(deliveries, lease, JOURNAL, PAGES) == [JOURNAL, PAGES]


def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the files that are hashed from now on."""
    found: list[int] = []

    def counted(file: BufferedReader, name: str) -> object:
        found.append(os.fstat(file.fileno()).st_size)
        return file_digest(file, name)

    monkeypatch.setattr(upload_files, "file_digest", counted)
    return found


def test_a_file_is_not_hashed_before_all_of_it_has_come(
    deliveries: UploadFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file of 20 GB, its last byte is soon sent."""
    found, lease, large = hashed(monkeypatch), Lease(1, 1), 20_000_000_000
    deliveries.expect(lease, (FileSize(name="0.journal", size=large),))
    assert deliveries.write(Chunk(lease=lease, file=0, offset=large - 5), b"pages")
    file = FileDigest(name="0.journal", size=large, sha256="0" * 64)
    assert deliveries.wrong(lease, [file]) == (0,)
    assert found == []


def test_a_file_that_was_wrong_is_hashed_again_only_if_all_of_it_comes_again(
    deliveries: UploadFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, lease, contents = hashed(monkeypatch), Lease(1, 1), (PAGES, b"")
    deliveries.expect(lease, announced(*contents))
    send(deliveries, lease, PAGES[::-1], b"")
    files = digests(*contents)
    assert deliveries.wrong(lease, files) == (0,)
    assert deliveries.write(Chunk(lease=lease, file=0, offset=len(PAGES) - 5), PAGES[-5:])
    assert deliveries.wrong(lease, files) == (0,)
    assert found.count(len(PAGES)) == 1
    send(deliveries, lease, PAGES, b"")
    assert stored(deliveries, lease, *contents) == list(contents)
