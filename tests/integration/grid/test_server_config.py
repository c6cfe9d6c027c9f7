"""What a node may do at a real NATS server with the token it has, and what nobody may."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from nats.aio.msg import Msg
from nats.errors import MaxPayloadError
from tests.contract.desk_office import DeskOffice, at_desk
from tests.integration.grid.doors import PATIENCE_SECONDS, OpenDoor, open_door

from headgate.engine.clock import SystemClock
from headgate.features.grid.coordinator.endpoint import DoorPlace, opened_door
from headgate.features.grid.coordinator.nodes import NodeConnections
from headgate.features.grid.protocol import (
    Beat,
    Claim,
    ClaimAnswer,
    Idle,
    Known,
    Lease,
    Refused,
    SourceAway,
    encoded,
)
from headgate.features.grid.transport import connection
from headgate.features.grid.transport.connection import connected
from headgate.features.grid.transport.credentials import Token, read_token
from headgate.features.grid.transport.nats_server import NatsServer
from headgate.features.grid.transport.requests import NatsTasks, listening
from headgate.features.grid.transport.server_config import MAX_PAYLOAD_BYTES, Door, Listen
from headgate.model.errors import UserMistake, WorldFault
from headgate.testing.memory_desk import MemoryDesk

SOON_SECONDS = 1.0
"""To wait for what must not come."""


def at_door(
    folder: Path, scene: Callable[[OpenDoor], Awaitable[None]], *, tls: bool = False
) -> None:
    async def play() -> None:
        async with open_door(folder, tls=tls) as door:
            await scene(door)

    asyncio.run(play())


async def echo(message: Msg) -> None:
    await message.respond(f"{message.subject} {message.data.decode()}".encode())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.02)


async def refused(token: Token) -> str:
    with pytest.raises(Refused) as refusal:
        async with connected(token, lambda _: None, PATIENCE_SECONDS):
            pass
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_token_made_after_the_servers_start_is_good_at_once(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen("hg.req.>", echo)
            answer = await anna.request("hg.req.anna.claim", b"x", PATIENCE_SECONDS)
            assert answer == b"hg.req.anna.claim x"

    at_door(tmp_path, scene, tls=True)


def test_tokens_of_others_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        stranger = Door.at(tmp_path / "stranger")
        token = stranger.invite("anna", [door.server.url], time.time(), 1.0)
        assert "refuses this token" in await refused(token)
        mine, other = door.token("anna"), door.token("ben")
        assert "refuses this token" in await refused(msgspec.structs.replace(mine, seed=other.seed))
        head, body, signature = mine.jwt.split(".")
        forged = msgspec.structs.replace(mine, jwt=f"{head}.{other.jwt.split('.')[1]}.{signature}")
        assert body != other.jwt.split(".")[1]
        assert "refuses this token" in await refused(forged)

    at_door(tmp_path, scene)


def test_a_server_with_another_authority_is_not_trusted(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        token = door.token("anna")
        without = msgspec.structs.replace(token, ca="")
        assert "not the one this token was made for" in await refused(without)
        plain = [url.replace("tls://", "nats://") for url in token.servers]
        assert "not the one" in await refused(
            msgspec.structs.replace(token, servers=tuple(plain), ca="")
        )

    at_door(tmp_path, scene, tls=True)


def test_an_expired_token_is_cut_off(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        async with door.as_node("anna", seconds=3.0) as anna:
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert "expired" in await anna.wait_refused()
            with pytest.raises(Refused):
                await anna.request("hg.req.anna.claim", b"", PATIENCE_SECONDS)
        assert "expired" in await refused(door.token("anna", seconds=-5.0))

    at_door(tmp_path, scene)


def test_a_revoked_token_is_cut_off_and_a_newer_one_is_not(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        old = door.token("anna")
        async with (
            connected(old, door.told.append, PATIENCE_SECONDS) as anna,
            door.as_node("ben") as ben,
            door.as_manager() as manager,
        ):
            door.server.revoke({old.key: time.time()})
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert "revoked" in await anna.wait_refused()
            await manager.listen("hg.req.>", echo)
            assert await ben.request("hg.req.ben.claim", b"", PATIENCE_SECONDS)
            assert "revoked" in await refused(old)
            async with door.as_node("anna") as again:
                assert await again.request("hg.req.anna.claim", b"", PATIENCE_SECONDS)

    at_door(tmp_path, scene)


def test_who_was_revoked_stays_out_when_others_are_and_after_a_restart(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        async with at_desk(tmp_path / "collection") as office:
            assert isinstance(office, DeskOffice)
            desk, tokens = office.desk, {name: door.token(name) for name in ("anna", "ben")}
            office.clock.seconds = time.time() - 1.7e9
            watch = NodeConnections(desk, office.run)
            for name, token in tokens.items():
                office.store.invite(name, "", token.key, 1.0)
            for name, token in tokens.items():
                async with connected(token, door.told.append, PATIENCE_SECONDS) as client:
                    office.store.revoke(name)
                    office.clock.seconds += 10.0
                    assert f"{name} is revoked" in watch.poll(door.server)
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await client.wait_refused()
            assert "revoked" in await refused(tokens["anna"]), "also now that ben is"
            assert desk.registry.revoked_keys() == {token.key for token in tokens.values()}
            await door.server.stop()
            place = DoorPlace(door.server.listen, hosts=("127.0.0.1",), plain=True)
            clock, keys = SystemClock(), desk.registry.revoked_keys()
            async with opened_door(
                place, tmp_path, desk=desk, revoked=keys, clock=clock, tell=door.told.append
            ):
                for token in tokens.values():
                    assert "revoked" in await refused(token)

    at_door(tmp_path, scene)


def test_a_server_that_was_killed_is_started_again(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        old = door.token("old")
        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen("hg.req.>", echo)
            door.server.revoke({old.key: time.time()})
            os.kill(door.server.pid, signal.SIGKILL)
            await until(lambda: not anna.reached)
            await until(lambda: anna.reached and manager.reached)
            assert await anna.request("hg.req.anna.claim", b"x", PATIENCE_SECONDS)
            assert "revoked" in await refused(old), "as configured before"
        assert "the NATS server ended (signal 9); starting it again" in door.told

    at_door(tmp_path, scene, tls=True)


def test_a_server_that_cannot_be_started_again_is_a_fault(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        os.kill(door.server.pid, signal.SIGKILL)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            await until(lambda: bound(other, door.server.listen.port))
            other.listen()
            await asyncio.sleep(PATIENCE_SECONDS)

    def bound(other: socket.socket, port: int) -> bool:
        with suppress(OSError):
            other.bind(("127.0.0.1", port))
            return True
        return False

    with pytest.raises(WorldFault, match="did not start"):
        at_door(tmp_path, scene)


@pytest.mark.parametrize(
    "subject",
    ["hg.req.ben.claim", "hg.req.ben.chunk.1.1.0.0", "$JS.API.INFO", "hg.ctl.anna", "hg.ctl.all"],
)
def test_nobody_publishes_as_another(tmp_path: Path, subject: str) -> None:
    async def scene(door: OpenDoor) -> None:
        heard: list[str] = []

        async def hear(message: Msg) -> None:
            heard.append(message.subject)

        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen(">", hear)
            with pytest.raises(Refused, match="does not let this token publish"):
                await anna.request(subject, b"", SOON_SECONDS)
            assert subject not in heard

    at_door(tmp_path, scene)


@pytest.mark.parametrize("subject", [">", "_INBOX_ben.>", "hg.req.>", "hg.ctl.ben", "_R_.>"])
def test_nobody_listens_to_others(tmp_path: Path, subject: str) -> None:
    async def scene(door: OpenDoor) -> None:
        heard: list[str] = []

        async def hear(message: Msg) -> None:
            heard.append(message.subject)

        async with (
            door.as_manager() as manager,
            door.as_node("anna") as anna,
            door.as_node("ben") as ben,
        ):
            await manager.listen("hg.req.>", echo)
            await anna.listen(subject, hear)
            await until(lambda: subject.lower() in anna.forbidden)
            assert await ben.request("hg.req.ben.claim", b"", PATIENCE_SECONDS)
            await asyncio.sleep(0.1)
            assert heard == []

    at_door(tmp_path, scene)


def test_answers_cannot_be_steered_into_the_managers_subjects(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        heard: list[str] = []

        async def hear(message: Msg) -> None:
            heard.append(message.subject)
            await message.respond(b"answer")

        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen(">", hear)
            # What is only published while the server takes up a token may be lost.
            assert await anna.request("hg.req.anna.known", b"", PATIENCE_SECONDS)
            await anna.client.publish("hg.req.anna.claim", b"", reply="hg.req.ben.claim")
            await until(lambda: "hg.req.anna.claim" in heard)
            await anna.client.publish("hg.req.anna.beat", b"", reply="_INBOX_ben.x")
            await until(lambda: "hg.req.anna.beat" in heard)
            await asyncio.sleep(0.2)
            assert not [subject for subject in heard if "ben" in subject]

    at_door(tmp_path, scene)


def test_a_message_beyond_the_bound_is_refused_on_both_sides(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        large = bytes(MAX_PAYLOAD_BYTES + 1)
        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen("hg.req.>", echo)
            with pytest.raises(MaxPayloadError):
                await anna.client.publish("hg.req.anna.chunk.1.1.0.0", large)
            anna.client._max_payload = 2 * MAX_PAYLOAD_BYTES  # a client that lies to itself
            with pytest.raises(SourceAway):
                await anna.request("hg.req.anna.chunk.1.1.0.0", large, SOON_SECONDS)

    at_door(tmp_path, scene)


def test_what_is_malformed_is_told_so_and_the_desk_goes_on(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        desk = MemoryDesk(time.monotonic)
        async with (
            door.as_manager() as manager,
            listening(manager, desk),
            door.as_node("anna") as anna,
        ):
            bodies = [
                b"", b"{", b"[]", b'{"id": 7}', b'{"id": "x", "slots": -1}', bytes(1000),
                b"[" * 100_000,
            ]  # fmt: skip
            for body in bodies:
                answer = await anna.request("hg.req.anna.claim", body, PATIENCE_SECONDS)
                assert answer.startswith(b"-bad request"), body
            for verb in ("nothing", "chunk", "chunk.1.1.0.x", "claim.7", "chunk.1.1.0.-1"):
                answer = await anna.request(f"hg.req.anna.{verb}", b"{}", PATIENCE_SECONDS)
                assert answer.startswith(b"-bad request"), verb
            later = json.dumps({"id": "x", "version": 2, "new": True}).encode()
            answer = await anna.request("hg.req.anna.claim", later, PATIENCE_SECONDS)
            assert b"version" in answer
            source = NatsTasks(anna, "anna")
            assert isinstance(await source.claim(Claim(id="x")), Idle)

    at_door(tmp_path, scene)


def test_who_floods_the_door_keeps_nobody_else_from_it(tmp_path: Path) -> None:
    """A desk that is slow with the flood: a few of it are open, and another's beat is answered."""
    most, open_now = 0, 0

    class SlowDesk(MemoryDesk):
        async def claim(self, node: str, claim: Claim) -> ClaimAnswer:
            nonlocal most, open_now
            open_now += 1
            most = max(most, open_now)
            try:
                await flooded.wait()
                return await super().claim(node, claim)
            finally:
                open_now -= 1

    flooded = asyncio.Event()

    async def scene(door: OpenDoor) -> None:
        async with (
            door.as_manager() as manager,
            listening(manager, SlowDesk(time.monotonic)),
            door.as_node("flood") as flood,
            door.as_node("anna") as anna,
        ):
            body = encoded(Claim(id="x"))
            for _ in range(20_000):
                await flood.client.publish("hg.req.flood.claim", body, reply="_INBOX_flood.x")
            await flood.client.flush(int(PATIENCE_SECONDS))
            orders = await NatsTasks(anna, "anna", PATIENCE_SECONDS).beat(Beat(life=1, number=1))
            assert orders.seconds > 0
            await until(lambda: most > 0)
            assert most <= 32
            flooded.set()

    at_door(tmp_path, scene)


def test_an_answer_beyond_the_bound_is_a_refusal(tmp_path: Path) -> None:
    class LargeDesk(MemoryDesk):
        async def known(self, node: str, known: Known) -> bytes:  # noqa: ARG002
            return bytes(MAX_PAYLOAD_BYTES)

    async def scene(door: OpenDoor) -> None:
        async with (
            door.as_manager() as manager,
            listening(manager, LargeDesk(time.monotonic)),
            door.as_node("anna") as anna,
        ):
            with pytest.raises(Refused, match="larger than the NATS server lets through"):
                await NatsTasks(anna, "anna").known(Known(lease=Lease(1, 1), offset=0))

    at_door(tmp_path, scene)


def test_an_answer_that_is_not_understood_names_the_version(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        async def babble(message: Msg) -> None:
            await message.respond(b'+{"type": "Unheard"}')

        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen("hg.req.>", babble)
            with pytest.raises(Refused, match="another version"):
                await NatsTasks(anna, "anna").claim(Claim(id="x"))

    at_door(tmp_path, scene)


def test_who_asks_while_the_server_takes_up_a_token_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows of no listener for a moment."""
    monkeypatch.setattr(connection, "_TOKEN_SECONDS", 3.0)

    async def scene(door: OpenDoor) -> None:
        async with door.as_manager() as manager, door.as_node("anna") as anna:
            asked = asyncio.ensure_future(anna.request("hg.req.anna.claim", b"", PATIENCE_SECONDS))
            await asyncio.sleep(0.5)
            await manager.listen("hg.req.>", echo)
            assert await asked

    at_door(tmp_path, scene)


def test_a_server_that_goes_and_comes_back_is_told_of_once(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        async with door.as_manager() as manager, door.as_node("anna") as anna:
            await manager.listen("hg.req.>", echo)
            await door.server.stop()
            await until(lambda: not anna.reached)
            with pytest.raises(SourceAway):
                await anna.request("hg.req.anna.claim", b"", PATIENCE_SECONDS)
            await door.server.start({})
            await until(lambda: anna.reached and manager.reached)
            assert await anna.request("hg.req.anna.claim", b"", PATIENCE_SECONDS)
            assert sum("away" in line for line in door.told) == 2
            assert sum("back" in line for line in door.told) == 2

    at_door(tmp_path, scene)


def test_a_node_may_come_before_the_server(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        await door.server.stop()
        token = door.token("anna")
        with pytest.raises(SourceAway, match="no NATS server answers"):
            async with connected(token, door.told.append, SOON_SECONDS):
                pass

        async def come() -> bool:
            async with connected(token, door.told.append, PATIENCE_SECONDS) as anna:
                return anna.reached

        coming = asyncio.create_task(come())
        await until(lambda: any("away" in line for line in door.told))
        await door.server.start({})
        assert await coming

    at_door(tmp_path, scene)


def test_without_a_manager_nobody_answers(tmp_path: Path) -> None:
    async def scene(door: OpenDoor) -> None:
        async with door.as_node("anna") as anna:
            with pytest.raises(SourceAway, match="no manager"):
                await NatsTasks(anna, "anna").claim(Claim(id="x"))

    at_door(tmp_path, scene)


def test_an_old_server_is_refused_by_name(tmp_path: Path) -> None:
    async def play() -> None:
        async def old(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            info = {"version": "2.10.29", "max_payload": 1 << 20, "nonce": "abc", "proto": 1}
            writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
            while line := await reader.readline():
                if line.startswith(b"PING"):
                    writer.write(b"PONG\r\n")
            writer.close()

        async with await asyncio.start_server(old, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            token = Door.at(tmp_path).invite("anna", [f"nats://127.0.0.1:{port}"], time.time(), 1)
            with pytest.raises(UserMistake, match=r"version 2\.10; Headgate needs 2\.11"):
                async with connected(token, lambda _: None, PATIENCE_SECONDS):
                    pass

    asyncio.run(play())


def test_a_port_in_use_and_a_missing_server_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(door: OpenDoor) -> None:
        there = door.server
        second = NatsServer(Door.at(tmp_path / "second"), there.listen, None, there.clock)
        with pytest.raises(WorldFault, match="address already in use"):
            await second.start({})
        monkeypatch.setenv("HEADGATE_NATS_SERVER", "/nowhere/nats-server")
        with pytest.raises(UserMistake, match="HEADGATE_NATS_SERVER"):
            await replace(second).start({})

    at_door(tmp_path, scene)


def test_a_token_file_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "anna.token"
    with pytest.raises(UserMistake, match="cannot read"):
        read_token(path)
    for text in ("", "{}", "[" * 100_000, '{"node": 1}'):
        path.write_text(text)
        with pytest.raises(UserMistake, match="is not a token"):
            read_token(path)
    token = Door.at(tmp_path).invite("anna", ["tls://x:1"], time.time(), 1.0)
    for change in ({"node": "../x"}, {"seed": "SUX"}, {"version": 2}):
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(token, **change)))
        with pytest.raises(UserMistake, match=r"anna\.token"):
            read_token(path)
    path.write_bytes(msgspec.json.encode(token))
    assert read_token(path) == token


def test_keys_stay_the_same_and_are_nobody_elses(tmp_path: Path) -> None:
    first, again = Door.at(tmp_path), Door.at(tmp_path)
    listen = Listen("127.0.0.1", 1)
    assert first.config(listen, None, {}, 0.0) == again.config(listen, None, {}, 0.0)
    seeds = tmp_path / "seeds.json"
    assert seeds.stat().st_mode & 0o777 == 0o600
    seeds.write_text("{}")
    with pytest.raises(UserMistake, match=r"seeds\.json is damaged"):
        Door.at(tmp_path)


def test_who_starts_a_manager_and_who_invites_at_the_same_time_have_the_same_keys(
    tmp_path: Path,
) -> None:
    """Each made its own; with the token of the one, the other's server let nobody in."""
    for attempt in range(10):
        folder, begin = tmp_path / str(attempt), threading.Barrier(4)

        def operator(_: int, folder: Path = folder, begin: threading.Barrier = begin) -> str:
            begin.wait(10)
            return Door.at(folder).own_token([], 0.0).seed

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(operator, range(4)))) == 1
