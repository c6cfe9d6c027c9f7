"""``headgate servers`` as a user runs it: after crawls, before any, and what plans make of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from .running import headgate
from .small_web import SmallWeb, serving

_CHILD = """
import os, signal, sys
from pathlib import Path
from headgate.model.timetable import DayKind, LocalMoment
from headgate.control.catalog import Server
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.bandwidth.server_speed import Measure, ServerSpeed

catalog = SqliteCatalog(Path(sys.argv[1]) / "catalog.sqlite")
for number in range(1, 11):
    speed = ServerSpeed()
    speed.learn(Measure(1000.0 * number, 1.0), LocalMoment(0.0, DayKind.WORKING, float(number)))
    catalog.record_servers([Server("192.0.2.1", ("docs.example",), speed)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_crawl_measures_its_server_and_the_next_plan_knows_it(tmp_path: Path) -> None:
    data, sites = tmp_path / "data", tmp_path / "sites.toml"
    with serving(SmallWeb(30, seconds_per_page=0.3)) as web:  # time enough for a plan
        text = f'[budget]\nbandwidth = "50 MB/s"\n[site.small]\nseeds = ["{web.seed}"]\n'
        sites.write_text(text, encoding="utf-8")
        crawled = headgate("crawl", sites, "--out", data, "--quiet", "--json")
    assert crawled.returncode == 0, crawled.stderr
    end = json.loads(crawled.stdout)["sites"][0]["foreseen_end"]
    assert end["earliest"] <= end["likely"] <= end["latest"]

    (server,) = json.loads(headgate("servers", data, "--json").stdout)["servers"]
    assert server["address"] == "127.0.0.1"
    assert server["hosts"] == [f"127.0.0.1:{web.port}"]
    assert server["rate_now"] > 0
    assert len(server["working_day"]) == len(server["holiday"]) == 24
    shown = headgate("servers", data).stdout
    assert "127.0.0.1" in shown
    assert "▁" in shown or "█" in shown

    planned = headgate("plan", sites, "--history", data, "--json", "--start", "2026-11-16 03:00")
    assert planned.returncode == 0, planned.stderr
    (site,) = json.loads(planned.stdout)["sites"]
    # A second visit may find nothing changed, or everything; how fast was measured just once.
    assert site["foreseen_end"]["latest"] < 60 * site["foreseen_end"]["earliest"]
    assert "foreseen" in headgate("plan", sites, "--history", data).stdout


def test_heat_maps_are_drawn(tmp_path: Path) -> None:
    _kill_after_recording(tmp_path)
    for name, begins in (("a.svg", b"<?xml"), ("a.html", b"<!DOCTYPE")):
        done = headgate("servers", tmp_path, "--plot", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).read_bytes().startswith(begins)
    refused = headgate("servers", tmp_path, "--plot", tmp_path / "a.pdf")
    assert refused.returncode == 2
    assert "ends in none of" in refused.stderr


def test_kill_9_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    _kill_after_recording(tmp_path)
    (server,) = json.loads(headgate("servers", tmp_path, "--json").stdout)["servers"]
    assert round(server["rate_now"]) == 10_000


def test_before_the_first_crawl_it_says_so(tmp_path: Path) -> None:
    refused = headgate("servers", tmp_path)
    assert refused.returncode == 2
    assert "no run in there" in refused.stderr
    assert not list(tmp_path.iterdir())
    _kill_after_recording(tmp_path)
    found = headgate("servers", tmp_path, "--host", "elsewhere")
    assert found.returncode == 0
    assert "No server with 'elsewhere'" in found.stdout


def _kill_after_recording(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _CHILD, str(folder)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
