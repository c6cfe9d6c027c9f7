"""The manual page has every command and option, and roff finds nothing wrong with it."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from tests.acceptance.running import headgate

from headgate.cli.main import COMMANDS, command_parser


def shown(page: str) -> str:
    """As ``man`` shows it, 200 columns wide, with what roff complained of as an error."""
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-"],
        input=page, capture_output=True, text=True, check=True,
        env={**os.environ, "MANWIDTH": "200", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert not done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man here")
def test_man_shows_every_command_with_its_options_as_the_help_has_them() -> None:
    page = shown(headgate("--man").stdout)
    lines = {" ".join(line.split()) for line in page.splitlines()}
    for command, summary in COMMANDS.items():
        assert any(line.endswith(summary) for line in lines)
        for line in command_parser(command).format_help().splitlines()[1:]:
            assert " ".join(line.split()) in lines, (command, line)
