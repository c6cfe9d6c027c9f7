"""``headgate plan`` from outside: the real command on the real examples."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.running import EXAMPLES, headgate, headgate_here

SIX = EXAMPLES / "six-sites.toml"
TIGHT = EXAMPLES / "six-sites-insufficient.toml"
SHARED = EXAMPLES / "shared-line.toml"
MONDAY = ("--start", "2026-11-16 18:00")
TOO_NARROW = ("--bandwidth", "80 KB/s")


def planned(*arguments: str | Path) -> dict[str, Any]:
    done = headgate("plan", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def figures(*arguments: str | Path) -> dict[str, list[float]]:
    """The comparison's table: makespan, total time, lateness, late sites, objective by policy."""
    done = headgate("plan", *arguments, "--compare")
    assert done.returncode == 0, done.stderr
    rows = [re.split(r"\s{2,}", line.replace("*", "").strip()) for line in done.stdout.splitlines()]
    return {
        row[0]: [float(cell) for cell in row[1:]]
        for row in rows
        if len(row) == 6 and row[0] != "policy"
    }


def test_feasible() -> None:
    done = headgate("plan", SIX)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("Feasible: all 6 deadlines are met; ")
    assert "the budget is 125 KB/s" in done.stdout.splitlines()[0]
    for name in ("wiki", "pear-video", "huanqiu", "sinanews", "huitu", "chinanews"):
        assert done.stdout.count(f"{name} ") == 2  # a row in the table, a row in the chart
    assert "\x1b" not in done.stdout


def test_not_feasible_says_what_would_help() -> None:
    done = headgate("plan", TIGHT, *TOO_NARROW)
    assert done.returncode == 0
    assert done.stdout.startswith("Not feasible: no plan can meet all 6 deadlines; at least ")
    assert "a bandwidth of " in done.stdout
    assert "later deadlines: chinanews +" in done.stdout
    assert "▒" in done.stdout


@pytest.mark.parametrize("remedy", ["bandwidth", "deadlines"])
def test_the_remedies_help(remedy: str, tmp_path: Path) -> None:
    plan = planned(TIGHT, *TOO_NARROW)
    assert not plan["feasible"]
    text = TIGHT.read_text(encoding="utf-8")
    bandwidth = 80_000
    if remedy == "bandwidth":
        bandwidth = plan["enough_bandwidth"] * 1.0001
    for name, seconds in plan["relax"].items() if remedy == "deadlines" else ():
        site = next(site for site in plan["sites"] if site["name"] == name)
        later = f"deadline = {site['deadline'] + seconds}"
        text = re.sub(rf"(\[site\.{name}\][^\[]*)deadline = .*", rf"\g<1>{later}", text)
    path = tmp_path / "sites.toml"
    path.write_text(text, encoding="utf-8")
    assert planned(path, "--bandwidth", str(bandwidth))["feasible"]


def test_strict() -> None:
    assert headgate("plan", SIX, "--strict").returncode == 0
    assert headgate("plan", TIGHT, *TOO_NARROW, "--strict").returncode == 3


def test_the_papers_six_sites() -> None:
    table = figures(SIX)
    assert table["M-MAXT"][:3] == pytest.approx([183.6, 863.8, 0], abs=0.06)
    assert table["M-SUMT"][:3] == pytest.approx([205.6, 853.5, 0], abs=0.06)
    assert next(iter(table)) == "headgate"
    for column in range(5):
        assert table["headgate"][column] == min(row[column] for row in table.values())


def test_the_papers_six_sites_when_the_line_is_too_narrow() -> None:
    table = figures(TIGHT)
    assert table["M-STET"][2] == pytest.approx(86.0, abs=0.06)
    assert table["PRODataAmount"][2] == pytest.approx(152.9, abs=0.06)
    assert table["PROBandwidth"][2] == pytest.approx(223.2, abs=0.06)


def test_json_contract() -> None:
    plan = planned(SIX)
    assert {
        "policy", "feasible", "needed_bandwidth", "budget", "makespan", "total_time", "tardiness",
        "late_sites", "sites",
    } <= plan.keys()  # fmt: skip
    assert plan["feasible"] is True
    assert plan["budget"] == 125_000
    assert plan["late_sites"] == []
    for site in plan["sites"]:
        assert site.keys() == {
            "name", "bytes", "deadline", "start", "end", "late", "left_bytes", "foreseen_end",
            "guess", "segments",
        }  # fmt: skip
        sent = sum(part["rate"] * (part["end"] - part["start"]) for part in site["segments"])
        assert sent == pytest.approx(site["bytes"])


def test_json_of_a_comparison() -> None:
    document = planned(SIX, "--compare")
    assert [plan["policy"] for plan in document["plans"]][:2] == ["headgate", "M-MAXT"]


def test_policies_go_by_any_case_and_nearest_name() -> None:
    assert planned(SIX, "--policy", "m-sumt")["policy"] == "M-SUMT"
    done = headgate("plan", SIX, "--policy", "m-maxx")
    assert done.returncode == 2
    assert done.stderr == "headgate: there is no policy 'm-maxx'; did you mean 'M-MAXT'?\n"


def test_what_the_command_line_says_goes_before_the_file() -> None:
    plan = planned(SIX, "--bandwidth", "2 Mbit/s", "--crawlers", "1", "--objective", "total-time")
    assert plan["budget"] == 250_000
    assert plan["objective"] == "total-time"
    spans = sorted((site["start"], site["end"]) for site in plan["sites"])
    assert all(one[1] <= other[0] + 1e-6 for one, other in pairwise(spans))


def test_a_timetable_is_followed_from_the_start_given() -> None:
    plan = planned(SHARED, *MONDAY)
    assert plan["budget"][:2] == [{"start": 0, "rate": 3e5}, {"start": 3600, "rate": 2e6}]
    assert planned(SHARED, "--start", "2026-11-16T19:00+02:00")["budget"] == plan["budget"]
    done = headgate("plan", SHARED, *MONDAY)
    assert "from Mon 2026-11-16 18:00 CET" in done.stdout


def test_a_timetable_starts_now_by_default() -> None:
    assert planned(SHARED)["budget"][0]["start"] == 0


def test_stdin() -> None:
    done = headgate("plan", "-", stdin=SIX.read_bytes())
    assert done.stdout == headgate("plan", SIX).stdout


def test_the_same_seed_gives_the_same_plan() -> None:
    assert planned(SIX, "--policy", "random", "--seed", "7") == planned(
        SIX, "--policy", "Random", "--seed", "7"
    )
    assert planned(SIX, "--policy", "random", "--seed", "8") != planned(
        SIX, "--policy", "random", "--seed", "7"
    )


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_the_same_plan_gives_the_same_picture(suffix: str, tmp_path: Path) -> None:
    if suffix == "png":
        pytest.importorskip("resvg_py")
    first, second = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    for path in (first, second):
        done = headgate("plan", SIX, "--plot", path)
        assert (done.returncode, done.stderr) == (0, "")
    assert first.read_bytes() == second.read_bytes()
    beginning = {"svg": b"<?xml", "png": b"\x89PNG", "html": b"<!DOCTYPE html>"}[suffix]
    assert first.read_bytes().startswith(beginning)


def test_a_timetable_can_be_drawn(tmp_path: Path) -> None:
    done = headgate("plan", SHARED, *MONDAY, "--plot", tmp_path / "plan.SVG")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    headgate("plan", TIGHT, *TOO_NARROW, "--plot", page)
    text = page.read_text(encoding="utf-8")
    assert text.count('gantt wide"') == text.count('gantt narrow"') == 1
    assert text.count("Not feasible: no plan can meet all 6 deadlines") == 2  # title and heading
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)=["']https?:""", text)


MISUSES = [
    ((), "say what to plan: a site file, or --example NAME"),
    (("--example", "seven"), "there is no example 'seven'; there are fifty-sites, "),
    ((EXAMPLES / "six-sites.toml", "--example", "six-sites"), "say what to plan"),
    ((SIX, "--polcy", "x"), "did you mean --policy?"),
    ((SIX, "--bandwidth", "fast"), "'fast' is not a rate"),
    ((SIX, "--bandwidth", "0"), "a bandwidth of 0"),
    ((SIX, "--crawlers", "0"), "it must be 1 or more"),
    ((SIX, "--crawlers", "many"), "'many' is not a whole number"),
    ((SIX, "--seed", "-1"), "it must be 0 or more"),
    ((SIX, "--objective", "speed"), "invalid choice: 'speed'"),
    ((SIX, "--start", "2026-11-16 08:00"), "only with a timetable"),
    ((SHARED, "--start", "tomorrow"), "write it like '2026-11-16 08:00'"),
    ((SIX, "--plot", "plan.pdf"), "ends in none of .svg, .png, .html"),
    ((SIX, "--plot", "no/such/folder/plan.svg"), "there is no such folder"),
    ((SIX, "--compare", "--policy", "GA"), "drop --policy"),
]


@pytest.mark.parametrize(("arguments", "expected"), MISUSES)
def test_misuse_is_one_line_and_exit_code_2(
    arguments: tuple[str | Path, ...], expected: str
) -> None:
    done = headgate_here("plan", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("headgate: ")
    assert expected in done.stderr


def test_unknown_commands_are_answered_with_the_nearest() -> None:
    done = headgate("plam")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "headgate: there is no command 'plam'; did you mean 'plan'?\n"


def test_help_and_version() -> None:
    done = headgate("--help")
    assert done.returncode == 0
    assert "  plan  " in done.stdout
    assert re.fullmatch(r"headgate \d+\.\d+\.\d+\n", headgate("--version").stdout)
    assert headgate().returncode == 2
    assert "examples:" in headgate("plan", "--help").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plan", "--help"]], ids=str)
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    code = f"""
import sys
from headgate.cli.main import main
try:
    main({arguments})
except SystemExit:
    pass
heavy = {{"numpy", "highspy", "resvg_py", "rich"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_importing_the_package_is_light() -> None:
    code = "import headgate, sys; assert not {'numpy', 'highspy'} & set(sys.modules); headgate.plan"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m headgate plan {SIX} --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""
    assert done.stdout == b"{"


def test_a_terminal_that_knows_only_ascii() -> None:
    done = headgate("plan", TIGHT, *TOO_NARROW, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "###|xxx" in done.stdout
