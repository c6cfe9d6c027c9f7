"""The site file: what it means, and the place and remedy of every mistake."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.budget import DEFAULT_CRAWLERS, Budget, Objective
from headgate.model.errors import SiteFileError
from headgate.model.keeping import Keeping
from headgate.model.score_order import ScoreOrder
from headgate.model.site import Access, Site
from headgate.model.timetable import DayKind, Timetable
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.site_file import parsing
from headgate.site_file.keys import BUDGET_KEYS, SITE_KEYS
from headgate.site_file.parsing import MOST_SITES, parse_site_file, site_error

EXAMPLES = sorted(Path(parsing.__file__).with_name("examples").glob("*.toml"))
BUDGET = '[budget]\nbandwidth = "1 MB/s"\n'


def problem(text: str) -> str:
    with pytest.raises(SiteFileError) as caught:
        parse_site_file(text, "sites.toml")
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_every_key() -> None:
    text = r"""
[budget]
bandwidth = "1 MB/s"
crawlers = 7
objective = "total-time"

[site.python-docs]
seeds = ["https://docs.python.org/3/", "HTTP://[::1]:8080/?q"]
include = ["/3/"]
exclude = ['\.zip$']
depth = 0
deadline = "30m"
expect = "120 MB"
max_rate = "200 KB/s"

[site."a b"]
"""
    contents = parse_site_file(text, "sites.toml")
    assert contents.budget == Budget(BytesPerSecond(1e6), 7, Objective.TOTAL_TIME)
    assert contents.sites == (
        Site(
            "python-docs",
            seeds=("https://docs.python.org/3/", "HTTP://[::1]:8080/?q"),
            include=("/3/",),
            exclude=(r"\.zip$",),
            depth=0,
            deadline=Seconds(1800),
            expect=Bytes(120e6),
            max_rate=BytesPerSecond(200e3),
        ),
        Site("a b"),
    )


def test_what_is_left_out_has_its_default() -> None:
    budget = parse_site_file(f"{BUDGET}[site.a]", "sites.toml").budget
    assert (budget.crawlers, budget.objective) == (DEFAULT_CRAWLERS, Objective.MAKESPAN)


def test_hours_and_holidays_of_a_place() -> None:
    lines = '[budget]\nbandwidth = 5\nzone = "Africa/Nairobi"\ncountry = "KE"\n[site.a]'
    calendar = parse_site_file(lines, "sites.toml").budget.calendar
    assert (calendar.zone.key, calendar.country) == ("Africa/Nairobi", "KE")
    assert calendar.kind(date(2026, 10, 20)) is DayKind.HOLIDAY


def test_a_timetable_in_its_zone_and_in_utc() -> None:
    entries = ["Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s"]
    text = f"[budget]\nbandwidth = {entries}\n%s\n[site.a]\nmax_rate = '2 MB/s'"
    for line, zone in (("", "UTC"), ("zone = 'Europe/Berlin'", "Europe/Berlin")):
        budget = parse_site_file(text % line, "sites.toml").budget
        assert budget.bandwidth == Timetable.parse(entries, ZoneInfo(zone))


def test_sites_can_be_inline_or_dotted() -> None:
    text = f"{BUDGET}[site]\na = {{ expect = 1 }}\nb.expect = 2\nb.deadline = 3"
    assert [site.name for site in parse_site_file(text, "sites.toml").sites] == ["a", "b"]


def test_a_bandwidth_from_outside_replaces_or_supplies_the_files_own() -> None:
    for text in (f"{BUDGET}[site.a]", "[site.a]"):
        contents = parse_site_file(text, "sites.toml", bandwidth=BytesPerSecond(5))
        assert contents.budget.bandwidth == BytesPerSecond(5)


def test_a_bandwidth_from_outside_does_not_change_what_is_wrong_in_the_file() -> None:
    text = f"{BUDGET}[site.a]\nmax_rate = '900 KB/s'"
    assert parse_site_file(text, "sites.toml", bandwidth=BytesPerSecond(5))
    with pytest.raises(SiteFileError, match="can never bind"):
        parse_site_file(text.replace("900", "1100"), "sites.toml", bandwidth=BytesPerSecond(1e9))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_right(path: Path) -> None:
    assert parse_site_file(path.read_text(encoding="utf-8"), path.name).sites


@pytest.mark.parametrize(
    ("bandwidth", "budget"),
    [('"1 MB/s"', "the budget"), ('["08:00 1 MB/s"]', "the timetable's highest rate")],
)
def test_a_floor_above_the_bandwidth_would_make_no_way(bandwidth: str, budget: str) -> None:
    text = f"[budget]\nbandwidth = {bandwidth}\nmake_way_floor = '2 MB/s'\n[site.a]"
    expected = f"sites.toml:3: [budget] make_way_floor: 2 MB/s is above {budget}, 1 MB/s"
    assert expected in problem(text)
    assert parse_site_file(text.replace("2 MB", "1 MB"), "sites.toml")


MISTAKES_IN_A_SITE = [
    ("focus = 7", "[site.a] focus: 7 is not in quotes"),
    ('focus = "..."', "[site.a] focus: '...' has no word in it"),
    ('focus_pages = "a.html"', "[site.a] focus_pages: 'a.html' is not a list"),
    ('focus_pages = ["a", " "]', "[site.a] focus_pages: an empty name is no file"),
    ('order = "topic"', '[site.a] order: the order "topic" needs a topic'),
    ('order = "best first"', "[site.a] order: 'best first' is not an order"),
    ("expect = 0", "[site.a] expect: a size of 0"),
    ("expect = -5", "[site.a] expect: -5 is not a size"),
    ('expect = "-5 MB"', "[site.a] expect: '-5 MB' is not a size"),
    ("expect = nan", "[site.a] expect: nan is not a size"),
    ("expect = inf", "[site.a] expect: inf is not a size"),
    ("expect = true", "[site.a] expect: true is not a size"),
    ("expect = [1]", "[site.a] expect: [1] is not a size"),
    ("expect = 2026-11-16", "[site.a] expect: 2026-11-16 is not a size"),
    ("expect = 1e300", "[site.a] expect: 1e+300 is more than any size"),
    (f"expect = {'9' * 500}", "[site.a] expect: the number is more than any size"),
    (f"expect = {'9' * 5000}", "a number has too many digits"),
    ("deadline = 0", "[site.a] deadline: a deadline of 0"),
    ('deadline = "0s"', "[site.a] deadline: a deadline of 0"),
    ("deadline = -1", "[site.a] deadline: -1 is not a duration"),
    ('deadline = "soon"', "[site.a] deadline: 'soon' is not a duration"),
    (f'deadline = "{"9" * 400}s"', "is more than any duration can be"),
    ("max_rate = 0", "[site.a] max_rate: a max_rate of 0"),
    ('max_rate = "2 MB/s"', "[site.a] max_rate: 2 MB/s is above the budget, 1 MB/s"),
    ('max_rate = "unlimited"', "[site.a] max_rate: 'unlimited' is no bound"),
    ('max_rate = "10 kb/s"', "[site.a] max_rate: 'kb/s' may mean bits or bytes"),
    ("depth = -1", "[site.a] depth: -1 is too small; it must be 0 or more"),
    ("depth = 1.5", "[site.a] depth: 1.5 is not a whole number"),
    ("depth = true", "[site.a] depth: true is not a whole number"),
    ('seeds = "https://a/"', "[site.a] seeds: 'https://a/' is not a list"),
    ('seeds = ["ftp://a/"]', "[site.a] seeds: 'ftp://a/' is not an http or https URL"),
    ('seeds = ["https://"]', "is not an http or https URL"),
    ('seeds = ["https://a b/"]', "is not an http or https URL"),
    ("seeds = [7]", "[site.a] seeds: 7 is not in quotes"),
    ('include = ["("]', "[site.a] include: '(' is not a regular expression: missing )"),
    ('exclude = ["a{99999999999}"]', "[site.a] exclude: 'a{99999999999}' is not a regular"),
    ("deadlin = 1", "[site.a] deadlin: there is no such key; did you mean 'deadline'?"),
    ("crawlers = 1", "[site.a] crawlers: there is no such key; it belongs under [budget]"),
    ("xyz = 1", "there is no such key; known are seeds, include"),
]


@pytest.mark.parametrize(("line", "expected"), MISTAKES_IN_A_SITE)
def test_mistakes_in_a_site(line: str, expected: str) -> None:
    message = problem(f"{BUDGET}[site.a]\n\n{line}\n")
    assert message.startswith("sites.toml:5: ")
    assert expected in message


MISTAKES_IN_THE_BUDGET = [
    ('bandwidth = "fast"', "[budget] bandwidth: 'fast' is not a rate"),
    ("bandwidth = 0", "[budget] bandwidth: a bandwidth of 0"),
    ("bandwidth = nan", "[budget] bandwidth: nan is not a rate"),
    ("bandwidth = []", "[budget] bandwidth: a timetable needs at least one entry"),
    ('country = "Kenya"', "[budget] country: 'Kenya' is not a country; write its two letters"),
    ('country = "XX"', "[budget] country: the holidays of 'XX' are not known"),
    ("country = 1", "[budget] country: 1 is not a country"),
    ('zone = "Europe/Belin"', "did you mean 'Europe/Berlin'?"),
    ('zone = "Europe"', "[budget] zone: 'Europe' is not a time zone"),
    ('zone = "../../etc/passwd"', "is not a time zone"),
    ('zone = ""', "is not a time zone"),
    ("zone = 1", "[budget] zone: 1 is not a time zone"),
    ("bandwidth = 5\ncrawlers = 0", "[budget] crawlers: 0 is too small; it must be 1 or more"),
    ("bandwidth = 5\nprocesses = 0", "[budget] processes: 0 is too small; it must be 1 or more"),
    ("bandwidth = 5\ncontact = 5", "[budget] contact: 5 is no contact; write a URL or a mail"),
    ('bandwidth = 5\ncontact = "a\\nb"', "[budget] contact: 'a\\nb' cannot stand in a header"),
    ("bandwidth = 5\ncrawlers = 5.0", "[budget] crawlers: 5.0 is not a whole number"),
    ('bandwidth = 5\nobjective = "makspan"', "did you mean 'makespan'?"),
    ("bandwith = 5", "[budget] bandwith: there is no such key; did you mean 'bandwidth'?"),
    ("deadline = 5", "[budget] deadline: there is no such key; it belongs under a [site.NAME]"),
]


@pytest.mark.parametrize(("lines", "expected"), MISTAKES_IN_THE_BUDGET)
def test_mistakes_in_the_budget(lines: str, expected: str) -> None:
    message = problem(f"[budget]\n\n{lines}\n[site.a]")
    assert message.startswith(f"sites.toml:{lines.count(chr(10)) + 3}: ")
    assert expected in message


def test_a_bad_timetable_entry_has_its_own_line() -> None:
    entries = '"08:00 0",\n"09:00 1 B/s",\n"Mon 25:00 3"'
    assert problem(f"[budget]\nbandwidth = [\n{entries}]\n[site.a]").startswith("sites.toml:5: ")


def test_a_cap_is_held_against_the_timetables_highest_rate() -> None:
    text = "[budget]\nbandwidth = ['08:00 1 MB/s', '19:00 2 MB/s']\n[site.a]\nmax_rate = %s"
    assert parse_site_file(text % "2e6", "sites.toml")
    assert "above the timetable's highest rate, 2 MB/s" in problem(text % "2.1e6")


WHOLE_FILES = [
    ("", 1, "the file is empty"),
    ("# nothing yet\n", 1, "the file is empty"),
    (BUDGET, 1, "there are no sites"),
    (f"{BUDGET}[site]", 3, "there are no sites"),
    ("[site.a]", 1, "no bandwidth is given"),
    ("[budget]\ncrawlers = 2\n[site.a]", 1, "[budget]: no bandwidth is given"),
    ("[budget", 1, "this is not TOML"),
    (f'{BUDGET}[site.a]\nexpect = "1 MB\n', 4, "this is not TOML: a text has no closing quote"),
    (f"{BUDGET}[site.my site]\n", 3, 'quote a name with blanks, like [site."my site"]'),
    (f"{BUDGET}[site.a]\nexpect = \n", 4, "this is not TOML: invalid value"),
    (f"{BUDGET}[site.a]\nseeds = [\n", 4, "this is not TOML"),
    (f"{BUDGET}[site.a]\n[site.b]\n[site.a]", 5, 'site "a" is defined twice (first on line 3)'),
    (f"{BUDGET}[site.\"a b\"]\n[site.'a b']", 4, 'site "a b" is defined twice (first on line 3)'),
    (f"{BUDGET}[site]\na = {{}}\na = {{}}", 5, 'site "a" is defined twice (first on line 4)'),
    (f"{BUDGET}[site.a]\nexpect=1\n[site]\na.depth=1", 6, 'site "a" is defined twice (first on'),
    (f"{BUDGET}[site]\na = {{}}\n[site.a]", 5, 'site "a" is defined twice (first on line 4)'),
    (f"{BUDGET}[site.a]\nexpect = 1\nexpect = 2", 5, "[site.a] expect is defined twice (first on"),
    (f"{BUDGET}[site.a]\nseeds = []\nseeds = [\n'x',\n]", 5, "[site.a] seeds is defined twice"),
    (f"{BUDGET}{BUDGET}[site.a]", 3, "[budget] is defined twice (first on line 1)"),
    (f"{BUDGET}[sites.a]", 3, "sites: there is no such table; did you mean 'site'?"),
    ("bandwidth = 5\n[site.a]", 1, "bandwidth: there is no such key; it belongs under [budget]"),
    ("budget = 5\n[site.a]", 1, "[budget]: this must be a table; write it as [budget]"),
    (f"{BUDGET}[[site]]\nname = 'a'", 3, "[site]: this must be a table; write it as [site.NAME]"),
    (f"{BUDGET}[[site.a]]", 3, "[site.a]: this must be a table; write it as [site.a]"),
    (f'{BUDGET}[site."a\\nb"]', 3, "a site's name must be printable"),
    (f'{BUDGET}[site.""]', 3, "a site's name must be printable and not empty"),
    (f"{BUDGET}[site.a]\nx = {'[' * 9999}", 4, "values are nested too deeply"),
]


@pytest.mark.parametrize(("text", "line", "expected"), WHOLE_FILES)
def test_mistakes_of_a_whole_file(text: str, line: int, expected: str) -> None:
    message = problem(text)
    assert message.startswith(f"sites.toml:{line}: ")
    assert expected in message


@pytest.mark.parametrize("form", ["[site.s{}]\nexpect = 1\n", "[ 'site' . s{} ]\n\n"])
def test_too_many_sites_are_refused_before_they_are_parsed(form: str) -> None:
    text = BUDGET + "".join(form.format(number) for number in range(MOST_SITES + 5))
    line = 3 + 2 * MOST_SITES
    assert problem(text) == f"sites.toml:{line}: more than 100,000 sites; split the file"


def test_too_many_sites_are_counted_behind_multi_line_strings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("parsing", "toml_text"):
        monkeypatch.setattr(f"headgate.site_file.{module}.MOST_SITES", 2)
    note = '[site.a]\ninclude = ["""\n[site.x]\n[site.y]\n[site.z]\n"""]\n'
    assert parse_site_file(f"{BUDGET}{note}[site.b]", "sites.toml")
    message = problem(f"{BUDGET}{note}[site.b]\n[site.c]")
    assert message == "sites.toml:10: more than 2 sites; split the file"


def test_a_long_value_is_shortened_in_the_message() -> None:
    assert len(problem(f'{BUDGET}[site.a]\nexpect = "{"x" * 100_000}"')) < 500


def test_others_can_report_on_a_site() -> None:
    error = site_error(f"{BUDGET}[site.a]\ndepth = 1", "sites.toml", "a", "expect", "missing")
    assert str(error) == "sites.toml:3: [site.a] expect: missing"


def test_known_keys_are_those_of_the_values() -> None:
    assert set(SITE_KEYS) <= {
        *Site.__struct_fields__,
        *Keeping.__struct_fields__,
        *Access.__struct_fields__,
    }
    order = set(ScoreOrder.__struct_fields__)  # of pages over all sites
    others = {"calendar", "staleness"}  # zone, country; objective
    budget = set(Budget.__struct_fields__) - others
    assert set(BUDGET_KEYS) - {"zone", "country"} == budget | order


pieces = st.sampled_from(
    ["[budget]\n", "bandwidth = ", '"1 MB/s"\n', "[site.a]\n", "[site]\n", "a = {", "}\n", "[",
     "]", '"08:00 1 B/s"', ",", "\n", "expect = ", "1", "nan", "-1", "true", "seeds = ",
     '"https://a/"', "deadline = ", "include = ", "'('", "crawlers = ", '"""', "'", "#", "=", ".",
     "zone = ", "'UTC'"]
)  # fmt: skip


@given(text=st.text() | st.lists(pieces, max_size=25).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(SiteFileError):
        assert parse_site_file(text, "sites.toml").sites
