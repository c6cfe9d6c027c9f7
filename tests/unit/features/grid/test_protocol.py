"""What nodes and managers say arrives as it was said, and nothing else is taken for it."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.protocol import (
    Beat,
    Claim,
    FileSize,
    Grant,
    Held,
    Idle,
    Lease,
    Put,
    claim_answer,
    decoded,
    encoded,
)
from headgate.model.run_report import LeftOut
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Seconds

LEASE = Lease(7, 3)


def test_a_beat_arrives_whole() -> None:
    progress = Progress(
        "a", TaskState.CRAWLING, started=1.5, errors=Counter({"404": 2}), left_out={"x": LeftOut(3)}
    )
    tally = ServerTally(
        {"h.test"},
        2,
        bytes=300,
        busy_seconds=1.0,
        first_byte_seconds=0.1,
        response_seconds=1.1,
        held_seconds=0.0,
    )
    beat = Beat(
        life=5, number=1, tasks=(Held(lease=LEASE, progress=progress),),
        servers={"192.0.2.1": tally}, connects={"h.test": 0.02},
    )  # fmt: skip
    assert decoded(encoded(beat), Beat) == beat


def test_a_grant_arrives_whole_and_is_told_from_idleness() -> None:
    site = Site("a", seeds=("http://h.test/",), deadline=Seconds(60.0), include=("/docs/",))
    grant = Grant(lease=LEASE, seconds=60.0, task=Task(site, visit=2), stamp="s")
    idle = Idle(wait=1.0, left=0)
    assert claim_answer(encoded(grant)) == grant
    assert claim_answer(encoded(idle)) == idle


def test_unknown_fields_are_passed_over() -> None:
    assert decoded(b'{"id": "x", "colour": "red"}', Claim) == Claim(id="x")


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"[]", b"{}", b'{"id": 5}', b'{"id": ""}', b'{"id": "x", "slots": -1}',
     b'{"id": "x", "free_bytes": 1e300}', b"\xff\xfe"],
)  # fmt: skip
def test_nonsense_is_not_taken_for_a_claim(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decoded(body, Claim)


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", "a/b", "a\x00b", "x" * 256])
def test_a_file_has_no_folder(name: str) -> None:
    put = Put(lease=LEASE, files=(FileSize(name=name, size=1),))
    with pytest.raises(msgspec.MsgspecError):
        decoded(encoded(put), Put)
