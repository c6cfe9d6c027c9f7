"""The docs name everything there is: commands, options, policies, site-file keys; links hold."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from headgate.cli.export import FORMS
from headgate.cli.main import COMMANDS, command_parser
from headgate.scheduling.policies import POLICY_NAMES
from headgate.site_file.keys import BUDGET_KEYS, GRID_KEYS, SITE_KEYS

DOCS = Path(__file__).parents[2] / "docs"
PLAN = (DOCS / "plan.md").read_text(encoding="utf-8")
SITE_FILE = (DOCS / "site-file.md").read_text(encoding="utf-8")
ROOT = DOCS.parent
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in (
        *sorted(DOCS.rglob("*.md")),
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "src").rglob("*.md")),
    )
}
OPTIONS = [
    (command, option)
    for command in COMMANDS
    for action in command_parser(command)._actions
    for option in action.option_strings
    if option.startswith("--") and option != "--help"
]


def anchors(page: str) -> set[str]:
    """Of its headings, as GitHub and the docs site make them."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")]
    assert any(f"headgate {command}" in page for page in pages)


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_is_documented_where_its_command_is(command: str, option: str) -> None:
    pages = [page for page in PAGES.values() if f"headgate {command}" in page]
    assert any(re.search(rf"`{option}\b", page) for page in pages)


def test_every_option_of_plan_is_in_its_table() -> None:
    for command, option in OPTIONS:
        assert command != "plan" or re.search(rf"^\| `{option}\b", PLAN, re.MULTILINE), option


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_every_policy_is_documented(policy: str) -> None:
    assert f"`{policy}`" in PLAN


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_export_is_documented(form: str) -> None:
    assert re.search(rf"^\|.*`{form}`", (DOCS / "export.md").read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("key", [*BUDGET_KEYS, *SITE_KEYS, *GRID_KEYS])
def test_every_key_of_the_site_file_is_documented(key: str) -> None:
    assert re.search(rf"^\| `{key}` \|", SITE_FILE, re.MULTILINE)


def test_every_documented_key_exists() -> None:
    tables = SITE_FILE.split("## Units")[0]
    documented = re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)
    assert sorted(documented) == sorted([*BUDGET_KEYS, *SITE_KEYS, *GRID_KEYS])


@pytest.mark.parametrize("page", ["plan.md", "python.md"])
def test_the_python_of_the_docs_runs(page: str) -> None:
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_modules_that_are_named_exist(page: str) -> None:
    named = re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)+\.(?:py|c|sql))`", PAGES[page])
    folders = (ROOT, ROOT / "src" / "headgate", (ROOT / page).parent)
    assert [name for name in named if not any((at / name).exists() for at in folders)] == []


@pytest.mark.parametrize("page", PAGES)
def test_benches_that_are_named_exist(page: str) -> None:
    named = re.findall(r"python -m (bench\.[a-z_]+)", PAGES[page])
    assert [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s:]+)\)", PAGES[page]):
        file, _, anchor = target.partition("#")
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), target
