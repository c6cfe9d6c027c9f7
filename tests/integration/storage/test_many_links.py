"""Tables of many links: Arrow writes what it was given, and loads no more than that takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from headgate.storage.journals.journal import LinkLines
from headgate.storage.tables.arrow_tables import link_groups

LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8)
WRITING = """
import sys
from pathlib import Path
from headgate.storage.journals.journal import LinkLines
from headgate.storage.tables.arrow_tables import link_groups, page_groups
from headgate.storage.page import PageRow

folder = Path(sys.argv[1])
with link_groups(folder / "links.parquet") as write:
    write([("s", LinkLines("http://a/", 1, "http://a/b\\nhttp://a/c", "nofollow\\n"))])
with page_groups(folder / "pages.parquet") as write:
    write([("s", PageRow("http://a/", "page", 200, "", 0, 1, 1, 0.0, 0.0, 1e9, b"x" * 20))])
print(*{"pyarrow.compute", "numpy.ma"} & set(sys.modules))
"""


@given(st.lists(st.tuples(st.lists(LINE, min_size=1), st.booleans()), min_size=1))
def test_each_line_is_a_row(made: list[tuple[list[str], bool]]) -> None:
    pages = [
        LinkLines(f"http://a/{number}", number, "\n".join(targets), "\n".join(rels))
        for number, (targets, marked) in enumerate(made)
        for rels in [[target[:1] for target in targets] if marked else []]
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "links.parquet"
        with link_groups(path) as write:
            write([(f"site {page.depth % 2}", page) for page in pages])
        rows = pq.read_table(path).to_pydict()
    targets = [target for page in pages for target in page.targets.split("\n")]
    assert rows["target"] == targets
    rels = [
        rel or None
        for page in pages
        for rel in (page.rels.split("\n") if page.rels else [""] * (page.targets.count("\n") + 1))
    ]
    assert rows["rel"] == rels


def test_writing_loads_neither_functions_of_columns_nor_masked_arrays(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('few have it, and it loads both')")
    program = [sys.executable, "-c", WRITING, str(tmp_path)]
    said = subprocess.check_output(
        program, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert said.split() == []
