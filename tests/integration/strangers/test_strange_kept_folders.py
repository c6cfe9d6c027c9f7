"""`headgate keep` in a collection that somebody else made: nothing that its files name is run,
posted to or deleted, and the site of the reader's own file is kept as anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.changing_web import ChangingWeb, serving
from tests.acceptance.running import headgate

PAGES = {"/": ["/a", "/b"], "/a": ["/"], "/b": ["/"]}


@pytest.fixture
def web() -> Iterator[ChangingWeb]:
    with serving(ChangingWeb(dict(PAGES))) as running:
        yield running


@pytest.fixture
def site_file(tmp_path: Path, web: ChangingWeb) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(f'[site.honest]\nseeds = ["{web.url()}"]\n')
    return path


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs"
    path.mkdir()
    return path


def keep_once(site_file: Path, theirs: Path, web: ChangingWeb) -> dict[str, Any]:
    """Its status; the honest site is there, whatever else the folder holds."""
    done = headgate("keep", site_file, "--out", theirs, "--once", "--quiet")
    assert done.returncode == 0, done.stderr
    assert {path for path in web.asked if path in PAGES} == set(PAGES)
    changes = headgate("changes", theirs, "--since", "1d", "--format", "jsonl").stdout
    urls = {json.loads(line)["url"] for line in changes.splitlines()}
    assert urls == {web.url(path) for path in PAGES}
    status: dict[str, Any] = json.loads(headgate("keep", "--status", theirs, "--json").stdout)
    return status


@pytest.mark.parametrize("site", ["honest", "theirs"])
def test_no_notice_of_theirs_names_what_is_run(
    web: ChangingWeb, site_file: Path, theirs: Path, tmp_path: Path, site: str
) -> None:
    run = tmp_path / "run"
    change = {"change": "gone", "site": site, "url": web.url("/a"), "title": "", "seen_at": 1.0}
    for number, to in enumerate([f"touch {run}", web.url("/posted")]):
        notice = {"to": to, "change": change}
        with (theirs / "notices.jsonl").open("a") as log:
            log.write(json.dumps({"number": number + 1, "notice": notice}) + "\n")
        (theirs / "notices").mkdir(exist_ok=True)
        (theirs / "notices" / f"{site}~{number + 1}.json").write_text(json.dumps([notice]))
    # The reader's own command gets what his file tells of, and only of his own site.
    told = tmp_path / "told"
    with site_file.open("a") as file:
        file.write(f'on_change = "tee -a {told}"\nmin_interval = "1s"\n')
    keep_once(site_file, theirs, web)
    assert not run.exists()
    assert not web.asked["/posted"]
    if site != "honest":
        assert not told.exists()
