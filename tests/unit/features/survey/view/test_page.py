"""A survey's page and list, from made-up facts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headgate.cli.survey_progress import read_starts
from headgate.features.survey.report import DepthAhead, SurveyDepth, SurveyReport
from headgate.features.survey.request import SurveyRequest
from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.features.survey.strategy.facts import SurveyFacts
from headgate.features.survey.view.page import graph_picture, survey_page
from headgate.features.survey.view.text import survey_text
from headgate.model.errors import UserMistake


def _facts(payload_bytes: int = 20_000) -> SurveyFacts:
    entries = [
        SurveyEntry(
            f"s{server}.ke",
            f"http://s{server}.ke/",
            round=0,
            url=f"http://s{server}.ke/{page}",
            depth=page,
            ending=RequestEnding.PAGE,
            wall_time=0.0,
            status=200,
            wire_bytes=1000,
            payload_bytes=payload_bytes,
            first_byte_seconds=0.1 * (server + 1),
            seconds=0.1 * (server + 1) + 0.01,
            links=[(f"http://h{server + page}.org/<script>", "x")],
        )
        for server in range(4)
        for page in range(3)
    ]
    return SurveyFacts.from_log(lambda: entries)


def _report() -> SurveyReport:
    depths = [SurveyDepth(depth, 4, 4, 4000, 2) for depth in range(3)]
    return SurveyReport(
        "2026-11-16T00-00-00",
        12.0,
        ending="finished",
        interrupted=False,
        policy="yield",
        servers=4,
        reachable=4,
        hosts=6,
        links=12,
        requests=12,
        pages=12,
        wire_bytes=12_000,
        unchanged=0,
        most_requests=3,
        most_bytes=3000,
        share_found=0.93,
        next_yield=0.1,
        unreachable={"dns": 2},
        depths=depths,
        ahead=[DepthAhead(3, 20, 20_000, 7.4)],
    )


def test_the_page_has_all_pictures_and_no_foreign_markup() -> None:
    page = survey_page(_report(), _facts())
    assert page.count("<svg") == 2 * 4 + 1 + 1  # for two widths of screen; the graph; the hatching
    for words in ("4 of 4 servers answer", "about 93%", "dns", "s0.ke", ".ke", "0.370"):
        assert words in page
    assert "<script>h" not in page
    assert survey_page(_report(), _facts()) == page


def test_tls_and_robots_are_told() -> None:
    assert "robots.txt</h2>" not in survey_page(_report(), _facts())
    told = msgspec.structs.replace(
        _report(),
        tls={"TLSv1.3": 3, "none": 1},
        issuers={"Trust <Ltd>": 3},
        tls_errors={"certificate: certificate has expired": 1},
        expiring=2,
        robots={"partial": 3, "closed": 1},
    )
    text = survey_text(told, "out")
    assert (
        "TLS: 3 TLSv1.3, 1 http only; 2 certificates will expire within 30 days;"
        " errors: 1 × certificate: certificate has expired"
    ) in text
    assert "robots.txt: 3 partial, 1 closed" in text
    page = survey_page(told, _facts())
    for words in ("TLSv1.3", "Trust &lt;Ltd&gt;", "expires within 30 days", "closed"):
        assert words in page


def test_bodies_too_small_to_be_timed_make_no_picture_of_speeds() -> None:
    page = survey_page(_report(), _facts(payload_bytes=900))
    assert "Transfer rate" not in page


def _nothing_found() -> SurveyReport:
    return msgspec.structs.replace(
        _report(),
        hosts=0,
        share_found=None,
        next_yield=None,
        ahead=[DepthAhead(3, 20, 20_000, None)],
    )


def test_where_no_host_was_found_nothing_is_said_of_the_rest() -> None:
    page = survey_page(_nothing_found(), _facts())
    text = survey_text(_nothing_found(), "out")
    assert "no host was found to judge by" in page
    assert "ended: finished; no other host was found, so nothing tells how many there are" in text
    for words in (page, text):
        assert "about" not in words
        assert "unknown" in words


def test_a_first_survey_does_not_speak_of_the_last_one() -> None:
    assert "since the last survey" not in survey_page(_report(), _facts())
    again = msgspec.structs.replace(_report(), unchanged=1)
    assert "1 page unchanged since the last survey" in survey_page(again, _facts())


def test_an_order_by_depth_cannot_end_by_yield() -> None:
    with pytest.raises(UserMistake, match="use one of the two"):
        SurveyRequest(("http://a.ke/",), policy="depth", least_yield=0.02).rules()


def test_an_empty_survey_has_a_page_too() -> None:
    page = survey_page(_report(), SurveyFacts())
    assert 'class="chart' not in page
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
