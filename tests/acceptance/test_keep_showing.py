"""`headgate report` of a collection that is kept: words, page, JSON, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.running import headgate
from tests.unit.features.keep.view.kept import made_up

from headgate.features.keep.status_files import add_hours, save_status


def test_words_and_page(tmp_path: Path) -> None:
    status, hours = made_up(30)
    save_status(tmp_path, status)
    add_hours(tmp_path, hours[:-1])
    done = headgate("report", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("24 sites, 12,345 pages, kept since 2026-11-15 12:00 UTC.\n")
    assert "It was killed, at the latest" in done.stdout
    assert done.stdout.endswith(f"Page: {tmp_path / 'keep.html'}\n")
    page = (tmp_path / "keep.html").read_text(encoding="utf-8")
    assert "<h2>Freshness</h2>" in page
    assert "There is a chart once" not in page
    as_json = headgate("report", tmp_path, "--json")
    assert json.loads(as_json.stdout)["promises"]["late"] == status.promises.late


def test_a_state_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "keep.json").write_bytes(b"{}")
    done = headgate("report", tmp_path)
    assert done.returncode == 2
    assert "nothing is kept there; start with 'headgate keep FILE --out" in done.stderr
