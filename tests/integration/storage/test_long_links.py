"""Links of a stranger's page, two thousand characters each, come into groups of bounded size."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from headgate.storage.journals.journal import LinkLines
from headgate.storage.sealing import writing_links


def test_a_page_of_many_long_links_is_written_in_parts(tmp_path: Path) -> None:
    targets = [f"http://example.org/{k}/{'x' * 900}" for k in range(12_000)]
    rels = ["" if k % 3 else "nofollow" for k in range(12_000)]
    marked = LinkLines("http://example.org/a", 1, "\n".join(targets), "\n".join(rels))
    plain = LinkLines("http://example.org/b", 2, "\n".join(targets), "")
    with writing_links(tmp_path / "links.parquet") as add:
        add("site", [marked, plain])
    table = pq.read_table(tmp_path / "links.parquet").to_pydict()
    assert table["target"] == targets * 2
    assert table["rel"] == [rel or None for rel in rels] + [None] * 12_000
    assert table["depth"] == [1] * 12_000 + [2] * 12_000
    groups = pq.read_metadata(tmp_path / "links.parquet")
    assert groups.num_row_groups >= 5
