"""What readers and writers of a collection remember: each thing a value depends on is varied, with
the others fixed."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import NOON, make_body, make_fetched, make_url

import headgate
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.page import Page
from headgate.storage.catalog import postgres
from headgate.storage.collection import Collection
from headgate.storage.journals.journal import Owner, SpoolPlace
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.memory.merging import Files
from headgate.storage.sealing import seal
from headgate.storage.warc import archive as archive_module
from headgate.storage.warc import index, records
from headgate.storage.warc.archive import SiteArchive
from headgate.storage.warc.writer import WarcFiles, WarcWriter


def test_queries_in_another_dialect_go_by_the_query() -> None:
    for query in ("SELECT :a", "SELECT :b", "SELECT :a"):
        assert postgres._in_dialect(query) == query.replace(f":{query[-1]}", f"%({query[-1]})s")


def test_times_go_by_the_second() -> None:
    for seconds in (NOON, NOON + 0.9, NOON + 1, NOON - 86_400.0, NOON):
        then = datetime.fromtimestamp(int(seconds), UTC)
        assert records.utc_text(seconds) == f"{then:%Y-%m-%dT%H:%M:%SZ}"
        assert index._stamp(int(seconds)) == f"{then:%Y%m%d%H%M%S}"
    assert records._utc_text.cache_info().maxsize == index._stamp.cache_info().maxsize == 64


def test_keys_of_hosts_go_by_scheme_and_authority_and_long_ones_are_not_kept() -> None:
    for scheme in ("http", "https"):
        for authority in ("a.org", "www.a.org", "a.org:80", "a.org:443", "a.org:8080", "b.org"):
            for _ in range(2):
                own = index._host_key(scheme, authority)
                assert index._known_host_key(scheme, authority) == own
    assert index.surt_key("http://a.org:443/") != index.surt_key("https://a.org:443/")
    known = index._known_host_key.cache_info()
    assert index.surt_key(f"http://{'a.' * 500}org/").endswith(")/")
    assert index._known_host_key.cache_info() == known
    assert known.maxsize == 1_024


def test_an_original_goes_by_the_payload_and_few_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "_REMEMBERED", 3)
    with closing(WarcWriter(WarcFiles(tmp_path, "docs"))) as writer:
        archive = SiteArchive(writer, remembered=3)
        bodies = [make_body(k, 4_000) for k in range(5)]
        rows = [archive.store(Page(make_fetched(k, body), 0)) for k, body in enumerate(bodies)]
        assert [row.original_url for row in rows] == [""] * 5
        again = [archive.store(Page(make_fetched(9, body), 0)) for body in bodies[2:]]
        assert [row.original_url for row in again] == [make_url(k) for k in (2, 3, 4)]
        assert archive.store(Page(make_fetched(9, bodies[0]), 0)).original_url == "", "forgotten"
        other = SiteArchive(writer)
        assert other.store(Page(make_fetched(9, bodies[4]), 0)).original_url == "", "another's"


def test_numbers_of_files_go_by_their_name() -> None:
    files = Files(["a", "b"])
    assert [files.number(name) for name in "bcacb"] == [1, 2, 0, 2, 1]
    assert files.names == ["a", "b", "c"]
    assert Files(["b", "a"]).number("a") == 1


def run_of(folder: Path, *bodies: bytes) -> None:
    collection = Collection(folder)
    with collection.lock():
        run = collection.new_run(datetime.fromtimestamp(NOON, UTC))
        with closing(SiteSpool(run.place("docs"))) as spool:
            for number, body in enumerate(bodies):
                spool.put(
                    Page(make_fetched(number, body), 0),
                    JournalEntry(UrlOutcome.PAGE, make_url(number)),
                )
            spool.commit()
        seal(run)
        run.finish()


def test_a_stored_page_is_that_of_its_row(tmp_path: Path) -> None:
    bodies = [make_body(number) for number in range(3)]
    run_of(tmp_path / "a", *bodies)
    run_of(tmp_path / "b", *reversed(bodies))
    for folder, expected in (("a", bodies), ("b", bodies[::-1])):
        pages = sorted(headgate.open(tmp_path / folder).pages(), key=lambda page: page.url)
        for _ in range(2):
            assert [page.body for page in pages] == expected
            assert [page._response.url for page in pages] == [page.url for page in pages]


def test_whether_an_archive_is_there_is_looked_at_once_in_a_run(tmp_path: Path) -> None:
    """By file, and anew in the next run."""
    run_of(tmp_path, make_body(0))
    (file,) = tmp_path.glob("runs/*/warc/*.gz")
    for there in (True, False, True):
        if not there:
            file.rename(file.with_suffix(".away"))
        elif not file.exists():
            file.with_suffix(".away").rename(file)
        with closing(KnownPages(Collection(tmp_path), "docs")) as known:
            for _ in range(2):
                assert (known.find(make_url(0)) is not None) == there
            assert len(known._there) == 1


def test_kept_commits_are_those_of_the_journal_while_they_are_few(tmp_path: Path) -> None:
    (tmp_path / "warc").mkdir()
    place = SpoolPlace(Owner("s"), tmp_path / "s.journal", WarcFiles(tmp_path / "warc", "s"))
    for leg in range(2):
        with closing(SiteSpool(place)) as spool:
            for number in range(40):
                spool.put(
                    Page(make_fetched(100 * leg + number), 0),
                    JournalEntry(UrlOutcome.PAGE, make_url(100 * leg + number)),
                )
                spool.commit()
                kept = [row.url for _, rows, *_ in spool.commits() for row in rows]
                stored = [row.url for rows in spool._journal.pages() for row in rows]
                assert kept == stored
                assert len(stored) == 40 * leg + number + 1
            assert spool._kept is None, "too much, or an earlier leg's is there"
