"""A survey's page and list, from made-up facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.cli.host_graph import graph_picture
from headgate.cli.survey_list import read_starts
from headgate.cli.survey_page import survey_page
from headgate.model.errors import UserMistake
from headgate.model.survey_report import DepthAhead, SurveyDepth, SurveyReport
from headgate.survey.entries import Ending, SurveyEntry
from headgate.survey.facts import SurveyFacts


def _facts() -> SurveyFacts:
    entries = [
        SurveyEntry(
            f"s{server}.ke", f"http://s{server}.ke/", 0, f"http://s{server}.ke/{page}", page,
            Ending.PAGE, 0.0, status=200, wire_bytes=1000, payload_bytes=900,
            first_byte_seconds=0.1 * (server + 1), seconds=0.1 * (server + 1) + 0.01,
            links=[(f"http://h{server + page}.org/<script>", "x")],
        )
        for server in range(4)
        for page in range(3)
    ]  # fmt: skip
    return SurveyFacts.of(entries)


def _report() -> SurveyReport:
    depths = [SurveyDepth(depth, 4, 4, 4000, 2) for depth in range(3)]
    return SurveyReport(
        "2026-11-16T00-00-00", 12.0, "finished", False, "yield", 4, 4, 6, 12, 12, 12, 12_000, 0, 3,
        3000, 0.93, 0.1, {"dns": 2}, depths, [DepthAhead(3, 20, 20_000, 7.4)],
    )  # fmt: skip


def test_the_page_has_all_pictures_and_no_foreign_markup() -> None:
    page = survey_page(_report(), _facts())
    assert page.count("<svg") == 5
    for words in ("4 of 4 servers answer", "about 93%", "dns", "s0.ke", ".ke", "0.370"):
        assert words in page
    assert "<script>h" not in page
    assert survey_page(_report(), _facts()) == page


def test_an_empty_survey_has_a_page_too() -> None:
    page = survey_page(_report(), SurveyFacts())
    assert "<svg" not in page
    assert graph_picture(SurveyFacts()) is None


def test_a_list_names_its_bad_lines_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list.txt"
    lines = [
        "# comment",
        "",
        "http://a.ke/",
        "no url at all",
        "b.ke",
        "ftp://c.ke/",
        "http://A.ke/",
    ]
    path.write_text("\n".join([*lines, *(f"bad {number}" for number in range(30))]))
    assert read_starts([str(path)]) == ("http://a.ke/", "http://b.ke/")
    complaints = capsys.readouterr().err.splitlines()
    assert f"{path}:4: 'no url at all' is no URL" in complaints[0]
    assert f"{path}:6" in complaints[1]
    assert len(complaints) == 21
    assert "12 more lines" in complaints[-1]


def test_a_hundred_thousand_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "list.txt"
    path.write_text("\n".join(f"http://s{n}.ke/" if n % 10 else "?" for n in range(100_000)))
    assert len(read_starts([str(path)])) == 90_000
    assert len(capsys.readouterr().err.splitlines()) == 21


def test_a_list_without_any_url_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("nothing here\n")
    with pytest.raises(UserMistake, match="no line of it is a URL"):
        read_starts([str(path)])
    with pytest.raises(UserMistake, match="nor a file"):
        read_starts(["not-there.txt", "http://a.ke/"])
