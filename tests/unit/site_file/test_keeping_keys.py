"""The keys for `headgate keep`: what they mean, and the place and remedy of every mistake."""

from __future__ import annotations

import pytest
from tests.unit.site_file.test_site_file import BUDGET, problem

from headgate.features.keep.job import read_keep_file
from headgate.model.budget import Budget, Objective
from headgate.model.errors import SiteFileError
from headgate.model.keeping import Keeping, KeepVersions, Staleness, VolumeBounds
from headgate.model.units import Bytes, BytesPerSecond, Seconds
from headgate.site_file.parsing import parse_site_file

SEEDS = 'seeds = ["https://a.org/"]\n'


def keeping(lines: str) -> Keeping:
    return parse_site_file(f"{BUDGET}[site.a]\n{lines}", "sites.toml").sites[0].keeping


def budget(line: str) -> Budget:
    return parse_site_file(f"{BUDGET}{line}\n[site.a]", "sites.toml").budget


def test_every_key() -> None:
    lines = r"""
importance = 2
fresh_within = "24h"
min_interval = "10m"
ignore = ["Offer \\d+", "css:.clock, #ad > b"]
on_change = "notify --to 'the desk'"
"""
    assert keeping(lines) == Keeping(
        importance=2.0,
        fresh_within=Seconds(86400),
        min_interval=Seconds(600),
        ignore=(r"Offer \d+", "css:.clock, #ad > b"),
        on_change="notify --to 'the desk'",
    )


def test_what_is_left_out_has_its_default() -> None:
    assert keeping("") == Keeping()
    assert Keeping().min_interval == Seconds(3600)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"1d"', VolumeBounds(Seconds(86400), None)),
        ('"1d 12h"', VolumeBounds(Seconds(129600), None)),
        ('"1 GB"', VolumeBounds(None, Bytes(1e9))),
        ('"512 MiB"', VolumeBounds(None, Bytes(512 * 2**20))),
    ],
)
def test_volumes(value: str, expected: VolumeBounds) -> None:
    assert budget(f"volume = {value}").volume == expected


def test_an_objective_is_that_of_a_crawl_or_of_a_keeper() -> None:
    plain = budget("")
    assert (plain.objective, plain.staleness) == (Objective.MAKESPAN, Staleness.AGE)
    assert plain.volume == VolumeBounds(Seconds(86400), Bytes(1e9))
    assert budget('objective = "freshness"') == Budget(
        BytesPerSecond(1e6), staleness=Staleness.FRESHNESS
    )
    total = budget('objective = "total-time"')
    assert (total.objective, total.staleness) == (Objective.TOTAL_TIME, Staleness.AGE)


@pytest.mark.parametrize("where", ["https://example.org/hook", "HTTP://127.0.0.1:8080/x?y"])
def test_changes_can_be_posted(where: str) -> None:
    assert keeping(f'on_change = "{where}"').on_change == where


MISTAKES = [
    ("importance = 0", "importance: 0 is no importance; it is above 0"),
    ("importance = -1.5", "importance: -1.5 is no importance"),
    ("importance = nan", "importance: nan is no importance"),
    ("importance = inf", "importance: inf is no importance"),
    ("importance = true", "importance: true is not a number"),
    ('importance = "high"', "importance: 'high' is not a number; write it like 2.0"),
    ('fresh_within = "1s"', "fresh_within: 1.0s cannot be promised"),
    ("fresh_within = 0", "fresh_within: 0.0s cannot be promised"),
    ('fresh_within = "soon"', "fresh_within: 'soon' is not a duration"),
    ('fresh_within = "200000w"', "fresh_within: '200000w' is more than any duration"),
    ('fresh_within = "30m"', "fresh_within: 30m 00s is shorter than min_interval, 1h 00m"),
    ('min_interval = "200ms"', "min_interval: a page is fetched at most once a second"),
    ("min_interval = []", "min_interval: [] is not a duration"),
    ('ignore = "x"', "ignore: 'x' is not a list"),
    ('ignore = [""]', "ignore: an empty rule ignores nothing"),
    ('ignore = ["("]', "ignore: '(' is not a regular expression"),
    ('ignore = ["css:p:first-child"]', "ignore: 'p:first-child' is no CSS selector"),
    ('ignore = ["css:"]', "ignore: '' is no CSS selector that Headgate reads, where it ends"),
    (f"ignore = {['x'] * 51}", "ignore: 51 rules are too many"),
    (f'ignore = ["{"x" * 501}"]', "ignore: a pattern has at most 500 letters"),
    ("on_change = 7", "on_change: 7 is neither command nor URL"),
    ('on_change = "  "', "on_change: '  ' is neither command nor URL"),
    ("""on_change = "notify 'me" """, "has a quote that is not closed"),
    ('on_change = "https://"', "on_change: 'https://' is not a URL"),
    ('on_change = "a\\nb"', "on_change: a command is one line"),
    ("keep_versions = 0", "keep_versions: 0 versions cannot be kept; say 1 or more"),
    ("keep_versions = true", "keep_versions: true is not a retention"),
    ('keep_versions = "some"', "keep_versions: 'some' is not a duration"),
    ('keep_versions = "5s"', "keep_versions: versions stay for an hour at least"),
    ('volume = "1d"', "volume: there is no such key; it belongs under [budget]"),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [('"all"', KeepVersions()), ("10", KeepVersions(newest=10)),
     ('"90d"', KeepVersions(seconds=Seconds(90 * 86_400)))],
)  # fmt: skip
def test_versions(value: str, expected: KeepVersions) -> None:
    assert keeping(f"keep_versions = {value}\n").keep_versions == expected


@pytest.mark.parametrize(("line", "expected"), MISTAKES)
def test_mistakes_in_a_site(line: str, expected: str) -> None:
    message = problem(f"{BUDGET}[site.a]\n\n{line}\n")
    assert message.startswith("sites.toml:5: [site.a] ")
    assert expected in message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('volume = "1s"', "volume: a volume covers a minute or more"),
        ('volume = "1 KB"', "volume: '1 KB' is less than a visit"),
        ('volume = "a lot"', "volume: 'a lot' is not a size"),
        ("volume = 5", 'volume: 5 is no volume; write "1d" or "1 GB"'),
        ('objective = "fresh"', "objective: 'fresh' is not an objective; did you mean 'freshness'"),
        ("importance = 1.0", "importance: there is no such key; it belongs under a [site.NAME]"),
    ],
)
def test_mistakes_in_the_budget(line: str, expected: str) -> None:
    message = problem(f"{BUDGET}{line}\n[site.a]")
    assert message.startswith("sites.toml:3: [budget] ")
    assert expected in message


def test_a_bad_rule_has_its_own_line() -> None:
    message = problem(f'{BUDGET}[site.a]\nignore = [\n"fine",\n"css:a + b"]')
    assert message.startswith("sites.toml:6: [site.a] ignore: ")


def test_a_keeper_refuses_a_folder_of_another_sites() -> None:
    text = f"[site.a]\n{SEEDS}[site.docs]\nseeds = ['https://a.org/docs/']\ninclude = ['/docs/']\n"
    assert len(parse_site_file(text, "sites.toml", bandwidth=BytesPerSecond(1)).sites) == 2
    with pytest.raises(SiteFileError) as caught:
        read_keep_file(text, "sites.toml")
    assert str(caught.value) == (
        "sites.toml:4: [site.docs] seeds: https://a.org/docs/ belongs to [site.a] too, and a page"
        " is kept by one site; add it to that one's exclude, or drop it here"
    )
    apart = text.replace("[site.docs]", "exclude = ['/docs/']\n[site.docs]")
    assert len(read_keep_file(apart, "sites.toml").sites) == 2


def test_a_keeper_needs_seeds() -> None:
    with pytest.raises(SiteFileError, match=r"sites.toml:1: \[site.a\] seeds: a site that is kept"):
        read_keep_file("[site.a]\n", "sites.toml")
