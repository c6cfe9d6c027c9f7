"""The command line itself: help, words that are not understood, remarks on the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving


@pytest.mark.parametrize("command", ["crawl", "survey diff"])
def test_help_of_a_command_in_either_order(command: str) -> None:
    asked = headgate("help", *command.split())
    assert asked.returncode == 0
    assert asked.stdout.startswith(f"usage: headgate {command} ")
    assert asked.stdout == headgate(*command.split(), "--help").stdout


def test_help_of_what_is_no_command() -> None:
    done = headgate("help", "crawll")
    assert done.returncode == 2
    assert "did you mean 'crawl'?" in done.stderr


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--user-agnt", "did you mean --user-agent?"),
        ("--limit-rate=20k", "did you mean --bandwidth?"),
        ("--ignore-robots", "did you mean --robots?"),
        ("--bandwith", "did you mean --bandwidth?"),
        ("--javascript", "see headgate crawl --help"),
    ],
)
def test_options_are_suggested_by_meaning_or_for_a_typo(option: str, remedy: str) -> None:
    done = headgate("crawl", "http://127.0.0.1:9/", option)
    assert done.returncode == 2
    assert done.stderr.endswith(f"{remedy}\n")


def test_a_proxy_that_is_not_used_is_named(tmp_path: Path) -> None:
    with serving(SmallWeb(3)) as web:
        asked = ("crawl", web.seed, "--out", tmp_path / "out", "--quiet", "--json")
        done = headgate(*asked, HTTPS_PROXY="http://127.0.0.1:9")
        assert done.returncode == 0
        assert done.stderr.count("HTTPS_PROXY is set but not used") == 1
        assert "proxy" not in headgate(*asked).stderr.lower()
    assert json.loads(done.stdout)["version"] == 1


def test_an_export_is_not_guessed_from_an_unknown_ending(tmp_path: Path) -> None:
    done = headgate("export", tmp_path, "--to", tmp_path / "pages.pdf")
    assert done.returncode == 2
    assert "pages.pdf: its ending is none of csv, db, jsonl," in done.stderr
    assert "; add --as and one of csv, jsonl, parquet," in done.stderr
