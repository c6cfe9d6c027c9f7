"""Whoever reads a result slowly gets all of it, whatever state his end of the pipe is in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

NUMBERS = 200_000
SHOW = f"""
from headgate.cli.terminal import show, show_json
import json
show_json(json.dumps(list(range({NUMBERS}))).encode())
show("word " * {NUMBERS})
"""


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("python", [[sys.executable], [sys.executable, "-u"]])
def test_a_slow_reader_gets_all_of_it(python: list[str], blocking: bool) -> None:
    """A pipe does not block where another process that has it, too, says so."""
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*python, "-c", SHOW], stdout=writing, stderr=subprocess.PIPE, env=environment
    ) as child:
        os.close(writing)
        pieces = []
        with os.fdopen(reading, "rb", buffering=0) as ours:
            while piece := ours.read(1 << 16):
                pieces.append(piece)
                time.sleep(0.005)
        assert child.stderr is not None
        assert child.stderr.read() == b""
    assert child.returncode == 0
    document, words, rest = b"".join(pieces).split(b"\n")
    assert json.loads(document) == list(range(NUMBERS))
    assert words == b"word " * NUMBERS
    assert rest == b""


def test_who_stops_listening_is_told_of_by_the_exit_code() -> None:
    command = [sys.executable, "-m", "headgate", "help"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.returncode != 0
    assert done.stderr == b""
