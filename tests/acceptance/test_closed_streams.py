"""Streams that were closed, pipes nobody reads, and names that a terminal would obey."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.machine import wait_until

from headgate.cli.main import main

from .small_web import SmallWeb, serving
from .test_crawl_command import stored_pages

COMMAND = [sys.executable, "-m", "headgate"]
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def in_shell(line: str, *words: object) -> subprocess.CompletedProcess[str]:
    """The command in place of "$@" in a line for the shell."""
    whole = ["sh", "-c", line, "sh", *COMMAND, *map(str, words)]
    return subprocess.run(whole, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("closing", "processes"), [(">&-", 1), ("2>&-", 1), ("<&- >&- 2>&-", 1), ("<&- >&- 2>&-", 2)]
)
def test_a_crawl_without_its_streams(tmp_path: Path, closing: str, processes: int) -> None:
    with serving(SmallWeb(8)) as one, serving(SmallWeb(8)) as two:
        words = ("crawl", one.seed, two.seed, "--out", tmp_path, "--processes", processes)
        done = in_shell(f'"$@" {closing}', *words, "--bandwidth", "10MB/s")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert set(stored_pages(tmp_path)) == one.urls | two.urls
    said = [
        path for path in tmp_path.rglob("*") if path.is_file() and b"headgate:" in path.read_bytes()
    ]
    assert not said, "what is said does not end up in a file of the collection"


@pytest.mark.parametrize(
    ("words", "closing"),
    [(("--help",), ">&-"), (("plan", "none.toml"), "2>&-"), (("plan", "-"), "<&-")],
)
def test_other_commands_without_a_stream(words: tuple[str, ...], closing: str) -> None:
    done = in_shell(f'"$@" {closing}', *words)
    assert done.returncode == (0 if words[0].startswith("-") else 2)
    assert "Traceback" not in done.stderr


def test_a_result_that_nobody_reads_is_no_fault_of_the_crawl(tmp_path: Path) -> None:
    with serving(SmallWeb(8)) as web:
        out = tmp_path / "out"
        line = f'{{ "$@" --out {out}; echo $? >{tmp_path}/code; }} | true'
        done = in_shell(line, "crawl", web.seed)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert (tmp_path / "code").read_text() == "141\n"
    assert set(stored_pages(out)) == web.urls
    assert not list((out / "spool").iterdir())


def test_remarks_that_nobody_hears_do_not_end_a_crawl(tmp_path: Path) -> None:
    """The reader of stderr goes away before the first remark comes."""
    reader, writer = os.pipe()
    os.close(reader)
    with serving(SmallWeb(8)) as web, os.fdopen(writer, "wb") as nobody:
        words = [*COMMAND, "crawl", web.seed, "--out", str(tmp_path), "--json"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=nobody, timeout=60, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["pages"] == 8


@pytest.mark.parametrize(("sign", "processes"), [(signal.SIGHUP, 1), (signal.SIGTERM, 2)])
def test_whatever_asks_for_the_end_gets_one_in_order(
    tmp_path: Path, sign: signal.Signals, processes: int
) -> None:
    """Sent to all processes at once, as a terminal and a service manager do."""
    slow = SmallWeb(150, seconds_per_page=0.05, held_after=20)
    with serving(slow) as one, serving(SmallWeb(5)) as two:
        words = ["crawl", one.seed, two.seed, "--out", str(tmp_path), "--processes", str(processes)]
        process = subprocess.Popen(
            [*COMMAND, *words, "--quiet"], stderr=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        wait_until(lambda: len(one.served) >= 20)
        os.killpg(process.pid, sign)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert err == ""
        assert out.startswith("Interrupted after ")
        one.seconds_per_page, one.held_after = 0.0, None
        done = in_shell('"$@"', "crawl", "--resume", "--out", tmp_path, "--quiet")
        assert done.returncode == 0, done.stderr
    assert set(stored_pages(tmp_path)) == one.urls | two.urls
    assert max(one.asked.values()) <= 2


def test_a_crawl_under_nohup_goes_on_when_the_terminal_is_closed(tmp_path: Path) -> None:
    with serving(SmallWeb(60, held_after=10)) as web:
        words = ["nohup", *COMMAND, "crawl", web.seed, "--out", str(tmp_path), "--quiet"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: len(web.served) >= 10)
        process.send_signal(signal.SIGHUP)
        web.held_after = None
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert set(stored_pages(tmp_path)) == web.urls


@pytest.mark.parametrize(
    "module", ["headgate.model.errors", "msgspec", "headgate.features.crawl.job"]
)
def test_an_interrupt_while_modules_are_loaded_says_nothing(tmp_path: Path, module: str) -> None:
    """Sent when Python says that it has just loaded one of them."""
    words = [*COMMAND, "crawl", "http://127.0.0.1:1/", "--out", str(tmp_path), "--quiet"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
    )  # fmt: skip
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.split("|")[-1].strip() == module:
            process.send_signal(signal.SIGINT)
            break
    rest = process.communicate(timeout=60)[1]
    said += [line for line in rest.splitlines() if "import time:" not in line]
    assert process.returncode in (-signal.SIGINT, 130)
    assert not [line for line in said if "import time:" not in line]


def test_titles_do_not_reach_a_terminal_raw(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def shown(*words: object) -> str:
        main([*map(str, words)])
        return b"".join(capfdbinary.readouterr()).decode()

    class Web(SmallWeb):
        def body(self, path: str) -> bytes | None:
            page = b"<title>a\x1b]0;owned\x07\xc2\x9b31m\x7f</title><a href=/%1b[31m.html>x</a>"
            return page if path == "/0.html" else super().body(path)

    with serving(Web(1)) as web:
        done = in_shell('"$@"', "crawl", web.seed, "--out", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    for words in (
        ("export", tmp_path, "--as", "csv", "--table", "links"),
        ("report", tmp_path),
        ("report", tmp_path, "--json"),
        ("servers", tmp_path),
        ("export", tmp_path, "--run", "\x1b[31mx"),
        ("plan", "\x1b[31m.toml"),
        ("\x1b[31m",),
    ):
        assert not OBEYED.search(shown(*words)), words
    lines = shown("export", tmp_path, "--as", "jsonl")
    assert not OBEYED.search(lines)
    assert "a\x1b]0;owned\x07\x9b31m\x7f" in [
        json.loads(line)["title"] for line in lines.splitlines()
    ]
    table = shown("export", tmp_path, "--as", "csv")
    assert not OBEYED.search(table)
    assert "a�]0;owned��31m�" in table


def test_a_terminal_that_goes_away_ends_the_crawl_in_order(tmp_path: Path) -> None:
    with serving(SmallWeb(200, seconds_per_page=0.05, held_after=20)) as web:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, "crawl", web.seed, "--out", str(tmp_path)],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        wait_until(lambda: len(web.served) >= 20)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        process.wait(timeout=60)
        web.seconds_per_page, web.held_after = 0.0, None
        done = in_shell('"$@"', "crawl", "--resume", "--out", tmp_path, "--quiet")
        assert done.returncode == 0, done.stderr
    assert set(stored_pages(tmp_path)) == web.urls
