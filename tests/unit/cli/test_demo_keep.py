"""What the demo of keeping shows, of two keepers that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.cli import demo_keep
from headgate.features.demo.keep import Kept


async def _made_up(out: Path, seconds: float, *, quiet: bool) -> list[Kept]:  # noqa: ARG001
    times, moved = [0.0, 20.0, 40.0], [0.0, 5e5, 1e6]
    return [
        Kept(
            "headgate keep",
            times,
            fresh=[0.9, 0.95, 0.94],
            ages=[0.2, 0.5, 0.4],
            moved=moved,
            looks=150,
        ),
        Kept(
            "all pages alike",
            times,
            fresh=[0.9, 0.85, 0.83],
            ages=[0.2, 1.5, 1.4],
            moved=moved,
            looks=120,
        ),
    ]


def test_page_and_words_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_keep, "_keep_both", _made_up)
    assert demo_keep.run_keep_demo(tmp_path, 40.0, quiet=False) == 0
    shown, page = capsys.readouterr(), (tmp_path / "demo-keep.html").read_text()
    words = "0.50 times as many pages out of date, 0.35 times as long, with 1.00 times the bytes"
    assert words in shown.out
    assert words in page
    assert "7.0%" in page
    assert "14.0%" in page
    assert "\ufffd" not in page, "a character that no page can show"
    assert max(len(line) for line in shown.err.splitlines()) <= 100
