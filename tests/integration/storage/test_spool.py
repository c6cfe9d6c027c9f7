"""A site run is stored page by page, torn in every way a crash can, and goes on."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import (
    make_body,
    make_failure,
    make_fetched,
    make_page,
    make_url,
)

from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.errors import WorldFault
from headgate.model.page import Links, Page
from headgate.storage.journals.journal import Owner, SpoolPlace, read_groups, read_links
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.page import PageRow
from headgate.storage.warc.writer import WarcFiles


def place_in(folder: Path, max_bytes: int = 1_000_000) -> SpoolPlace:
    (folder / "warc").mkdir(exist_ok=True)
    warc = WarcFiles(folder / "warc", "s", (), max_bytes)
    return SpoolPlace(Owner("s"), folder / "s.journal", warc)


def make_entry(number: int) -> JournalEntry:
    return JournalEntry(
        UrlOutcome.PAGE,
        make_url(number),
        found=[make_url(1000 + number)],
        depth=2,
        digest=b"digest",
        detail="x",
    )


def replayed(place: SpoolPlace) -> list[JournalEntry]:
    """The entries after a restart; each has its page."""
    spool = SiteSpool(place)
    entries = list(spool.entries())
    assert list(spool.entries()) == entries
    assert [row.url for row in spool.pages()] == [entry.url for entry in entries if entry.url]
    spool.close()
    return entries


def rows_of(place: SpoolPlace) -> list[PageRow]:
    spool = SiteSpool(place)
    rows = list(spool.pages())
    spool.close()
    return rows


def fill(place: SpoolPlace, first: int, commits: int, pages_each: int = 3) -> None:
    spool = SiteSpool(place)
    for commit in range(commits):
        for k in range(pages_each):
            number = first + commit * pages_each + k
            spool.put(make_page(number), make_entry(number))
        spool.commit()
    spool.close()


def test_what_was_committed_is_replayed_in_order(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    seeds = JournalEntry(UrlOutcome.FOUND, found=[make_url(0), "http://ä/"])
    failed = JournalEntry(UrlOutcome.FAILURE, make_url(2), [], detail="dns")
    spool = SiteSpool(place)
    spool.record(seeds)
    assert spool.commit() == 0
    assert spool.put(make_page(1), make_entry(1)) == 1
    assert spool.put(Page(make_failure(2), depth=1), failed) == 2
    assert spool.commit() == 2
    spool.put(make_page(3), make_entry(3))
    assert spool.waiting_bytes > 2000
    spool.close()

    assert replayed(place) == [seeds, make_entry(1), failed]
    first, second = rows_of(place)
    assert (first.url, first.status, first.title) == (make_url(1), 200, "page 1")
    assert (second.url, second.status, second.error) == (make_url(2), 0, "dns")


def test_a_commit_of_nothing_writes_nothing(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    spool = SiteSpool(place)
    assert spool.commit() == 0
    assert not place.journal.exists()
    assert list(place.warc.folder.iterdir()) == []
    spool.close()


def test_the_end_of_a_site_run_is_durable(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    spool = SiteSpool(place)
    spool.put(make_page(1))
    spool.finish()
    assert not spool.finished
    spool.commit()
    assert spool.finished
    spool.close()
    spool = SiteSpool(place)
    assert spool.finished
    spool.close()


def test_a_journal_torn_at_any_byte_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    ends = []
    for commit in range(3):
        fill(place, commit * 2, commits=1, pages_each=2)
        ends.append(place.journal.stat().st_size)
    whole = place.journal.read_bytes()
    warc = place.warc.path(1).read_bytes()
    for cut in sorted({*range(0, len(whole), 5), *ends, *(end - 1 for end in ends)}):
        place.journal.write_bytes(whole[:cut])
        place.warc.path(1).write_bytes(warc)
        survived = sum(end <= cut for end in ends)
        assert replayed(place) == [make_entry(number) for number in range(2 * survived)]
        if survived:
            stored = place.warc.path(1).read_bytes()
            assert len(stored) == list(read_groups(place.journal))[-1].mark.length
            gzip.decompress(stored)
        else:
            assert not place.warc.path(1).exists()


@pytest.mark.parametrize("junk", [b"\0" * 5000, b"\xf5HG\xa1" * 400, b"x"])
def test_junk_behind_the_journal_and_the_archive_is_cut_off(tmp_path: Path, junk: bytes) -> None:
    place = place_in(tmp_path)
    fill(place, 0, commits=2)
    journal, warc = place.journal.read_bytes(), place.warc.path(1).read_bytes()
    place.journal.write_bytes(journal + junk)
    place.warc.path(1).write_bytes(warc + junk)
    place.warc.path(2).write_bytes(junk)
    assert len(replayed(place)) == 6
    assert place.journal.read_bytes() == journal
    assert place.warc.path(1).read_bytes() == warc
    assert not place.warc.path(2).exists()


def test_a_resumed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    fill(place, 0, commits=2)
    fill(place, 6, commits=2)
    assert replayed(place) == [make_entry(number) for number in range(12)]
    text = gzip.decompress(place.warc.path(1).read_bytes())
    assert text.count(b"WARC-Type: warcinfo") == 1
    assert len(set(text.split(b"WARC-Warcinfo-ID: ")[1:])) == 24
    identities = {part.split(b"\r\n")[0] for part in text.split(b"WARC-Warcinfo-ID: ")[1:]}
    assert len(identities) == 1


def test_damage_that_no_crash_makes_is_reported_and_nothing_is_cut(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    fill(place, 0, commits=3)
    damaged = bytearray(place.journal.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    place.journal.write_bytes(damaged)
    with pytest.raises(WorldFault, match="damaged at byte"):
        SiteSpool(place)
    assert place.journal.read_bytes() == bytes(damaged)


def test_an_archive_that_lost_bytes_is_reported(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    fill(place, 0, commits=1)
    path = place.warc.path(1)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(WorldFault, match="changed from outside"):
        SiteSpool(place)
    path.unlink()
    with pytest.raises(WorldFault, match="missing"):
        SiteSpool(place)


def test_the_journal_of_another_site_is_refused(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    fill(place, 0, commits=1)
    other = SpoolPlace(Owner("t"), place.journal, WarcFiles(place.warc.folder, "t"))
    with pytest.raises(WorldFault, match="not this site's journal"):
        SiteSpool(other)


def test_files_are_rolled_by_size_and_hold_whole_pages(tmp_path: Path) -> None:
    place = place_in(tmp_path, max_bytes=5000)
    fill(place, 0, commits=4, pages_each=5)
    files = sorted(place.warc.folder.iterdir())
    assert [file.name for file in files[:2]] == ["s-00001.warc.gz", "s-00002.warc.gz"]
    assert len(files) > 4
    for file in files:
        text = gzip.decompress(file.read_bytes())
        assert text.count(b"WARC-Type: response") == text.count(b"WARC-Type: request")
        assert text.startswith(b"WARC/1.1\r\nWARC-Type: warcinfo")
    rows = rows_of(place)
    assert {row.warc_file for row in rows} == {file.name for file in files}
    for row in rows:
        data = (place.warc.folder / row.warc_file).read_bytes()
        record = gzip.decompress(data[row.warc_offset : row.warc_offset + row.warc_length])
        assert f"WARC-Target-URI: {row.url}\r\n".encode() in record


def test_the_same_payload_is_archived_once_even_across_a_restart(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    body = make_body(0, 5000)
    for number in range(3):
        spool = SiteSpool(place)
        list(spool.pages())
        spool.put(Page(make_fetched(number, body), depth=0))
        spool.commit()
        spool.close()
    text = gzip.decompress(place.warc.path(1).read_bytes())
    assert text.count(body) == 1
    assert text.count(b"WARC-Refers-To-Target-URI: " + make_url(0).encode()) == 2
    rows = rows_of(place)
    assert [row.original_url for row in rows] == ["", make_url(0), make_url(0)]
    assert len({row.digest for row in rows}) == 1


def test_hostile_text_is_stored_all_the_same(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    spool = SiteSpool(place)
    links = Links(["http://x/\udc80", "http://y/\n"])
    spool.put(Page(make_fetched(1), 0, title="\ud800" * 5000, language="\udfff", links=links))
    spool.commit()
    spool.close()
    (row,) = rows_of(place)
    assert row.title == "?" * 1000
    ((page,),) = read_links(place.journal)
    assert page.targets.split("\n") == ["http://x/?", "http://y/ "]


def test_one_thread_may_give_while_another_commits(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    spool = SiteSpool(place)
    done = threading.Event()

    def commit_all_the_time() -> None:
        while not done.is_set():
            spool.commit()

    thread = threading.Thread(target=commit_all_the_time)
    thread.start()
    for number in range(400):
        spool.put(make_page(number), make_entry(number))
    done.set()
    thread.join()
    assert spool.commit() == 400
    spool.close()
    assert replayed(place) == [make_entry(number) for number in range(400)]
