"""``headgate crawl --policy`` as a user runs it: published policies, and one of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .running import headgate
from .small_web import SmallWeb, serving

OWN_POLICY = """
from headgate.scheduling.problem import ScheduleBuilder

def one_by_one(problem, rng):
    builder, now = ScheduleBuilder(len(problem)), 0.0
    for site, work in enumerate(problem.work):
        rate = problem.capacity.rate_at(now)
        builder.add(site, now, now + work / rate, rate)
        now += work / rate
    return builder.build()

def too_fast(problem, rng):
    builder = ScheduleBuilder(len(problem))
    for site, work in enumerate(problem.work):
        builder.add(site, 0.0, 1.0, work + 2 * problem.capacity.peak)
    return builder.build()

def broken(problem, rng):
    return 1 / 0
"""
ENTRY_POINTS = """[headgate.policies]
one-by-one = own_policies:one_by_one
too-fast = own_policies:too_fast
broken = own_policies:broken
lost = own_policies:not_there
"""


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """A folder with an installed package that brings policies."""
    folder = tmp_path / "site-packages"
    information = folder / "own_policies-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "own_policies.py").write_text(OWN_POLICY)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own-policies\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    return str(folder)


def site_file(tmp_path: Path, webs: list[SmallWeb], policy: str = "") -> Path:
    chosen = f'policy = "{policy}"\n' if policy else ""
    lines = [f'[budget]\nbandwidth = "200 KB/s"\n{chosen}']
    for name, web in zip("ab", webs, strict=True):
        lines.append(
            f'[site.{name}]\nseeds = ["{web.seed}"]\n'
            'expect = "100 KB"\ndeadline = "30s"\ndelay = 0\n'
        )
    path = tmp_path / "sites.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("M-MAXT", "The policy M-MAXT set the rates. Headgate's own had promised 2 of 2 deadlines"),
        ("realloc-sumt", "The policy ReAlloc-SUMT set the rates."),
        ("one-by-one", "The policy one-by-one set the rates."),
        (
            "too-fast",
            "The policy too-fast could not be followed: its rates add up to more than the budget.",
        ),
        ("broken", "The policy broken could not be followed: it raised ZeroDivisionError"),
    ],
)
def test_a_policy_crawls(policy: str, words: str, tmp_path: Path, installed: str) -> None:
    with serving(SmallWeb(40)) as one, serving(SmallWeb(40)) as other:
        file = site_file(tmp_path, [one, other], policy)
        done = headgate("crawl", file, "--out", tmp_path / "data", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert "80 pages" in done.stdout
    report = json.loads(next(tmp_path.glob("data/runs/*/report.json")).read_bytes())
    assert report["policy"].lower() == policy.lower()
    assert bool(report["policy_fault"]) == (policy in ("too-fast", "broken"))
    assert words.split(".")[0] in next(tmp_path.glob("data/runs/*/report.html")).read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--policy", "M-MAX"], "there is no policy 'M-MAX'; did you mean 'M-MAXT'?"),
        (["--policy", "lost"], "the policy 'lost' (own_policies:not_there) cannot be loaded"),
        (["--policy", "M-SUMT", "--crawlers", "1"], "2 sites need as many crawlers, not 1"),
        (["--policy", "M-SUMT", "--bandwidth", "unlimited"], "shares out a bandwidth; add one"),
    ],
)
def test_what_cannot_be_followed_is_said_and_nothing_is_left(
    options: list[str], words: str, tmp_path: Path, installed: str
) -> None:
    webs = [SmallWeb(1, port=9), SmallWeb(1, port=10)]
    file = site_file(tmp_path, webs)
    done = headgate("crawl", file, *options, "--out", tmp_path / "data", PYTHONPATH=installed)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("data/runs/*"))


def test_a_plan_goes_by_the_policy_of_the_file(tmp_path: Path, installed: str) -> None:
    file = site_file(tmp_path, [SmallWeb(1, port=9), SmallWeb(1, port=10)], "one-by-one")
    done = headgate("plan", file, "--json", PYTHONPATH=installed)
    assert json.loads(done.stdout)["policy"] == "one-by-one"
