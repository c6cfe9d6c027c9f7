"""A collection made by a stranger: its links are not followed, its files are not believed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving

from headgate.model.run_report import RunReport
from headgate.storage.collection import Collection
from headgate.storage.memory.merging import merge
from headgate.storage.memory.page import PageLook, Sighting
from headgate.storage.memory.site import SiteMemory

from .strange_collections import Strange, entered, make_crawl, without_the_web

Capture = pytest.CaptureFixture[bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    return make_crawl(tmp_path_factory.mktemp("strange") / "data")


@pytest.fixture
def strange(made: Strange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Strange:
    without_the_web(monkeypatch)
    return made.copy(tmp_path / "data")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("precious")
    return path


def names_written(made: Strange) -> list[str]:
    """Every file of a collection, and the names under which they are made."""
    files = [path.relative_to(made.path) for path in made.path.rglob("*") if path.is_file()]
    parts = [path.with_name(f".{path.name}.part") for path in files]
    pieces = [
        path.with_name(f".{path.name}.part.piece-0") for path in files if path.suffix == ".cdxj"
    ]
    return sorted(map(str, {*files, *parts, *pieces, Path("catalog.sqlite-journal")}))


@pytest.mark.usefixtures("strange")
def test_no_link_where_a_file_is_written_is_followed(
    made: Strange, precious: Path, tmp_path: Path, capfdbinary: Capture
) -> None:
    """Whatever a command says to it, what a link leads to stays as it is."""
    for name in names_written(made):
        here = made.copy(tmp_path / "data")
        place = here.path / name
        place.unlink(missing_ok=True)
        place.symlink_to(precious)
        for words in (
            ("report", here.finished),
            ("crawl", "--resume", "--quiet"),
            ("budget", here.path, "1MB/s"),
            ("crawl", "--abandon"),
        ):
            folder = ("--out", here.path) if words[0] == "crawl" else ()
            done = entered(capfdbinary, *words, *folder)
            assert done.code in (0, 1, 2, 4, 130), (name, words)
            assert precious.read_text() == "precious", (name, words)


@pytest.mark.parametrize("name", [".lock", "catalog.sqlite"])
def test_a_link_is_named_with_what_to_do(
    strange: Strange, precious: Path, capfdbinary: Capture, name: str
) -> None:
    (strange.path / name).unlink()
    (strange.path / name).symlink_to(precious)
    done = entered(capfdbinary, "crawl", "--resume", "--out", strange.path)
    assert done.code == 2
    assert "is a symbolic link" in done.complaint
    assert "remove it" in done.complaint


@pytest.mark.parametrize("name", ["runs", "spool", "sites", "warc", "run", "spool of run"])
def test_no_folder_of_a_collection_leads_elsewhere(
    strange: Strange, tmp_path: Path, capfdbinary: Capture, name: str
) -> None:
    """A WARC file behind the last is deleted when a run goes on: not in somebody else's folder."""
    own = {
        "warc": strange.unfinished / "warc",
        "run": strange.unfinished,
        "spool of run": strange.spool,
    }
    place = own.get(name, strange.path / name)
    elsewhere = tmp_path / "elsewhere"
    shutil.move(place, elsewhere)
    place.symlink_to(elsewhere, target_is_directory=True)

    def listing() -> list[str]:
        return sorted(str(path) for path in elsewhere.rglob("*"))

    before = listing()
    commands = [["crawl", "--resume"], ["crawl", "--abandon"], ["crawl", "http://127.0.0.1:9/"]]
    for words in commands:
        done = entered(capfdbinary, *words, "--out", strange.path, "--quiet")
        assert done.code in (2, 4, 130), (words, done.err)
        assert listing() == before
    entered(capfdbinary, "report", strange.path)
    entered(capfdbinary, "budget", strange.path, "1MB/s")
    assert listing() == before


@pytest.mark.usefixtures("strange")
def test_pipes_in_place_of_files_keep_nobody_waiting(
    made: Strange, tmp_path: Path, capfdbinary: Capture
) -> None:
    names = [name for name in names_written(made) if ".part" not in name]
    for name in names:
        here = made.copy(tmp_path / "data")
        (here.path / name).unlink(missing_ok=True)
        os.mkfifo(here.path / name)
        for words in (["report", here.path], ["crawl", "--resume", "--out", here.path, "--quiet"]):
            assert entered(capfdbinary, *words).code in (0, 1, 2, 130), (name, words)


def test_a_saved_report_does_not_choose_where_it_is_written(
    strange: Strange, tmp_path: Path, capfdbinary: Capture
) -> None:
    state = strange.spool / "report.state"
    (tmp_path / "elsewhere").mkdir()
    report = msgspec.json.decode(state.read_bytes(), type=RunReport)
    evil = msgspec.structs.replace(report, stamp="../../elsewhere")
    state.write_bytes(msgspec.json.encode(evil))
    assert entered(capfdbinary, "crawl", "--abandon", "--out", strange.path).code == 0
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (strange.path / "runs" / report.stamp / "report.html").exists()


def test_a_run_without_its_report_is_sealed_when_it_is_given_up(
    strange: Strange, capfdbinary: Capture
) -> None:
    run = strange.unfinished
    for name in ("pages.parquet", "report.json"):
        (run / name).unlink(missing_ok=True)
    (strange.spool / "report.state").unlink()
    done = entered(capfdbinary, "crawl", "--abandon", "--out", strange.path)
    assert done.code == 0, done.err
    assert (run / "pages.parquet").exists()
    assert entered(capfdbinary, "export", run).out.count("\n") > 3


SCORER = """
from pathlib import Path
Path("loaded").touch()
def score(link, page): return 0.5
"""


def test_a_resumed_run_loads_no_scorer_unasked(made: Strange, tmp_path: Path) -> None:
    """It is in the folder where the user stands, perhaps by the same stranger's hand."""
    with serving(SmallWeb(30, seconds_per_page=0.01)) as web:
        here = made.copy(tmp_path / "data")
        (tmp_path / "rank.py").write_text(SCORER)
        state = here.spool / "request.state"
        request = msgspec.json.decode(state.read_bytes())
        request |= {"order": "rank:score", "urls": [web.seed]}
        state.write_bytes(msgspec.json.encode(request))
        (here.spool / "report.state").unlink()
        words = [sys.executable, "-m", "headgate", "crawl", "--resume", "--out", str(here.path)]
        words.append("--trust-run")  # that is asked first

        def resumed(*more: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*words, "--quiet", *more], cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=60,
                capture_output=True, text=True, check=False,
            )  # fmt: skip

        refused = resumed()
        assert refused.returncode == 2
        assert "rank:score" in refused.stderr
        assert "--trust-scorers" in refused.stderr
        assert not web.asked
        assert not (tmp_path / "loaded").exists()
        done = resumed("--trust-scorers")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "loaded").exists()


def test_what_a_memory_holds_puts_no_line_on_the_wire(tmp_path: Path) -> None:
    """An ETag with a line's end in it, and URLs with more."""
    heads: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                head = connection.recv(65536)
                heads.append(head)
                body = b"<a href=/known.html>k</a>" if b"GET / " in head else b"x"
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
                )

    threading.Thread(target=serve, daemon=True).start()
    site, seed = f"127.0.0.1:{port}", f"http://127.0.0.1:{port}/"
    out = tmp_path / "data"
    headgate("crawl", seed, "--out", out, "--quiet", "--delay", "0")
    (warc,) = (path.relative_to(out).as_posix() for path in out.glob("runs/*/warc/*"))
    path = Collection(out).memory(site)
    evil = '"x"\r\nX-Evil: yes'
    with SiteMemory.checked(path, site) as old:
        known = [page.url for page in old]
        assert f"{seed}known.html" in known

        def met(files):  # type: ignore[no-untyped-def]
            for url in [
                *known,
                f"{seed}a HTTP/1.1\r\nX-Evil: yes",
                "http://127.0.0.1\r\nX-Evil: 1/",
            ]:
                look = PageLook(
                    5e9,
                    200,
                    error="",
                    size_bytes=10,
                    etag=evil,
                    last_modified=evil,
                    digest=b"d" * 20,
                    content=b"",
                    original_url="",
                    original_at=5e9,
                    file=files.number(warc),
                    offset=0,
                )
                yield Sighting(url, 1, 5e9, look if url in known else None)

        merge(path, old, "evil", met)
    heads.clear()
    done = headgate("crawl", seed, "--out", out, "--quiet", "--delay", "0")
    server.close()
    assert done.returncode == 0, done.stderr
    assert any(b"GET /known.html" in head for head in heads)
    assert not any(b"evil" in head.lower() for head in heads)


@pytest.mark.parametrize("name", ["a:/b", "http://x y"])
def test_names_of_folders_that_look_like_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(SmallWeb(3)) as web:
        done = headgate("crawl", web.seed, f"--out={name}", "--quiet")
        assert done.returncode == 0, done.stderr
        again = headgate("crawl", web.seed, f"--out={name}", "--quiet")
        assert again.returncode == 0, again.stderr
    assert headgate("export", f"./{name}").stdout.count("\n") == 6
    assert headgate("report", f"./{name}").returncode == 0


@pytest.mark.parametrize(
    "name", ["", "x" * 300, "/".join(["y" * 250] * 16), "/proc/none/x", "/dev/null/x", "/dev/null"]
)
def test_names_that_cannot_be_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("crawl", "survey"):
        done = entered(capfdbinary, command, "http://127.0.0.1:9/", f"--out={name}", "--quiet")
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
        assert list(tmp_path.iterdir()) == []
