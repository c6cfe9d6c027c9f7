"""Tables of few rows are written without Arrow, and say the same as if Arrow had written them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headgate.storage import sealing as tables
from headgate.storage.journals.journal import LinkLines
from headgate.storage.page import PageRow
from headgate.storage.tables import arrow_tables

ROWS = [
    PageRow(
        "http://a/",
        "page",
        status=200,
        content_type="text/html",
        depth=0,
        payload_bytes=10_000_000_000,
        wire_bytes=11,
        first_byte_seconds=0.1,
        seconds=0.25,
        fetched_at=1.7e9,
        digest=b"x" * 20,
        title="Größe",
        etag='"e"',
        warc_file="a.warc.gz",
        warc_offset=5,
        warc_length=7,
        relevance=0.5,
    ),
    PageRow(
        "http://a/b",
        "page",
        status=0,
        content_type="",
        depth=3,
        payload_bytes=0,
        wire_bytes=0,
        first_byte_seconds=0.0,
        seconds=30.0,
        fetched_at=1.7e9,
        digest=b"",
        error="timeout",
    ),
    PageRow(
        "http://a/c",
        "robots",
        status=304,
        content_type="text/plain",
        depth=1,
        payload_bytes=1,
        wire_bytes=2,
        first_byte_seconds=0.0,
        seconds=0.0,
        fetched_at=1.7e9,
        digest=b"y" * 20,
        original_url="http://a/b",
        original_at=1.6e9,
        original_file="runs/x",
        original_offset=0,
    ),
]
LINKS = [
    LinkLines("http://a/", 1, "http://a/b\nhttp://a/c", "\nnofollow"),
    LinkLines("http://a/b", 2, "http://a/", ""),
]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9, 300])
def test_few_pages_read_the_same(tmp_path: Path, count: int) -> None:
    rows = [ROWS[number % len(ROWS)] for number in range(count)]
    with tables.writing_pages(tmp_path / "few") as add:
        add("a site", rows)
    with arrow_tables.page_groups(tmp_path / "arrow") as write:
        if rows:
            write([("a site", row) for row in rows])
    assert pq.read_table(tmp_path / "few").equals(pq.read_table(tmp_path / "arrow"))
    found = list(arrow_tables.read_pages_of(tmp_path / "few", "a site"))
    assert found == list(arrow_tables.read_pages_of(tmp_path / "arrow", "a site"))


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_few_links_read_the_same(tmp_path: Path, count: int) -> None:
    pages = [LINKS[number % len(LINKS)] for number in range(count)]
    with tables.writing_links(tmp_path / "few") as add:
        add("a", pages)
    with arrow_tables.link_groups(tmp_path / "arrow") as write:
        if pages:
            write([("a", page) for page in pages])
    few, arrow = pq.read_table(tmp_path / "few"), pq.read_table(tmp_path / "arrow")
    assert few.schema == arrow.schema
    assert few.to_pydict() == arrow.to_pydict()


def test_few_rows_need_no_arrow(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from headgate.storage import sealing\n"
        "from headgate.storage import sealing as tables\n"
        f"with tables.writing_pages(Path({str(tmp_path / 'few')!r})) as add: add('a', [])\n"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
