"""``headgate lab --quick --out lab.html``, as the README has it: every paper, wholly wired."""

from __future__ import annotations

from pathlib import Path

from headgate.lab.papers import PAPERS

from .running import headgate


def test_every_paper_is_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "lab.html"
    done = headgate("lab", "--quick", "--jobs", "1", "--out", page, seconds=900)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    for paper in PAPERS:
        assert f'id="{paper}"' in text
    assert list(tmp_path.iterdir()) == [page], "parts are kept until the page is written"
