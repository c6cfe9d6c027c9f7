"""Values as people write them, in Python."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.model.budget import Budget, Objective
from headgate.model.errors import SiteFileError, UserMistake
from headgate.model.site import Access, OnDeadline, Site
from headgate.model.timetable import Timetable
from headgate.site_file.parsing import parse_site_file


def test_words_become_what_a_site_file_makes_of_them() -> None:
    words: dict[str, Any] = {
        "seeds": "http://a.example/",
        "include": ["/docs/"],
        "deadline": "30m",
        "on_deadline": "stop",
        "expect": "120 MB",
        "max_rate": "200 KB/s",
        "delay": "1s",
    }
    site = Site("docs", **words)
    assert site.seeds == ("http://a.example/",)
    assert site.include == ("/docs/",)
    assert (site.deadline, site.expect, site.max_rate, site.delay) == (1800.0, 120e6, 200e3, 1.0)
    assert site.on_deadline is OnDeadline.STOP


def test_a_budget_is_a_rate_a_timetable_and_a_quota() -> None:
    words: dict[str, Any] = {"bandwidth": "1 MB/s", "objective": "total-time", "quota": "2 GB/day"}
    budget = Budget(**words)
    assert budget.bandwidth == 1e6
    assert budget.objective is Objective.TOTAL_TIME
    assert str(budget.quota) == "2 GB per day"
    table: Any = ["Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s"]
    assert isinstance(Budget(table).bandwidth, Timetable)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"deadline": "soon"}, "site 'docs': deadline: 'soon' is not a duration"),
        ({"deadline": [3]}, "site 'docs': deadline: [3] is not a duration"),
        ({"seeds": 3}, "site 'docs': seeds: 3 is no text and no list of texts"),
        ({"seeds": [3]}, "site 'docs': seeds: [3] is no list of texts"),
        ({"on_deadline": "explode"}, "'explode' is none of 'go-on', 'stop'"),
        ({"max_bytes": "3 bananas"}, "'bananas' is not a unit of a size"),
    ],
)
def test_what_cannot_be_understood_is_refused(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserMistake) as caught:
        Site("docs", **words)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("rate", [None, "1 Mb/s", "0", "fast", []])
def test_a_bandwidth_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(UserMistake, match="Budget: bandwidth: "):
        Budget(rate)


# Who asks, in the site file: what is refused, and that no secret is repeated.


def access(lines: str) -> Access:
    text = f"[budget]\nbandwidth = '1 MB/s'\n[site.a]\nseeds = ['http://a.example/']\n{lines}\n"
    return parse_site_file(text, "sites.toml").sites[0].access


def test_what_is_said_is_kept_as_words() -> None:
    said = access(
        "user_agent = 'Archive/1.0'\nauth = 'bearer env:TOKEN'\nheaders = ['X-Key: file:key.txt']\n"
        "robots = 'ignore'\nproxy = 'env:PROXY'\nlogin = 'http://a.example/in'\n"
        "login_fields = ['u=me', 'p=file:secret']"
    )
    assert said.auth == "bearer env:TOKEN"
    assert said.headers == ("X-Key: file:key.txt",)
    assert said.logs_in
    assert not access("").logs_in


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('headers = ["X-A: b\\r\\nHost: c"]', "is no header"),
        ("headers = ['X A: b']", "is no header"),
        ("headers = ['Host: b']", "Host is set by Headgate itself"),
        ("headers = ['Authorization: Basic c2VjcmV0']", "is a secret; write 'Authorization: env:"),
        ('user_agent = "a\\nb"', "write one line"),
        ("robots_agent = 'my bot/1'", "is no product token"),
        ("auth = 'basic me:hunter2'", "write 'basic env:NAME'"),
        ("auth = 'digest env:X'", "write 'basic env:NAME'"),
        ("proxy = 'http://me:hunter2@proxy:3128'", "one with a password is 'env:NAME'"),
        ("proxy = 'ftp://proxy:21'", "write 'http://proxy:3128'"),
        ("login = 'http://a.example/in'", "it needs login_fields beside it"),
        ("login_fields = ['u=me', 'p=env:X']", "it needs login beside it"),
        ("login = 'http://a/'\nlogin_fields = ['u=me', 'p=hunter2']", "the password is a secret"),
        ("robots = 'maybe'", "'ignore', or drop the key"),
        ("cookies = 3", "write one line like 'cookies.txt'"),
    ],
)
def test_what_cannot_be_is_refused(lines: str, words: str) -> None:
    with pytest.raises(SiteFileError) as caught:
        access(lines)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
