"""The docs name everything there is: commands, options of ``plan``, policies, site-file keys."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from headgate.cli.main import COMMANDS, command_parser
from headgate.model.site_file import BUDGET_KEYS, SITE_KEYS
from headgate.planning.policies import POLICY_NAMES

DOCS = Path(__file__).parents[2] / "docs"
PLAN = (DOCS / "plan.md").read_text(encoding="utf-8")
SITE_FILE = (DOCS / "site-file.md").read_text(encoding="utf-8")
PLAN_OPTIONS = [
    option
    for action in command_parser("plan")._actions
    for option in action.option_strings
    if option.startswith("--")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")]
    assert any(f"headgate {command}" in page for page in pages)


@pytest.mark.parametrize("option", PLAN_OPTIONS)
def test_every_option_of_plan_is_documented(option: str) -> None:
    assert re.search(rf"^\| `{option}\b", PLAN, re.MULTILINE)


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_every_policy_is_documented(policy: str) -> None:
    assert f"`{policy}`" in PLAN


@pytest.mark.parametrize("key", [*BUDGET_KEYS, *SITE_KEYS])
def test_every_key_of_the_site_file_is_documented(key: str) -> None:
    assert re.search(rf"^\| `{key}` \|", SITE_FILE, re.MULTILINE)


def test_every_documented_key_exists() -> None:
    tables = SITE_FILE.split("## Units")[0]
    assert re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE) == [*BUDGET_KEYS, *SITE_KEYS]


def test_the_python_of_the_docs_runs() -> None:
    result = doctest.testfile(str(DOCS / "plan.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", [PLAN, SITE_FILE], ids=["plan.md", "site-file.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page):
        assert (DOCS / target).exists(), target
