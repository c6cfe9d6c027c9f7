"""``headgate node`` as its owner runs it: real processes, a real NATS server, real pages."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving

from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.testing.memory_desk import MemoryDesk

pytest.importorskip("nats")

from tests.integration.grid.doors import OpenDoor, open_door

from headgate.features.grid.transport.requests import listening
from headgate.features.grid.transport.server_config import Door

PATIENCE_SECONDS = 90.0
LEASE_SECONDS = 4.0


async def begun(door: OpenDoor, folder: Path, name: str, *more: str) -> asyncio.subprocess.Process:
    token = folder / f"{name}.token"
    if not token.exists():
        token.write_bytes(msgspec.json.encode(door.token(name)))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headgate", "node", str(token), "--spool", str(folder / name),
        "--allow-private", "--json", *more,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.05)


def pages_of(desk: MemoryDesk) -> Counter[str]:
    """URLs of HTML pages archived in all results."""
    found: Counter[str] = Counter()
    for files in desk.results().values():
        for name, data in files.items():
            records = gzip.decompress(data).split(b"WARC/1.1\r\n") if "warc" in name else []
            for record in records:
                head = record.partition(b"\r\n\r\n")[0].decode()
                url = head.partition("WARC-Target-URI: ")[2].partition("\r\n")[0]
                if "WARC-Type: response" in head and url.endswith(".html"):
                    found[url] += 1
    return found


def test_three_nodes_one_killed_and_every_page_there_once(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, LEASE_SECONDS)

    async def scene(webs: list[SmallWeb]) -> None:
        async with (
            open_door(tmp_path, tls=True) as door,
            door.as_manager() as manager,
            listening(manager, desk),
        ):
            names = ("anna", "ben", "cleo")
            two = ("--until-idle", "--slots", "2")  # so that each of them has something to do
            nodes = {name: await begun(door, tmp_path, name, *two) for name in names}
            await until(lambda: {row.holder for row in desk._rows.values()} >= set(names))
            await until(lambda: sum(len(web.served) for web in webs) > 60)
            killed = nodes["anna"]
            killed.send_signal(signal.SIGKILL)
            await killed.communicate()
            nodes["anna"] = await begun(door, tmp_path, "anna", "--until-idle")
            told = {}
            async with asyncio.timeout(PATIENCE_SECONDS):
                for name, node in nodes.items():
                    out, error = await node.communicate()
                    assert node.returncode == 0, error.decode()
                    told[name] = json.loads(out)
            assert sum(node["committed"] for node in told.values()) == len(webs)

    with ExitStack() as stack:
        sizes = (60, 90, 30, 45, 75, 50)
        webs = [stack.enter_context(serving(SmallWeb(n, seconds_per_page=0.02))) for n in sizes]
        for number, web in enumerate(webs):
            site = Site(f"site-{number}", seeds=(web.seed,), delay=Seconds(0.0))
            desk.add(Task(site), f"host-{number}")
        asyncio.run(scene(webs))
        assert set(pages_of(desk)) == set().union(*(web.urls for web in webs))
        assert set(pages_of(desk).values()) == {1}
    for name in ("anna", "ben", "cleo"):
        assert not list((tmp_path / name / "leases").iterdir())


def test_a_node_stopped_by_its_owner_gives_back_and_says_so(tmp_path: Path) -> None:
    desk = MemoryDesk(time.monotonic, 600.0)

    async def scene(web: SmallWeb) -> None:
        async with (
            open_door(tmp_path) as door,
            door.as_manager() as manager,
            listening(manager, desk),
        ):
            node = await begun(door, tmp_path, "anna", "--bandwidth", "200KB/s")
            await until(lambda: len(web.served) > 5)
            priority = int(
                Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split()[16]
            )
            assert priority == 19
            node.send_signal(signal.SIGTERM)
            async with asyncio.timeout(PATIENCE_SECONDS):
                out, error = await node.communicate()
            assert node.returncode == 0, error.decode()
            assert json.loads(out)["given_back"] == 1
            assert not any(row.holder for row in desk._rows.values())

    with serving(SmallWeb(300, seconds_per_page=0.02)) as web:
        desk.add(Task(Site("small", seeds=(web.seed,))), "small")
        asyncio.run(scene(web))


def test_an_expired_token_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_door(tmp_path) as door:
            (tmp_path / "anna.token").write_bytes(msgspec.json.encode(door.token("anna", -5.0)))
            node = await begun(door, tmp_path, "anna")
            async with asyncio.timeout(PATIENCE_SECONDS):
                _, error = await node.communicate()
            assert node.returncode == 2
            assert error.decode().count("\n") == 1
            assert "refuses this token" in error.decode()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hours", "morning"], "like '19:00-07:00'"),
        (["--bandwidth", "fast"], "fast"),
        (["--disk", "much"], "much"),
        (["--slots", "0"], "not a whole number from 1"),
        (["--quota", "5GB"], "5GB"),
    ],
)
def test_what_is_mistyped_is_told_in_one_line(
    tmp_path: Path, options: list[str], said: str
) -> None:
    token = Door.at(tmp_path).invite("anna", ["nats://127.0.0.1:1"], time.time(), 1.0)
    (tmp_path / "anna.token").write_bytes(msgspec.json.encode(token))
    done = headgate("node", tmp_path / "anna.token", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_token_is_no_token(tmp_path: Path) -> None:
    done = headgate("node", tmp_path / "nothing.token")
    assert done.returncode == 2
    assert "cannot read the token" in done.stderr
