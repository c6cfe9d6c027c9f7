"""Commands in the docs print what the docs say they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.acceptance.running import headgate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```console\n\$ headgate (.*)\n((?:.*\n)*?)```", PAGE, re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("```console")


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_it_says(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert headgate(*shlex.split(command)).stdout == output
