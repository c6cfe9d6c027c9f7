"""Shells complete what is typed, by the script that Headgate prints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.acceptance.running import headgate

from headgate.cli.completion import SHELLS, script
from headgate.cli.main import COMMANDS, command_parser

ASK = """\
source "$1"; COMP_WORDS=(headgate $2); COMP_CWORD=$3; _headgate; printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, words: str, at: int) -> list[str]:
    file = folder / "headgate.bash"
    file.write_text(headgate("completion", "bash").stdout)
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", file, words, str(at)],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "sites.toml").touch()
    assert completed(tmp_path, "cr", 1) == ["crawl"]
    assert completed(tmp_path, "crawl --bandw", 2) == ["--bandwidth"]
    assert completed(tmp_path, "export --a", 2) == ["--as"]
    assert completed(tmp_path, "crawl sites", 2) == ["sites.toml"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(shell: str) -> None:
    text = script(shell)
    for command in COMMANDS:
        if " " in command:
            continue
        assert command in text
        for action in command_parser(command)._actions:
            for option in action.option_strings:
                if option.startswith("--"):
                    assert (f"-l {option[2:]}" if shell == "fish" else option) in text, command


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_the_shell_can_read_it(shell: str, tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(script(shell))
    subprocess.run([shell, "-n", file], check=True)


def test_another_shell_is_refused() -> None:
    done = headgate("completion", "tcsh")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
