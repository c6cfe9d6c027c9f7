"""Small sites share a journal and WARC files: stored together, torn in every way a crash can, and
found again each by itself."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.unit.storage.warc.making import make_page, make_url

from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.errors import WorldFault
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner, read_owners
from headgate.storage.journals.run_journals import SharedFiles, recover_shared, site_journals
from headgate.storage.journals.spool import SiteSpool, commit_together
from headgate.storage.sealing import seal
from headgate.storage.warc.writer import WarcWriter

from .crawled import STARTED

SITES = ("alpha", "beta", "gamma")
NEVER = 10**9


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    collection = Collection(tmp_path)
    with collection.lock():
        yield collection.new_run(STARTED)


def entry(number: int) -> JournalEntry:
    return JournalEntry(UrlOutcome.PAGE, make_url(number))


def store(run: RunFolder, rounds: int, first: int = 0, small_bytes: int = NEVER) -> None:
    """A leg: each site gives a page a round, and all commit together."""
    with closing(SharedFiles.claim(run)) as shared, ExitStack() as opened:
        spools = [SiteSpool(run.place(site), shared, small_bytes) for site in SITES]
        for spool in spools:
            opened.callback(spool.close)
        for number in range(first, first + rounds):
            for place, spool in enumerate(spools):
                spool.put(make_page(100 * place + number), entry(100 * place + number))
            commit_together(spools)


def stored(run: RunFolder) -> dict[str, list[str]]:
    """Of each site, the URLs by its entries; its rows must say the same."""
    found = {}
    for (site, _), journal in site_journals(run).items():
        found[site] = [one.url for one in journal.entries()]
        assert found[site] == [row.url for rows in journal.pages() for row in rows]
    return found


def expected(pages: int) -> dict[str, list[str]]:
    numbers = range(pages)
    return {
        site: [make_url(100 * place + number) for number in numbers]
        for place, site in enumerate(SITES)
        if pages
    }


def test_sites_share_two_files_and_are_found_each_by_itself(run: RunFolder) -> None:
    store(run, 3)
    assert [path.name for path in run.shared_journals()] == ["small-sites-1.journal"]
    assert run.journals() == []
    assert [path.name for path in run.warc.iterdir()] == ["small-sites-1-00001.warc.gz"]
    assert stored(run) == expected(3)


def test_each_leg_has_files_of_its_own_and_goes_on(run: RunFolder) -> None:
    for leg in range(3):
        store(run, 2, first=2 * leg)
    assert len(run.shared_journals()) == 3
    assert stored(run) == expected(6)
    with closing(SharedFiles.claim(run)) as shared:
        again = SiteSpool(run.place("beta"), shared)
        assert [one.url for one in again.entries()] == expected(6)["beta"]


def test_a_site_that_grows_moves_out(run: RunFolder) -> None:
    store(run, 3, small_bytes=1)
    assert [path.name for path in run.journals()] == [f"{site}.journal" for site in SITES]
    owners = [owner for owner, _ in read_owners(run.shared_journals()[0])]
    assert owners == [Owner(site) for site in SITES]
    store(run, 2, first=3)
    assert stored(run) == expected(5)
    assert len(run.shared_journals()[1].read_bytes()) == 0, "who has moved out does not come back"


def test_tables_and_memories_know_them_site_by_site(run: RunFolder) -> None:
    store(run, 2)
    store(run, 2, first=2, small_bytes=1)
    assert seal(run) == []
    pages = pq.read_table(run.path / "pages.parquet").to_pylist()
    assert [(row["site"], row["url"]) for row in pages] == [
        (site, url) for site, urls in expected(4).items() for url in urls
    ]
    for row in pages:
        data = (run.warc / row["warc_file"]).read_bytes()
        record = gzip.decompress(data[row["warc_offset"] :][: row["warc_length"]])
        assert f"WARC-Target-URI: {row['url']}\r\n".encode() in record
    known = sorted(path.name for path in Collection(run.collection).memories.iterdir())
    assert known == [f"{site}.pages" for site in SITES]


def test_a_journal_torn_at_any_byte_loses_only_what_was_not_committed(run: RunFolder) -> None:
    """Frames of one commit may be there in part, and then their WARC records, and no others."""
    store(run, 3)
    place = run.shared_place(1)
    journal, warc = place.journal.read_bytes(), place.warc.path(1).read_bytes()
    begins = [start for _, start in read_owners(place.journal)]
    ends = [*begins[1:], len(journal)]
    for cut in sorted({*range(0, len(journal), 7), *ends, *(end - 1 for end in ends)}):
        place.journal.write_bytes(journal[:cut])
        place.warc.path(1).write_bytes(warc)
        recover_shared(run)
        whole = sum(end <= cut for end in ends)
        found = stored(run)
        assert sum(map(len, found.values())) == whole
        assert all(expected(3)[site][: len(urls)] == urls for site, urls in found.items())
        if whole:
            text = gzip.decompress(place.warc.path(1).read_bytes())
            assert text.count(b"WARC-Type: response") == whole
        else:
            assert not place.warc.path(1).exists()


def test_records_whose_journal_was_never_written_are_dropped(run: RunFolder) -> None:
    store(run, 1)
    torn = run.shared_place(7).warc.path(1)
    torn.write_bytes(b"half a record")
    recover_shared(run)
    assert not torn.exists()
    assert stored(run) == expected(1)


def test_who_claims_touches_only_what_is_nobodys(run: RunFolder) -> None:
    """Processes begin while others write; one may take the place of one that died."""
    with closing(SharedFiles.claim(run)) as living:
        spool = SiteSpool(run.place("alpha"), living)
        spool.put(make_page(0), entry(0))
        spool.commit()
        with closing(SharedFiles.claim(run)) as dying:
            dead = SiteSpool(run.place("beta"), dying)
            dead.put(make_page(100), entry(100))
            dead.commit()
        torn = {number: run.shared_place(number) for number in (1, 2)}
        for place in torn.values():
            for path in (place.journal, place.warc.path(1)):
                path.write_bytes(path.read_bytes() + b"not yet stored")
        with closing(SharedFiles.claim(run)) as taking_over:
            again = SiteSpool(run.place("beta"), taking_over)
            assert [one.url for one in again.entries()] == [make_url(100)]
        for number, place in torn.items():
            for path in (place.journal, place.warc.path(1)):
                assert path.read_bytes().endswith(b"not yet stored") == (number == 1)


def test_after_a_failed_commit_nobody_goes_on(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SharedFiles.claim(run)) as shared:
        spools = [SiteSpool(run.place(site), shared) for site in SITES]
        spools[0].put(make_page(0), entry(0))
        commit_together(spools)
        spools[1].put(make_page(1), entry(1))

        def fail(_: WarcWriter) -> None:
            raise WorldFault("no space")

        with monkeypatch.context() as broken:
            broken.setattr(WarcWriter, "sync", fail)
            with pytest.raises(WorldFault, match="no space"):
                commit_together(spools)
        spools[2].put(make_page(2), entry(2))
        with pytest.raises(WorldFault, match="could not be written before"):
            commit_together(spools)
    recover_shared(run)
    assert stored(run) == {"alpha": [make_url(0)]}
