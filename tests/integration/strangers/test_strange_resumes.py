"""`--resume` in a folder that somebody else made: it sends none of its reader's secrets and asks
none of his hosts, unless he says so. What he began himself goes on unasked."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from tests.acceptance.reckoning import interrupted
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving
from tests.threaded_server import QuietHandler, answering

from .strange_collections import Strange, entered, make_crawl, make_survey, without_the_web

Capture = pytest.CaptureFixture[bytes]
KEY = "key-of-the-reader"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    return make_crawl(tmp_path_factory.mktemp("strange") / "data")


@pytest.fixture
def theirs(made: Strange, tmp_path: Path) -> Strange:
    """Begun by somebody else, whose mark is good nowhere."""
    here = made.copy(tmp_path / "theirs")
    (here.spool / "begun-here.state").write_bytes(b"0" * 64)
    return here


@dataclass
class Listener:
    """A stranger's server: what it was told."""

    heads: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()

    class Handler(QuietHandler):
        def answer(self) -> None:
            one.heads.append(f"{self.path}\n{self.headers}")
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with answering(Handler) as one.port:
        yield one


def changed(strange: Strange, **fields: object) -> None:
    """Its request, rewritten by its owner."""
    state = strange.spool / "request.state"
    request = msgspec.json.decode(state.read_bytes())
    state.write_bytes(msgspec.json.encode(request | fields))
    (strange.spool / "report.state").unlink(missing_ok=True)


def resumed(strange: Strange, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return headgate(
        "crawl", *words, "--resume", "--out", strange.path, "--quiet", stdin=b"", READER_KEY=KEY
    )


def refused(strange: Strange, *words: str | Path) -> str:
    done = resumed(strange, *words)
    assert done.returncode == 2, (done.stdout, done.stderr)
    (line,) = done.stderr.splitlines()
    return line


SECRETS = {
    "headers": ["X-Key: env:READER_KEY"],
    "auth": "bearer env:READER_KEY",
    "login": "{url}login",
    "cookies": "/dev/null",
    "client_certificate": "/home/reader/me.pem",
    "proxy": "{url}",
}


@pytest.mark.parametrize("option", SECRETS)
def test_no_secret_is_sent_for_a_folder_of_somebody_elses(
    theirs: Strange, listener: Listener, option: str
) -> None:
    value = SECRETS[option]
    if isinstance(value, str):
        value = value.format(url=listener.url)
    options: dict[str, object] = {option: value}
    if option == "login":
        options["login_fields"] = ["user=env:READER_KEY"]
    changed(theirs, urls=[listener.url], site_options=options)
    line = refused(theirs)
    assert "was not begun here by you, and would " in line
    assert "repeat the command that began it, with --resume, or say --trust-run" in line
    assert not listener.heads
    assert KEY not in line


def test_what_would_be_sent_is_named_and_sent_after_a_yes(
    theirs: Strange, listener: Listener
) -> None:
    changed(theirs, urls=[listener.url], site_options={"headers": ["X-Key: env:READER_KEY"]})
    line = refused(theirs)
    assert "would send env:READER_KEY to 127.0.0.1; ask 127.0.0.1, which is private;" in line
    assert not listener.heads
    assert resumed(theirs, "--trust-run").returncode == 0
    assert any(f"X-Key: {KEY}" in head for head in listener.heads)


@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("y\n", 0)])
def test_at_a_terminal_it_is_asked(
    theirs: Strange, listener: Listener, answer: str, code: int
) -> None:
    changed(theirs, urls=[listener.url])
    ours, its = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "headgate", "crawl", "--resume", "--out", theirs.path, "--quiet"],
        stdin=its, stderr=its, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(its)
    os.write(ours, answer.encode())
    said = b""
    with os.fdopen(ours, "rb", 0) as terminal:
        try:
            while piece := terminal.read(1000):
                said += piece
        except OSError:  # it has ended
            pass
    assert child.wait(60) == code
    assert b"ask 127.0.0.1, which is private" in said
    assert b"Resume it? [y/N]" in said
    assert bool(listener.heads) == (code == 0)


def test_who_names_the_same_sites_again_may_go_on(theirs: Strange, listener: Listener) -> None:
    changed(theirs, urls=[listener.url], site_options={"auth": "bearer env:READER_KEY"})
    for words in (
        [listener.url],
        ["http://127.0.0.1:9/", "--auth", "bearer env:READER_KEY"],
    ):
        assert "was asked for other sites, or with other access to them" in refused(theirs, *words)
    assert not listener.heads
    done = resumed(theirs, listener.url, "--auth", "bearer env:READER_KEY")
    assert done.returncode == 0, done.stderr
    assert any(f"Authorization: Bearer {KEY}" in head for head in listener.heads)


def test_files_are_those_beside_the_site_file_that_is_named(
    theirs: Strange, listener: Listener, tmp_path: Path
) -> None:
    text = f"[site.a]\nseeds = ['{listener.url}']\nauth = 'bearer file:key'\n"
    mine, decoy = tmp_path / "mine", tmp_path / "decoy"
    for folder, key in ((mine, "mine"), (decoy, "decoy")):
        folder.mkdir()
        (folder / "key").write_text(key)
    file = mine / "sites.toml"
    changed(theirs, urls=[], path=str(decoy / "sites.toml"), text=text)
    assert f"send file:{decoy}/key to 127.0.0.1" in refused(theirs)
    file.write_text(text.replace("'bearer file:key'", "'bearer file:other'"))
    assert "other access to them" in refused(theirs, file)
    file.write_text(f"# mine\n{text}")
    assert resumed(theirs, file).returncode == 0
    assert any("Authorization: Bearer mine" in head for head in listener.heads)
    assert not any("decoy" in head for head in listener.heads)


def test_what_asks_for_nothing_dangerous_goes_on_but_to_no_private_address(
    theirs: Strange, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture
) -> None:
    """On another machine, in a container: the name is public, and what it leads to may not be."""
    from headgate.cli import crawl_progress
    from headgate.features.crawl.job import CrawlJob

    jobs: list[CrawlJob] = []
    watched = crawl_progress.crawl_watched

    async def noting(job: CrawlJob, **options: object) -> object:
        jobs.append(job)
        return await watched(job, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(crawl_progress, "crawl_watched", noting)
    without_the_web(monkeypatch)
    changed(theirs, urls=["https://example.org/"], site_options={"headers": ["X-Team: theirs"]})
    words = ("crawl", "--resume", "--out", theirs.path, "--quiet")
    assert entered(capfdbinary, *words).code == 130
    assert entered(capfdbinary, *words, "--trust-run").code == 130
    unknown, trusted = jobs
    assert unknown.sites == trusted.sites
    assert not unknown.fetcher.named_for
    assert trusted.fetcher.named_for == {("example.org", "example.org")}


def test_a_survey_asks_no_private_host_either(tmp_path: Path) -> None:
    theirs = make_survey(tmp_path / "theirs")
    words = ("survey", "--resume", "--out", theirs.path, "--quiet")
    (theirs.spool / "begun-here.state").unlink()
    done = headgate(*words, stdin=b"")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "would ask 127.0.0.1, which is private; repeat the command that began it" in line
    other = headgate(*words, "http://127.0.0.2/", stdin=b"")
    assert other.returncode == 2
    assert "was asked for other servers" in other.stderr
    assert headgate(*words, "--trust-run", stdin=b"").returncode in (0, 4)


def test_ones_own_goes_on_unasked_after_a_kill_and_a_move(tmp_path: Path) -> None:
    """With secrets, to a private host: the reader began it himself."""
    with serving(SmallWeb(40, seconds_per_page=0.05)) as web:
        words = ("crawl", web.seed, "--headers", "X-Key: env:READER_KEY")
        os.environ["READER_KEY"] = KEY
        try:
            interrupted(
                signal.SIGKILL, *words, "--out", tmp_path / "here", web=web, after_seconds=1.0
            )
        finally:
            del os.environ["READER_KEY"]
        shutil.move(tmp_path / "here", tmp_path / "there")
        done = resumed(Strange(tmp_path / "there"))
        assert done.returncode == 0, done.stderr
        assert {path for path in web.asked if path[1:2].isdigit()} == {
            f"/{k}.html" for k in range(40)
        }
