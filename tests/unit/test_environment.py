"""Options that come from the environment."""

from __future__ import annotations

import pytest

from headgate.cli.main import command_parser, environment_words
from headgate.model.errors import UserMistake


def added(words: str, **environment: str) -> list[str]:
    return environment_words(command_parser("crawl"), words.split(), environment)


def test_a_variable_stands_for_its_option_and_the_command_line_wins() -> None:
    assert added("http://a/", HEADGATE_OUT="x", HEADGATE_MAX_PAGES="5") == [
        "--out=x",
        "--max-pages=5",
    ]
    assert added("http://a/ --out y", HEADGATE_OUT="x") == []
    assert added("http://a/ --out=y", HEADGATE_OUT="x") == []
    assert added("http://a/", HEADGATE_OUT="", HEADGATE_NO_SUCH="1", OUT="x") == []


def test_a_switch_is_on_or_off() -> None:
    assert added("http://a/", HEADGATE_QUIET="1") == ["--quiet"]
    assert added("http://a/", HEADGATE_QUIET="no") == []
    with pytest.raises(UserMistake, match="HEADGATE_QUIET is 'maybe'; --quiet is a switch"):
        added("http://a/", HEADGATE_QUIET="maybe")


def test_what_changes_are_told_by_is_no_option() -> None:
    assert environment_words(command_parser("changes"), [], {"HEADGATE_SITE": "docs"}) == []
