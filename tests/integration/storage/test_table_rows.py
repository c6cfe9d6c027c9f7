"""Tables given out in other forms."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.model.errors import UserMistake
from headgate.storage.tables.rows import stored_rows, write_rows


def test_a_column_whose_name_is_no_text_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "pages.parquet"
    pq.write_table(pa.table({"title": ["a"]}), file)
    file.write_bytes(file.read_bytes().replace(b"title", b"tit\xf5e"))
    with pytest.raises(UserMistake, match="is damaged"):
        write_rows(stored_rows(file), "csv", io.BytesIO())
