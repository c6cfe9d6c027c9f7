"""A keeper's state in words and as a page."""

from __future__ import annotations

import re

import msgspec
import pytest
from tests.unit.features.keep.view.kept import made_up

from headgate.features.keep.status import KeepHour, KeepStatus, Trouble
from headgate.features.keep.view.page import keep_page
from headgate.features.keep.view.words import status_line, status_text


def page_of(hours: int, status: KeepStatus | None = None) -> str:
    made, past = made_up(hours)
    return keep_page(status or made, past, "archive", made.now + 12, alive=True)


def test_all_sections_after_some_days() -> None:
    page = page_of(24 * 10)
    for heading in (
        "Freshness", "Age", "Are the estimates right?", "Expected and found, by day",
        "Bytes by hour, last seven days", "Bytes by day", "Changes per day", "Promises per day",
        "Trouble",
    ):  # fmt: skip
        assert f"<h2>{heading}</h2>" in page, heading
    assert page.count("<svg") == 2 * 8 + 1
    drawn = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"\bnan\b|\binf\b", drawn, re.IGNORECASE)


def test_names_of_strangers_stay_text() -> None:
    page = page_of(30)
    assert "<b>more</b>" not in page
    assert "news &amp; &lt;b&gt;more&lt;/b&gt;" in page


def test_a_keeper_that_has_just_begun_has_a_page_too() -> None:
    status = KeepStatus(1e9, 1e9, True, 0, 0)
    page = keep_page(status, [KeepHour(1e9)], "archive", 1e9, alive=True)
    assert "There is a chart once" in page
    assert status_text(status, 1e9, alive=True).splitlines()[0].startswith("0 sites, 0 pages")
    assert status_line(status)


def test_a_year_of_hours_has_a_page_of_bounded_size() -> None:
    made, past = made_up(48)
    year = [
        msgspec.structs.replace(past[number % 48], start=past[0].start + 3600.0 * number)
        for number in range(400 * 24)
    ]
    assert len(keep_page(made, year, "archive", made.now, alive=True)) < 3_000_000


@pytest.mark.parametrize(
    ("alive", "running", "silent", "expected"),
    [
        (True, True, 12.0, "It runs; this is how it was 12.0s ago."),
        (True, True, 1000.0, "It runs, but has written no status for 16m 40s"),
        (False, True, 60.0, "It was killed, at the latest 1m 00s ago; start it again"),
        (False, False, 60.0, "It was stopped 1m 00s ago; start it again to go on."),
    ],
)
def test_whether_it_is_at_work(*, alive: bool, running: bool, silent: float, expected: str) -> None:
    status = msgspec.structs.replace(made_up(30)[0], running=running)
    assert expected in status_text(status, status.now + silent, alive=alive)


def test_every_trouble_has_its_remedy_below() -> None:
    status, _ = made_up(30)
    lines = status_text(status, status.now, alive=True).splitlines()
    assert "2 troubles:" in lines
    for trouble in status.troubles:
        place = next(number for number, line in enumerate(lines) if trouble.what in line)
        assert lines[place + 1] == f"    → {trouble.remedy}"
    calm = msgspec.structs.replace(status, troubles=())
    assert "No trouble." in status_text(calm, status.now, alive=True)


def test_terminals_are_not_commanded() -> None:
    trouble = Trouble("a\x1b[31mb", 0.0, "c\nd", "e\x07")
    status = msgspec.structs.replace(made_up(2)[0], troubles=(trouble,))
    text = status_text(status, status.now, alive=True)
    assert "\x1b" not in text
    assert "\x07" not in text
