"""WACZ and SQLite files, as the programs of others see them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import make_body, make_url

from headgate.features.export.export import Export, ExportJob

from .crawled import SHARED_BODY, crawl_again, crawl_once
from .replaying import replayed, serving_pywb

EXPORT = Path(__file__).parents[3] / "docs" / "export.md"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the second run alone, whose pages are in the first."""
    folder = tmp_path_factory.mktemp("packed")
    crawl_once(folder / "kept")
    crawl_again(folder / "kept")
    exporting = ExportJob(Export(folder / "kept", None, "wacz", created="2026-11-16T13:00:00Z"))
    with (folder / "second.wacz").open("wb") as file:
        exporting.write(file)
    assert exporting.remarks == []
    return folder / "second.wacz"


def test_it_is_valid(wacz_bin: Path, package: Path) -> None:
    done = subprocess.run(
        [str(wacz_bin / "wacz"), "validate", "-f", str(package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "the passed WACZ is valid" in done.stdout


def test_pywb_replays_it_with_nothing_beside(pywb_bin: Path, package: Path, tmp_path: Path) -> None:
    """By the commands of docs/export.md."""
    (tmp_path / "site.wacz").symlink_to(package)
    lines = re.findall(r"^wb-manager .*", EXPORT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        words = [str(pywb_bin / "wb-manager"), *line.split()[1:]]
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    with serving_pywb(pywb_bin, tmp_path) as wayback:
        assert replayed(wayback, "site", "20261116", make_url(1)) == make_body(1)
        assert replayed(wayback, "site", "20261116", make_url(5)) == SHARED_BODY


def test_datasette_opens_the_database(datasette_bin: Path, tmp_path: Path) -> None:
    crawl_once(tmp_path / "kept")
    ExportJob(Export(tmp_path / "kept", None, "sqlite")).write_database(tmp_path / "x.sqlite")
    done = subprocess.run(
        [str(datasette_bin / "datasette"), str(tmp_path / "x.sqlite"), "--get",
         f"/x/pages.json?_shape=array&url={make_url(3)}"],
        capture_output=True,
        check=True,
    )  # fmt: skip
    (row,) = json.loads(done.stdout)
    assert row["status"] == 200
    assert row["fetched_at"].startswith("2026-11-15T12:00:03")
