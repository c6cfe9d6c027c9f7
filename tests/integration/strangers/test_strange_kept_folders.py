"""`headgate keep` in a collection that somebody else made: nothing that its files name is run,
posted to or deleted, and the site of the reader's own file is kept as anywhere."""

from __future__ import annotations

import json
import shutil
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


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of the reader's, with files as a keeper's folders have."""
    folder = tmp_path / "elsewhere"
    for name in ("1.json", "honest~1.json", "precious-00001.warc.gz", "1.1.0.part"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("precious")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["../../../../elsewhere/precious-00001.warc.gz", "absolute"])
def test_no_note_of_theirs_deletes_a_file_elsewhere(
    web: ChangingWeb, site_file: Path, theirs: Path, elsewhere: Path, name: str
) -> None:
    keep_once(site_file, theirs, web)
    (run,) = (theirs / "runs").iterdir()
    if name == "absolute":
        name = str(elsewhere / "precious-00001.warc.gz")
    assert (run / "warc" / name).is_file(), "the name leads there"
    note = {"offsets": {name: [0]}, "now": 1.0}
    (run / "removing.json").write_text(json.dumps(note))
    web.asked.clear()
    assert headgate("keep", "--visit", "honest", "--out", theirs).returncode == 0
    before = contents(elsewhere)
    status = keep_once(site_file, theirs, web)
    assert contents(elsewhere) == before
    (trouble,) = status["troubles"]
    assert "removing.json is damaged (it names what is no WARC file" in trouble["what"]
    assert "move it away" in trouble["what"]


@pytest.mark.parametrize(
    "name",
    ["keep-wishes", "links", "notices", "arriving", "spool/STAMP/arriving", "runs/STAMP/warc"],
)
def test_no_folder_of_theirs_leads_elsewhere(
    web: ChangingWeb, site_file: Path, theirs: Path, elsewhere: Path, name: str
) -> None:
    """A keeper deletes what it has read there."""
    keep_once(site_file, theirs, web)
    (run,) = (theirs / "runs").iterdir()
    if "spool" in name:  # as a kill leaves it
        (theirs / "spool" / run.name).mkdir()
        (theirs / "spool" / run.name / "keep.state").write_text("{}")
    if "warc" in name:
        shutil.rmtree(run / "warc")
        (run / "removing.json").write_text('{"offsets": {"precious-00001.warc.gz": [0]}, "now": 1}')
        headgate("keep", "--visit", "honest", "--out", theirs)  # what is removed, is so after it
    place = theirs / name.replace("STAMP", run.name)
    place.symlink_to(elsewhere)
    before = contents(elsewhere)
    done = headgate("keep", site_file, "--out", theirs, "--once", "--quiet")
    assert contents(elsewhere) == before
    if "warc" in name:  # of a sealed run nothing is needed to go on
        status = json.loads(headgate("keep", "--status", theirs, "--json").stdout)
        assert f"{place} is a symbolic link" in status["troubles"][0]["what"]
    else:
        assert done.returncode == 2
        assert f"{place} is a symbolic link" in done.stderr
        assert "remove it" in done.stderr
    if name == "keep-wishes":
        done = headgate("keep", "--visit", "honest", "--out", theirs)
        assert done.returncode == 2
        assert f"{place} is a symbolic link" in done.stderr
    assert contents(elsewhere) == before


def test_the_folder_itself_may_be_a_link(
    web: ChangingWeb, site_file: Path, theirs: Path, tmp_path: Path
) -> None:
    """The reader named it."""
    (tmp_path / "link").symlink_to(theirs)
    keep_once(site_file, tmp_path / "link", web)
    assert list(theirs.glob("runs/*/warc/*.warc.gz"))
