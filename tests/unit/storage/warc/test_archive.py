"""Which record is a revisit of which, and when a WARC file is full."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.storage.warc.making import NOON, make_body, make_fetched, make_url

from headgate.model.page import Earlier, Page, payload_digest
from headgate.storage.warc.archive import SiteArchive
from headgate.storage.warc.writer import WarcFiles, WarcWriter


def test_equal_payloads_are_revisits_of_the_first_and_never_of_each_other(tmp_path: Path) -> None:
    body = make_body(1, 4000)
    with closing(WarcWriter(WarcFiles(tmp_path, "docs"))) as writer:
        archive = SiteArchive(writer)
        first, *others = [archive.store(Page(make_fetched(k, body), 0)) for k in range(4)]
    assert first.original_url == ""
    assert {row.original_url for row in others} == {make_url(0)}
    assert {row.original_offset for row in others} == {first.warc_offset}
    assert {row.original_at for row in others} == {first.fetched_at}


def test_what_was_cut_short_is_nobodys_original_and_no_revisit(tmp_path: Path) -> None:
    body = make_body(1, 4000)
    cut = [replace(make_fetched(k, body), truncated="length") for k in (0, 2)]
    with closing(WarcWriter(WarcFiles(tmp_path, "docs"))) as writer:
        archive = SiteArchive(writer)
        rows = [archive.store(Page(page, 0)) for page in (cut[0], make_fetched(1, body), cut[1])]
    assert [row.original_url for row in rows] == ["", "", ""]


@pytest.mark.parametrize("changed", [False, True])
def test_a_page_is_a_revisit_of_the_last_run_only_where_it_is_the_same(
    tmp_path: Path, changed: bool
) -> None:
    """Else its payload would be nowhere."""
    body = make_body(1, 4000)
    digest = payload_digest(make_body(2, 4000) if changed else body)
    earlier = Earlier(make_url(0), NOON, digest, file="runs/before/warc/docs.warc.gz", offset=7)
    with closing(WarcWriter(WarcFiles(tmp_path, "docs"))) as writer:
        row = SiteArchive(writer).store(Page(make_fetched(0, body), 0, earlier=earlier))
    assert row.original_url == ("" if changed else make_url(0))


@pytest.mark.parametrize(("room", "file"), [(0, 2), (1, 1)])
def test_a_file_at_its_bound_takes_no_further_record(tmp_path: Path, room: int, file: int) -> None:
    with closing(WarcWriter(WarcFiles(tmp_path, "docs"))) as writer:
        writer.warcinfo_id(NOON)
        writer.write(b"a record")
        mark = writer.sync()
    files = WarcFiles(tmp_path, "docs", max_bytes=mark.length + room)
    with closing(WarcWriter(files, mark)) as writer:
        writer.warcinfo_id(NOON)
        writer.write(b"one more")
        assert writer.sync().number == file
