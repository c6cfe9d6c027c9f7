"""``headgate crawl --order score`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .running import headgate
from .small_web import SmallWeb, serving


@pytest.mark.parametrize("admission", ["shares", "estimates", "on-off"])
def test_one_queue_crawls_all_sites(admission: str, tmp_path: Path) -> None:
    with serving(SmallWeb(30)) as one, serving(SmallWeb(30)) as other:
        file = tmp_path / "sites.toml"
        file.write_text(
            '[budget]\nbandwidth = "400 KB/s"\norder = "score"\n'
            f'[site.a]\nseeds = ["{one.seed}"]\ndelay = 0\n'
            f'[site.b]\nseeds = ["{other.seed}"]\ndelay = 0\norder = "links-in"\n'
        )
        done = headgate(
            "crawl", file, "--focus", "page", "--admission", admission, "--out", tmp_path / "data"
        )
    assert done.returncode == 0, done.stderr
    assert "60 pages" in done.stdout
    assert f"The best page of all sites went first (admission by {admission})" in done.stdout
    report = json.loads(next(tmp_path.glob("data/runs/*/report.json")).read_bytes())
    assert report["order"]["admission"] == admission
    assert report["order"]["begun"] >= 60
    assert [site["state"] for site in report["sites"]] == ["done", "done"]


def test_without_scores_it_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    done = headgate("crawl", "http://127.0.0.1:9/", "--order", "score", "--out", tmp_path / "data")
    assert done.returncode == 2
    assert "its pages have no scores to go by; give it a focus" in done.stderr
    assert not list(tmp_path.glob("data/runs/*"))
