"""What a node never does on its owner's machine, wherever pages and managers lead it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.acceptance.small_web import SmallWeb, serving
from tests.integration.grid.test_worker import LEASE_SECONDS, Scene, play

from headgate.features.grid.node.owner_limits import GuestRules
from headgate.features.grid.protocol import Grant, Lease, claim_answer, encoded
from headgate.model.site import Requisites, Site
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.testing.memory_desk import MemoryDesk


@dataclass
class LeadingElsewhere(SmallWeb):
    """Each of its pages links to another host and embeds a picture that is there."""

    other: str = ""

    def body(self, path: str) -> bytes | None:
        body = super().body(path)
        if body is None or path == "/robots.txt":
            return body
        there = f'<a href="{self.other}0.html">there</a><img src="{self.other}1.png">'
        return there.encode() + body


@pytest.mark.parametrize(
    "site",
    [
        {"include": ("://localhost", "://127")},
        {"requisites": Requisites.PAGE},
    ],
)
def test_hosts_that_the_owner_does_not_allow_are_never_asked(
    tmp_path: Path, site: dict[str, object]
) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)
    web = LeadingElsewhere(5)
    with serving(SmallWeb(5)) as other, serving(web):
        web.other = f"http://localhost:{other.port}/"
        wide = Site("wide", seeds=(web.seed,), delay=Seconds(0.0), **site)  # type: ignore[arg-type]
        desk.add(Task(wide), "wide.test")
        scene = Scene(tmp_path, desk, rules=GuestRules(only_hosts=("127.0.0.1",)))

        async def crawl() -> None:
            status = await scene.node()
            assert (status.committed, status.pages) == (1, 5)

        play(crawl)
        assert not other.asked


@pytest.mark.parametrize(
    "stamp", ["", "../up", "/etc", "a/b", "..", "a\0b", "a\n", "x" * 65, "sites~1"]
)
def test_a_run_s_name_is_no_path(stamp: str) -> None:
    grant = Grant(lease=Lease(1, 1), seconds=60.0, task=Task(Site("a")), stamp=stamp)
    with pytest.raises(msgspec.MsgspecError):
        claim_answer(encoded(grant))


@pytest.mark.parametrize("stamp", ["2026-11-19T19-20-03", "2026-11-19T19-20-03-2", "kept"])
def test_names_that_runs_have_are_taken(stamp: str) -> None:
    grant = Grant(lease=Lease(1, 1), seconds=60.0, task=Task(Site("a")), stamp=stamp)
    assert claim_answer(encoded(grant)) == grant
