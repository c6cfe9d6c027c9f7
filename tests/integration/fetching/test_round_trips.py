"""Asking loopback how far away it is, by echoes and by handshakes."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

import pytest

from headgate.engine.clock import AwakeClock
from headgate.fetching import round_trips
from headgate.fetching.round_trips import EchoSocket, LineProbe, Target


def echoes_allowed() -> bool:
    try:
        EchoSocket(socket.AF_INET).sock.close()
    except OSError:
        return False
    return True


Answers = list[tuple[str, float]]


async def heard(
    targets: list[Target], seconds: float, enough: Callable[[Answers], bool] = lambda _: True
) -> tuple[Answers, float]:
    """So long at least, and until it is enough: addresses with round trips, and how long it was."""
    answers: Answers = []
    probe = LineProbe(lambda address, trip, _now: answers.append((address, trip)), AwakeClock())
    probe.aim(targets)
    began = time.monotonic()
    task = asyncio.ensure_future(probe.run())
    await asyncio.sleep(seconds)
    async with asyncio.timeout(60):
        while not enough(answers):
            await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return answers, time.monotonic() - began


@pytest.mark.skipif(not echoes_allowed(), reason="echoes need root or net.ipv4.ping_group_range")
def test_servers_answer_echoes_in_turn() -> None:
    def both(answers: Answers) -> bool:
        return {address for address, _ in answers} == {"127.0.0.1", "127.0.0.2"}

    targets = [Target("127.0.0.1", 9), Target("127.0.0.2", 9)]
    answers, seconds = asyncio.run(heard(targets, 1.5, both))
    assert all(0 <= trip <= seconds for _, trip in answers)
    assert len(answers) <= 2 * seconds / round_trips.ECHO_SECONDS + 2, "no more than is polite"


def test_without_echoes_handshakes_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(family: socket.AddressFamily) -> EchoSocket:
        raise PermissionError(family)

    monkeypatch.setattr(round_trips, "EchoSocket", forbidden)
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = Target("127.0.0.1", server.getsockname()[1])
        answers, seconds = asyncio.run(heard([target], 1.3, bool))
    assert all(0 <= trip <= seconds for _, trip in answers)
    assert len(answers) <= seconds / round_trips.HANDSHAKE_SECONDS + 2


def test_a_server_that_is_not_there_is_borne() -> None:
    asyncio.run(heard([Target("127.0.0.1", 1)], 0.2))
    assert asyncio.run(heard([], 0.2))[0] == []
