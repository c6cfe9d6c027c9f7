"""Bad input: exit code 2, one line with file and line number, no traceback, the file untouched."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.acceptance.running import headgate, headgate_here
from tests.machine import Machine

BUDGET = '[budget]\nbandwidth = "1 MB/s"\n'
SITE = '[site.a]\nexpect = "1 MB"\n'

BAD_FILES = {
    "does not parse": ("[budget\n", 1),
    "no value": (f"{BUDGET}{SITE}deadline =\n", 5),
    "empty": ("", 1),
    "no sites": (BUDGET, 1),
    "no bandwidth": (SITE, 1),
    "negative size": (f"{BUDGET}[site.a]\nexpect = -1\n", 4),
    "zero size": (f'{BUDGET}[site.a]\nexpect = "0 MB"\n', 4),
    "NaN size": (f"{BUDGET}[site.a]\nexpect = nan\n", 4),
    "infinite size": (f"{BUDGET}[site.a]\nexpect = inf\n", 4),
    "no size": (f"{BUDGET}{SITE}[site.b]\ndepth = 1\n", 5),
    "size of the wrong type": (f"{BUDGET}[site.a]\nexpect = true\n", 4),
    "rate that is none": (f'[budget]\nbandwidth = "fast"\n{SITE}', 2),
    "rate of bits or bytes": (f'[budget]\nbandwidth = "10 kb/s"\n{SITE}', 2),
    "rate without a unit that can be read": (f'[budget]\nbandwidth = "10 pigeons"\n{SITE}', 2),
    "zero bandwidth": (f"[budget]\nbandwidth = 0\n{SITE}", 2),
    "NaN bandwidth": (f"[budget]\nbandwidth = nan\n{SITE}", 2),
    "timetable entry": (f'[budget]\nbandwidth = [\n"08:00 1 MB/s",\n"9h 2 MB/s"]\n{SITE}', 4),
    "unknown zone": (f'[budget]\nbandwidth = ["08:00 1 MB/s"]\nzone = "Mars"\n{SITE}', 3),
    "no crawlers": (f"{BUDGET}crawlers = 0\n{SITE}", 3),
    "unknown objective": (f'{BUDGET}objective = "speed"\n{SITE}', 3),
    "duplicate site": (f"{BUDGET}{SITE}[site.a]\nexpect = 1\n", 5),
    "duplicate key": (f"{BUDGET}{SITE}expect = 1\n", 5),
    "zero deadline": (f'{BUDGET}{SITE}deadline = "0s"\n', 5),
    "negative deadline": (f"{BUDGET}{SITE}deadline = -5\n", 5),
    "infinite deadline": (f"{BUDGET}{SITE}deadline = inf\n", 5),
    "zero cap": (f"{BUDGET}{SITE}max_rate = 0\n", 5),
    "cap above the budget": (f'{BUDGET}{SITE}max_rate = "1.1 MB/s"\n', 5),
    "negative depth": (f"{BUDGET}{SITE}depth = -1\n", 5),
    "bad regular expression": (f'{BUDGET}{SITE}include = [\n"fine",\n"("]\n', 7),
    "seed that is no URL": (f'{BUDGET}{SITE}seeds = ["example.org"]\n', 5),
    "unknown key": (f'{BUDGET}{SITE}dead_line = "1h"\n', 5),
    "unknown table": (f"{BUDGET}{SITE}[sites.b]\n", 5),
    "nested too deeply": (f"{BUDGET}{SITE}x = {'[' * 5000}\n", 5),
    "line break in a name": (f'{BUDGET}[site."a\\nb"]\n', 3),
}


@pytest.mark.parametrize(("text", "line"), BAD_FILES.values(), ids=BAD_FILES)
def test_one_clear_line(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "sites.toml"
    path.write_text(text, encoding="utf-8")
    done = headgate_here("plan", path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"headgate: {path}:{line}: ")
    assert path.read_text(encoding="utf-8") == text


def test_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "sites.toml"
    path.write_bytes(BUDGET.encode() + "# Straße\n".encode("latin-1"))
    done = headgate("plan", path)
    assert done.returncode == 2
    assert done.stderr == (f"headgate: {path}:3: byte 0xdf is not UTF-8; save the file as UTF-8\n")


def test_a_million_sites_are_refused_at_once(tmp_path: Path, machine: Machine) -> None:
    path = tmp_path / "sites.toml"
    sites = "".join(f"[site.s{number}]\nexpect = 1000\n" for number in range(1_000_000))
    path.write_text(BUDGET + sites, encoding="utf-8")
    before = time.monotonic()
    done = headgate("plan", path)
    assert done.returncode == 2
    assert done.stderr == f"headgate: {path}:200003: more than 100,000 sites; split the file\n"
    assert machine.own_seconds(before, time.monotonic()) < 5


def test_stdin_has_lines_too() -> None:
    done = headgate("plan", "-", stdin=b"[budget]\nbandwidth = 1\n[site.a]\nexpect = 0\n")
    assert done.returncode == 2
    assert done.stderr.startswith("headgate: <stdin>:4: [site.a] expect: ")


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_one(name: str, tmp_path: Path) -> None:
    done = headgate("plan", tmp_path / name)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
