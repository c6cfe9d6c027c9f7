"""What a node does not do on its owner's machine, whatever its manager says."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from headgate.features.grid.node.owner_limits import GuestRules, Hours, Idleness
from headgate.features.grid.node.request import read_bandwidth
from headgate.model.errors import UserMistake
from headgate.model.site import Site

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("text", ["", "19:00", "25:00-07:00", "19:00-19:00", "7-19", "a-b"])
def test_hours_that_are_none_are_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(UserMistake, match="like '19:00-07:00'"):
        Hours.parse(text)


def test_hours_go_by_the_clock_on_the_wall_of_the_machine() -> None:
    rules = GuestRules(hours=Hours.parse("19:00-07:00"), zone=BERLIN)
    noon = datetime(2026, 7, 1, 12, tzinfo=BERLIN).timestamp()
    night = datetime(2026, 7, 1, 23, tzinfo=BERLIN).timestamp()
    assert rules.why_not_now(0.0, noon) == "not before 19:00"
    assert rules.why_not_now(0.0, night) == ""


def test_a_machine_is_idle_when_others_left_it_alone_for_a_minute() -> None:
    busy, nice, idle = 0, 0, 0

    def read() -> str:
        return f"cpu {busy} {nice} 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"

    idleness = Idleness(read)
    assert not idleness.is_idle(0.0)
    for second in range(1, 61):
        nice, idle = nice + 90, idle + 10  # what nodes use themselves does not count
        assert idleness.is_idle(float(second)) == (second >= 60)
    busy += 40
    idle += 60
    assert not idleness.is_idle(61.0)
    assert not idleness.is_idle(61.0), "nothing passed since, and it says the same"


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("a.example.org", True),
        ("A.EXAMPLE.ORG", True),
        ("example.org.evil.net", False),
        ("example.org", False),
    ],
)
def test_only_hosts(host: str, allowed: bool) -> None:
    rules = GuestRules(only_hosts=("*.example.org",))
    site = Site("s", seeds=("https://b.example.org/", f"https://{host}/"))
    assert (rules.why_not(site) == "") == allowed


def test_a_bandwidth_is_a_rate_or_a_timetable() -> None:
    assert read_bandwidth("1 MB/s", BERLIN) == 1e6
    for text in ("0", "fast", "08:00", "Mon 25:00 1MB/s"):
        with pytest.raises(UserMistake):
            read_bandwidth(text, BERLIN)
