"""Guards against URL spaces without end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.frontier.traps import Trap, TrapRules, Traps

RULES = TrapRules(this_year=2026)


@pytest.mark.parametrize(
    ("path", "trap"),
    [
        ("x" * 2000, Trap.TOO_LONG),
        ("?q=" + "x" * 2000, Trap.TOO_LONG),
        ("/".join(f"s{k}" for k in range(26)), Trap.TOO_DEEP),
        ("a/b/a/b/a/b/", Trap.REPEATING),
        ("x/en/en/en/en/page.html", Trap.REPEATING),
        ("a/b/c/a/b/c/a/b/c", Trap.REPEATING),
        ("x/y/css/css/css/z?q=1", Trap.REPEATING),
        ("events/2031/05/", Trap.CALENDAR),
        ("2029-01", Trap.CALENDAR),
        ("calendar/day/2040-12-31/", Trap.CALENDAR),
        ("calendar/1960/05", Trap.CALENDAR),
        ("cal.php?date=2031-05-01", Trap.CALENDAR),
        ("cal.php?view=month&d=20310501", Trap.CALENDAR),
        ("cal.php?month=5&year=2033", Trap.CALENDAR),
        ("cal.php?month=5&selYear=2033&x=1", Trap.CALENDAR),
        ("list?f=a&f=a&f=a", Trap.SAME_PARAMETERS),
    ],
)
def test_traps(path: str, trap: Trap) -> None:
    url = f"http://a.org/{path}"
    assert Traps(RULES).trap(url) is trap
    assert Traps(RULES).sift([url]) == ([], [trap])


def test_the_numbers_of_a_host_are_no_date() -> None:
    url = "http://2031/04/05/page"
    assert Traps(RULES).trap(url) is None
    assert Traps(RULES).sift([url]) == ([url], [])


@pytest.mark.parametrize(
    "path",
    [
        "",
        "x" * 1980,
        "/".join(f"s{k}" for k in range(25)),
        "bible/1/1/1/1/1/verse",
        "std/std/std/",
        "a/b/a/b/a/c/d/e/f",
        "2026/05/an-article.html",
        "2028/12/next-year",
        "1851/09/18/archives/news.html",
        "1950/05/12/story",
        "files/9041/12/x.bin",
        "files/2031/45/x.bin",
        "product/20310501",
        "rfc/rfc2031.html",
        "shop?price=2031",
        "shop?id=2031-15",
        "shop?id=20310501234",
        "shop?version=2031-05.7",
        "list?f=a&f=b&f=c",
        "list?f=a&f=a",
    ],
)
def test_no_traps(path: str) -> None:
    url = f"http://a.org/{path}"
    assert Traps(RULES).trap(url) is None
    assert Traps(RULES).sift([url]) == ([url], [])


FAR_MONTHS = [
    "2031/04/",
    "2031/04/01/x.html",
    "2031-04",
    "archive/2031-04-01",
    "calendar/2031/4",
    "calendar/2031/4/1",
    "events/2031-4-1/",
    "month/2031/4",
    "calendar/month/4/2031",
    "calendar/04-2031",
    "calendar/action~month/exact_date~1-4-2031/",
    "kalender/01.04.2031/",
    "calendar/april-2031",
    "events/2031/apr/",
    "calendar/month/203104",
    "events/20310401/",
    "week/2031-W14",
    "week/2031/14",
    "kalender/2031W14",
    "events;date=2031-04-01",
    "cal.php?y=2031&m=4",
    "cal.php?m=4&y=2031&view=list",
    "cal.php?year=2031&month=4",
    "cal.php?calYear=2031",
    "kalender.php?jahr=2031&monat=4",
    "index.php?tx_cal%5Byear%5D=2031&tx_cal%5Bmonth%5D=4",
    "cal?date=2031-04-01",
    "cal?date=2031-4-1",
    "cal?date=20310401",
    "cal?date=2031%2F04%2F01",
    "cal?date=04/01/2031",
    "cal?date=01.04.2031",
    "cal?d=20310401T000000",
    "cal?from=2031-04-01T00:00:00Z",
    "cal?from=2031-04-01T00%3A00%3A00%2B02%3A00&to=2031-05-01T00%3A00",
    "cal?start=2031-04-01+00:00",
    "cal?month=2031-04",
    "cal?month=2031-4",
    "cal?month=04-2031",
    "cal?month=4%2F2031",
    "cal?month=April+2031",
    "cal?ym=203104",
    "cal?week=2031-W14",
    "cal?week=14&year=2031",
    "cal?w=14&y=2031",
    "events/list/?tribe-bar-date=2031-04-01",
    "events/?eventDate=2031-04",
    "cal?time=1932768000",
    "cal?start=1932768000&end=1935360000",
    "cal?date=1932768000000",
]
"""The shapes that calendars have: plugins of WordPress, Drupal and TYPO3, feeds, home-made ones."""


@pytest.mark.parametrize("path", FAR_MONTHS)
def test_calendars_have_many_shapes(path: str) -> None:
    url = f"http://a.org/{path}"
    assert Traps(RULES).sift([url]) == ([], [Trap.CALENDAR])


@pytest.mark.parametrize("path", FAR_MONTHS)
@pytest.mark.parametrize("year", [1977, 1999, 2016, 2025, 2026, 2028])
def test_the_same_shapes_in_years_that_have_pages(path: str, year: int) -> None:
    seconds = (year - 1970) * 31_556_952
    url = f"http://a.org/{path}".replace("2031", str(year))
    url = url.replace("1932768000", str(seconds)).replace("1935360000", str(seconds + 9))
    assert Traps(RULES).sift([url]) == ([url], [])


@pytest.mark.parametrize(
    "path",
    [
        "viewtopic.php?t=203104",
        "viewtopic.php?t=203104&start=2040",
        "showthread.php?tid=20310401",
        "index.php?board=2031.04",
        "map?x=1024&y=2031&z=5",
        "shop?id=1932768000",
        "agenda-2030/goals",
        "agenda/2030/",
        "events/203104-a-concert",
        "event/2031",
        "vision-2050.html",
        "2031/maybe.html",
        "rfc2040/section-3",
        "bug/2031-a-title",
        "papers/arxiv/2031.04567",
        "docs/2.31/2031-index",
        "iso/2031-1999",
        "products/2031/45",
        "cgi?rev=2031-05-01a",
        "newspaper/1851/9/18",
        "newspaper?date=1851-09-18",
        "archive?y=1950&m=4",
        "issue?from=1932&to=2031",
        "schedule?line=203104",
    ],
)
def test_other_numbers_are_no_dates(path: str) -> None:
    url = f"http://a.org/{path}"
    assert Traps(RULES).sift([url]) == ([url], [])


def test_a_real_documentation_tree_has_no_traps() -> None:
    urls = Path(__file__).with_name("documentation_urls.txt").read_text().split()
    assert len(urls) > 2000
    assert Traps(RULES).sift(urls) == (urls, [])


def test_variants_of_a_script_are_bounded() -> None:
    traps = Traps(TrapRules(2026, variants=3))
    urls = [f"http://a.org/s?page={k}" for k in range(5)]
    assert traps.sift(urls) == (urls[:3], [Trap.MANY_VARIANTS] * 2)
    assert traps.trap("http://a.org/other?page=9") is None
    assert traps.trap("http://a.org/s") is None


def test_variants_are_counted_again_after_a_crash() -> None:
    traps = Traps(TrapRules(2026, variants=3))
    traps.count(["http://a.org/s?page=1", "http://a.org/s", "http://a.org/s?page=2"])
    assert traps.trap("http://a.org/s?page=3") is None
    assert traps.trap("http://a.org/s?page=4") is Trap.MANY_VARIANTS


def test_endless_walks_come_to_an_end() -> None:
    """The walks that traps are made of, each following the link it would find."""
    traps = Traps(RULES)
    walks = [
        [f"http://a.org/events/{2026 + k // 12}/{k % 12 + 1:02}/" for k in range(400)],
        [f"http://a.org/calendar/{2026 - k // 12}/{12 - k % 12:02}/" for k in range(1200)],
        [f"http://a.org/?date={2026 + k // 12}-{k % 12 + 1:02}-01" for k in range(400)],
        ["http://a.org/" + "x/y/" * k for k in range(40)],
        ["http://a.org/s?" + "&".join(["next=1"] * k) for k in range(1, 40)],
        [f"http://a.org/s?page={k}" for k in range(20_000)],
        ["http://a.org/" + "/".join(map(str, range(k))) for k in range(40)],
    ]
    for walk in walks:
        assert any(traps.trap(url) for url in walk), walk[-1]


@given(st.lists(st.text("ab1/?&=-20310", max_size=60).map(lambda tail: f"http://a.org/{tail}")))
def test_sifting_a_page_is_judging_each_url(urls: list[str]) -> None:
    one, other = Traps(RULES), Traps(RULES)
    verdicts = [one.trap(url) for url in urls]
    harmless, traps = other.sift(urls)
    assert harmless == [url for url, trap in zip(urls, verdicts, strict=True) if trap is None]
    assert traps == [trap for trap in verdicts if trap is not None]
