"""What a crawl does for its deadlines when something is in the way, through the real command."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving
from tests.machine import Machine

PATIENT = b"User-agent: *\nCrawl-delay: 2\n"


def crawled(folder: Path, text: str, machine: Machine) -> tuple[dict[str, Any], float]:
    """The sites of the report, by name; and the seconds that others took of the machine."""
    file = folder / "sites.toml"
    file.write_text(text)
    began = time.monotonic()
    done = headgate("crawl", file, "--out", folder / "out", "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    lost = machine.lost_seconds(began, time.monotonic())
    return {site["name"]: site for site in json.loads(done.stdout)["sites"]}, lost


def test_sites_that_wait_for_their_own_delay_keep_no_crawler_from_others(
    tmp_path: Path, machine: Machine
) -> None:
    """Five sites with Crawl-delay: 10 held all crawlers: 0 requests in 75 s. Without
    deadlines no first look lets the third site begin beside the others."""
    with (
        serving(SmallWeb(5, robots=PATIENT)) as first,
        serving(SmallWeb(5, robots=PATIENT)) as second,
        serving(SmallWeb(60, page_bytes=10_000, random_bytes=4_900)) as eager,
    ):
        sites, _ = crawled(
            tmp_path,
            '[budget]\nbandwidth = "1 MB/s"\ncrawlers = 2\n'
            f'[site.first]\nseeds = ["{first.seed}"]\n'
            f'[site.second]\nseeds = ["{second.seed}"]\n'
            f'[site.eager]\nseeds = ["{eager.seed}"]\n',
            machine,
        )
    assert sites["eager"]["pages"] == 60
    for patient in (sites["first"], sites["second"]):
        assert patient["pages"] == 5
        assert sites["eager"]["finished"] < patient["finished"]


def test_a_site_is_stopped_at_its_deadline_and_one_that_never_began_is_dropped(
    tmp_path: Path, machine: Machine
) -> None:
    """A stop came 1 to 1.7 s late."""
    with serving(SmallWeb(200, page_bytes=20_000, random_bytes=9_000)) as web:
        seeds = f'seeds = ["{web.seed}"]\non_deadline = "stop"\n'
        sites, lost = crawled(
            tmp_path,
            '[budget]\nbandwidth = "100 KB/s"\ncrawlers = 1\n'
            f'[site.one]\n{seeds}deadline = "3s"\nexpect = "4 MB"\n'
            f'[site.other]\n{seeds}deadline = "3s"\nexpect = "4 MB"\n',
            machine,
        )
    states = sorted(site["state"] for site in sites.values())
    assert states == ["stopped", "stopped"]
    begun = [site for site in sites.values() if site["pages"]]
    assert len(begun) == 1
    assert 2.999 <= begun[0]["finished"] < 3.9 + lost  # uvloop's timers count milliseconds
