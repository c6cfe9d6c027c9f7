"""What we write, read by those who did not write it: warcio, FastWARC, pyarrow."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.unit.storage.warc.making import make_body, make_fetched, make_url
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.checker import Checker  # type: ignore[import-untyped]

from headgate.storage.collection import RunFolder
from headgate.storage.tables.arrow_tables import LINKS_SCHEMA, PAGES_SCHEMA

from .crawled import SHARED_BODY, crawl_again, crawl_once, make_robots_url

DOCS = Path(__file__).parents[3] / "docs" / "collection.md"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    folder = tmp_path_factory.mktemp("collection")
    return [crawl_once(folder), crawl_again(folder)]


class CheckOptions:
    """What `warcio check -v` reads from its command line."""

    verbose = True

    def __init__(self, inputs: list[str]) -> None:
        self.inputs = inputs


def test_warcio_finds_every_digest_right(
    runs: list[RunFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(file) for run in runs for file in sorted(run.warc.iterdir())]
    checker = Checker(CheckOptions(files))
    checker.process_all()
    said = capsys.readouterr().out
    assert checker.exit_value == 0, said
    assert said.count("digest pass") == 25
    assert "fail" not in said


def test_warcio_reads_every_record(runs: list[RunFolder]) -> None:
    with (runs[0].warc / "docs-00001.warc.gz").open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"))
            for record in ArchiveIterator(file)
        ]
    assert records[0] == ("warcinfo", None)
    kinds = [kind for kind, _ in records]
    assert kinds.count("response") == 9
    assert kinds.count("request") == 10
    assert kinds.count("revisit") == 1
    assert kinds.count("metadata") == 2


@pytest.mark.filterwarnings("ignore:Use the new:DeprecationWarning")  # its import warns of itself
def test_fastwarc_reads_the_same(runs: list[RunFolder]) -> None:
    from fastwarc.warc import ArchiveIterator as FastIterator
    from fastwarc.warc import WarcRecordType

    path = runs[0].warc / "docs-00001.warc.gz"
    bodies = {}
    for record in FastIterator(str(path), parse_http=False):
        assert record.verify_block_digest()
        if record.record_type == WarcRecordType.response:
            record.parse_http()
            assert record.verify_payload_digest()
            bodies[record.headers["WARC-Target-URI"]] = record.reader.read()
    assert bodies == {
        **{make_url(number): make_body(number) for number in (0, 1, 2, 3, 4, 7)},
        make_url(5): SHARED_BODY,
        make_url(8): make_body(8)[:50],
        make_robots_url(): make_fetched(10).payload,
    }


def test_the_index_leads_to_each_record(runs: list[RunFolder]) -> None:
    run = runs[0]
    lines = (run.path / "index.cdxj").read_text().splitlines()
    assert lines == sorted(lines)
    urls = []
    for line in lines:
        fields = json.loads(line.split(" ", 2)[2])
        data = (run.collection / fields["filename"]).read_bytes()
        start, length = int(fields["offset"]), int(fields["length"])
        (record,) = ArchiveIterator(io.BytesIO(data[start : start + length]))
        assert record.rec_headers.get_header("WARC-Target-URI") == fields["url"]
        assert record.rec_headers.get_header("WARC-Payload-Digest") == fields["digest"]
        urls.append(fields["url"])
    assert sorted(urls) == sorted([*(make_url(number) for number in range(9)), make_robots_url()])


def test_the_tables_hold_every_fetch_and_every_link(runs: list[RunFolder]) -> None:
    pages = pq.read_table(runs[0].path / "pages.parquet")
    assert pages.column_names == PAGES_SCHEMA.names
    rows = {row["url"]: row for row in pages.to_pylist()}
    assert len(rows) == pages.num_rows == 11
    assert {row["site"] for row in rows.values()} == {"docs"}
    failed = rows[make_url(9)]
    assert (failed["status"], failed["error"], failed["digest"]) == (None, "dns", None)
    stored = rows[make_url(5)]
    assert (stored["etag"], stored["last_modified"]) == ('"v1"', "long ago")
    assert stored["fetched_at"].isoformat() == "2026-11-15T12:00:05+00:00"
    assert stored["error"] is stored["original_url"] is stored["original_at"] is None
    assert rows[make_url(6)]["original_url"] == make_url(5)
    assert rows[make_url(6)]["original_at"] == stored["fetched_at"]
    assert rows[make_url(8)]["truncated"] == "time"
    assert rows[make_robots_url()]["role"] == "robots"

    links = pq.read_table(runs[0].path / "links.parquet")
    assert links.column_names == LINKS_SCHEMA.names
    assert links.schema.field("target").type == links.schema.field("source").type == "string"
    found = links.to_pylist()
    assert len(found) == 15
    assert found[3] == {
        "site": "docs",
        "source": make_url(1),
        "target": make_url(3),
        "rel": "nofollow",
        "depth": 1,
    }
    assert found[4]["rel"] is None


def test_a_revisit_refers_to_the_record_that_has_the_payload(runs: list[RunFolder]) -> None:
    first, second = (pq.read_table(run.path / "pages.parquet").to_pylist() for run in runs)
    before = {row["url"]: row for row in first}
    for row in second:
        old = before[row["url"]]
        assert (row["original_url"], row["original_at"]) == (old["url"], old["fetched_at"])
        assert row["digest"] == old["digest"]
    not_modified = next(row for row in second if row["status"] == 304)
    assert (not_modified["etag"], not_modified["last_modified"]) == ('"v1"', "long ago")


def test_a_sealed_run_leaves_no_scratch_files(runs: list[RunFolder]) -> None:
    expected = {"warc", "index.cdxj", "pages.parquet", "links.parquet"}
    for run in runs:
        assert {entry.name for entry in run.path.iterdir()} == expected
        assert not run.unfinished


@pytest.mark.parametrize("column", [*PAGES_SCHEMA.names, *LINKS_SCHEMA.names])
def test_every_column_is_explained(column: str) -> None:
    assert f"| `{column}` |" in DOCS.read_text(encoding="utf-8")
