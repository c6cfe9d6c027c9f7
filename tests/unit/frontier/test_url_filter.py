"""What is remembered of late links makes the filter quicker and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.frontier import url_filter
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_filter import UrlFilter, may_carry_session, without_session
from headgate.model.run_report import Reason

LINKS = [
    "http://a.org/",
    "http://a.org/x",
    "http://a.org/y?PHPSESSID=0f",
    "http://a.org/y?PHPSESSID=1f",
    "http://a.org/y",
    "http://a.org/old/",
    "http://b.org/",
    "http://a.org/b/c/b/c/b/c/",
    "http://a.org/" + "long/" * 60,
]
pages = st.lists(st.lists(st.sampled_from(LINKS), unique=True, max_size=5), max_size=12)


def _filter() -> UrlFilter:
    return UrlFilter(Scope(["http://a.org/"], exclude=["old"]), TrapRules(2026))


@given(pages, st.integers(0, 4))
def test_links_are_judged_as_by_a_gate_without_memory(pages: list[list[str]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_filter, "_MOST_LATELY", most)
        quick, plain = _filter(), _filter()
        for links in pages:
            plain._lately.clear()
            assert quick.links(links) == plain.links(links)
    forgetful, exact = plain.refused.counts, quick.refused.counts
    assert exact.pop(Reason.OTHER_HOST, 0) <= forgetful.pop(Reason.OTHER_HOST, 0)
    assert exact == forgetful
    assert len(quick.seen) == len(plain.seen)


def test_links_to_a_host_that_joins_the_site_later_are_judged_anew() -> None:
    gate = UrlFilter(Scope(["http://a.org/"]), TrapRules(2026))
    assert gate.links(["http://b.org/x"]) == []
    assert gate.redirect("http://b.org/", depth=0) == ["http://b.org/"]
    assert gate.links(["http://b.org/x"]) == ["http://b.org/x"]


# Session ids are taken out, and nothing else is.


_ID = "4f8a60c1b2d97e35"


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        (f"http://a/x.php?PHPSESSID={_ID}", "http://a/x.php"),
        (f"http://a/x.php?a=1&phpsessid={_ID}", "http://a/x.php?a=1"),
        (f"http://a/x.php?PHPSESSID={_ID}&a=1", "http://a/x.php?a=1"),
        (f"http://a/x.php?a=1&PHPSESSID={_ID}&b=2", "http://a/x.php?a=1&b=2"),
        (f"http://a/x.jsp;jsessionid={_ID}?a=1", "http://a/x.jsp?a=1"),
        (f"http://a/x.jsp;jsessionid={_ID}.node1/y", "http://a/x.jsp/y"),
        (f"http://a/(S({_ID}))/x.aspx", "http://a/x.aspx"),
        ("http://a/x.cfm?CFID=12&CFTOKEN=34&id=5", "http://a/x.cfm?id=5"),
        (f"http://a/?sid={_ID}", "http://a/"),
        (f"http://a/?t=5&session={_ID}", "http://a/?t=5"),
        ("http://a/?ASPSESSIONIDQADCABCD=XYZ", "http://a/"),
        ("http://a/?osCsid=abc&zenid=def&sess_id=1&session_id=2&x=3", "http://a/?x=3"),
    ],
)
def test_taken_out(url: str, plain: str) -> None:
    assert may_carry_session([url])
    assert without_session(url) == plain


@pytest.mark.parametrize(
    "url",
    [
        "http://a/?sid=12",
        "http://a/?sid=introduction-to-everything",
        "http://a/?session=2026",
        "http://a/?session=abcdefghijklmnopqrstuvwxyz",
        "http://a/?inside=4f8a60c1b2d97e35",
        f"http://a/?next=/x?sid={_ID}x-y",
        "http://a/sid=4f8a60c1b2d97e35/",
        "http://a/(S(short))/x",
        "http://a/session.html?a=1&a=1&&b",
        "http://a/?",
        "http://a/;v=1?a=2",
    ],
)
def test_left_alone(url: str) -> None:
    assert without_session(url) == url


@given(st.text("?&;=/(S)sid4f8a60c1b2d97e35PHPSESSIDjsessionid", max_size=60))
def test_what_has_no_hint_has_no_session(tail: str) -> None:
    url = f"http://a/{tail}"
    if not may_carry_session([url]):
        assert without_session(url) == url


def test_documentation_has_no_sessions() -> None:
    urls = Path(__file__).with_name("documentation_urls.txt").read_text().split()
    assert [without_session(url) for url in urls] == urls
