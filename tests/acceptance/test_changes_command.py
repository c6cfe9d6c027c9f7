"""``headgate changes`` as a user runs it, on crawls of a web that changes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.acceptance.changing_web import ChangingWeb, serving
from tests.acceptance.running import headgate, headgate_here

ATOM = "{http://www.w3.org/2005/Atom}"


@dataclass
class WordyWeb(ChangingWeb):
    """Pages with a text beside their links."""

    texts: dict[str, str] = field(default_factory=dict)

    def answer(self, path: str) -> tuple[int, bytes]:
        status, body = super().answer(path)
        return status, body + self.texts.get(path, "").encode()


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, WordyWeb]:
    out = tmp_path_factory.mktemp("changes") / "archive"
    web = WordyWeb({"/": ["/a", "/b", "/c"], "/a": [], "/b": [], "/c": []})
    web.texts = {"/a": "<p>Price<p>5 EUR", "/b": "<p>7 views", "/c": "<p>stays"}
    with serving(web):
        _crawl(web, out)
        web.links = {"/": ["/a", "/b", "/c", "/d"], "/a": [], "/b": [], "/d": []}
        web.texts = {"/a": "<p>Price<p>6 <b>EUR</b>", "/b": "<p>8 views", "/d": "<p>fresh"}
        _crawl(web, out)
    return out, web


def _crawl(web: WordyWeb, out: Path) -> None:
    done = headgate("crawl", web.url(), "--out", out, "--quiet", "--delay", "0")
    assert done.returncode == 0, done.stderr


def test_pages_that_came_changed_and_went(collection: tuple[Path, WordyWeb]) -> None:
    out, web = collection
    found = headgate("changes", out)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert f"  + {web.url('/d')}  /d" in lines
    assert f"  ~ {web.url('/a')}  /a" in lines
    assert f"  - {web.url('/c')}  /c" in lines
    assert "      - 5 EUR" in lines
    assert "      + 6 EUR" in lines
    # The first page has one link more, which is an x to a reader; /b has another visitor.
    assert lines[-1].startswith("1 page new, ")
    assert "only in markup, dates, counters or tokens" in lines[-1]
    assert web.url("/b") not in found.stdout


def test_every_format_tells_the_same(collection: tuple[Path, WordyWeb]) -> None:
    out, web = collection
    rows = [
        json.loads(row) for row in headgate("changes", out, "--format", "jsonl").stdout.splitlines()
    ]
    by_url = {row["url"]: row for row in rows}
    assert by_url[web.url("/d")]["change"] == "new"
    assert "before_at" not in by_url[web.url("/d")]
    assert by_url[web.url("/a")]["difference"][1:3] == ["- 5 EUR", "+ 6 EUR"]
    feed = ET.fromstring(headgate("changes", out, "--format", "atom").stdout)
    entries = feed.findall(f"{ATOM}entry")
    assert len(entries) == len(rows)
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == len(rows)
    links = {
        link.get("href") for entry in entries if (link := entry.find(f"{ATOM}link")) is not None
    }
    assert links == set(by_url)
    page = headgate("changes", out, "--format", "html").stdout
    assert page.startswith("<!DOCTYPE html>")
    assert "+ 6 EUR" in page


def test_runs_by_name_and_by_time(collection: tuple[Path, WordyWeb]) -> None:
    out, web = collection
    stamps = sorted(run.name for run in (out / "runs").iterdir())
    named = headgate("changes", out, *stamps).stdout
    assert named == headgate("changes", out).stdout
    backwards = headgate("changes", out, *reversed(stamps)).stdout
    assert f"  + {web.url('/c')}  /c" in backwards
    everything = headgate("changes", out, "--since", "1d").stdout
    assert everything.splitlines()[-1].startswith("5 pages new, 2 changed, 1 gone; 1 differs")
    assert everything.count(f"{web.url('/a')}  /a  20") == 2  # each change with its time


def test_exact_lets_everything_count_and_ignore_less(collection: tuple[Path, WordyWeb]) -> None:
    out, web = collection
    assert web.url("/b") in headgate("changes", out, "--exact").stdout
    assert f"~ {web.url('/a')}" not in headgate("changes", out, "--ignore", r"\d EUR").stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["one-run"], "name two runs"),
        (["2020-01-01T00-00-00", "2021-01-01T00-00-00"], "no run"),
        (["--since", "soon"], "soon"),
        (["--ignore", "("], "is not a regular expression"),
        (["--exact", "--ignore", "x"], "leave --ignore out"),
        (["--site", "elsewhere"], "no page of a site 'elsewhere'"),
    ],
)
def test_mistakes_are_told_in_a_line(
    collection: tuple[Path, WordyWeb], arguments: list[str], complaint: str
) -> None:
    done = headgate_here("changes", collection[0], *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_crawl_is_not_enough(tmp_path: Path) -> None:
    (tmp_path / "runs" / "2026-11-15T19-20-03").mkdir(parents=True)
    done = headgate("changes", tmp_path)
    assert done.returncode == 2
    assert "crawl the same sites into it once more" in done.stderr
