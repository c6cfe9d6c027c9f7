"""The pages on URLs and robots.txt say what the code does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from headgate.reading.robots import RobotsRules
from headgate.reading.urls import normalise

DOCS = Path(__file__).parents[3] / "docs"
URLS = (DOCS / "urls.md").read_text(encoding="utf-8")
ROBOTS = (DOCS / "robots.md").read_text(encoding="utf-8")

NORMAL_FORMS = re.findall(r"^\| [^|]+ \| `(http[^`]+)` \| `(http[^`]+)` \|$", URLS, re.M | re.I)
KEPT = re.findall(r"^\| [^|]+ \| `(http[^`]+)` \|$", URLS, re.MULTILINE)
DECISIONS = re.findall(r"^\| (`.+`) \| `(/.*)` \| (allowed|forbidden) \|$", ROBOTS, re.MULTILINE)


def test_all_tables_are_found() -> None:
    assert (len(NORMAL_FORMS), len(KEPT), len(DECISIONS)) == (13, 7, 8)


@pytest.mark.parametrize(("written", "normal"), NORMAL_FORMS)
def test_normal_forms(written: str, normal: str) -> None:
    assert normalise(written) == normal


@pytest.mark.parametrize("url", KEPT)
def test_what_stays_as_it_is(url: str) -> None:
    assert normalise(url) == url


@pytest.mark.parametrize(("rules", "path", "decision"), DECISIONS)
def test_decisions(rules: str, path: str, decision: str) -> None:
    lines = re.findall(r"`([^`]+)`", rules)
    body = "\n".join(["User-agent: *", *lines]).encode()
    assert RobotsRules.parse(body).allows(f"http://a{path}") is (decision == "allowed")


def test_examples_run() -> None:
    result = doctest.testfile(str(DOCS / "urls.md"), module_relative=False)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("page", [URLS, ROBOTS], ids=["urls.md", "robots.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page):
        assert (DOCS / target).exists(), target
