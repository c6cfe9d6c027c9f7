"""Asking loopback how far away it is, by echoes and by handshakes."""

from __future__ import annotations

import asyncio
import socket

import pytest

from headgate.fetching import line_probe
from headgate.fetching.echo import EchoSocket
from headgate.fetching.line_probe import LineProbe, Target


def echoes_allowed() -> bool:
    try:
        EchoSocket(socket.AF_INET).sock.close()
    except OSError:
        return False
    return True


async def heard(targets: list[Target], seconds: float) -> list[tuple[str, float]]:
    answers: list[tuple[str, float]] = []
    probe = LineProbe(lambda address, trip, _now: answers.append((address, trip)))
    probe.aim(targets)
    task = asyncio.ensure_future(probe.run())
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return answers


@pytest.mark.skipif(not echoes_allowed(), reason="echoes need root or net.ipv4.ping_group_range")
def test_servers_answer_echoes_in_turn() -> None:
    answers = asyncio.run(heard([Target("127.0.0.1", 9), Target("127.0.0.2", 9)], 1.5))
    assert {address for address, _ in answers} == {"127.0.0.1", "127.0.0.2"}
    assert all(0 <= trip < 1.0 for _, trip in answers)
    assert len(answers) <= 2 * 1.5 / line_probe.ECHO_SECONDS + 2, "no more than is polite"


def test_without_echoes_handshakes_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(family: socket.AddressFamily) -> EchoSocket:
        raise PermissionError(family)

    monkeypatch.setattr(line_probe, "EchoSocket", forbidden)
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = Target("127.0.0.1", server.getsockname()[1])
        answers = asyncio.run(heard([target], 1.3))
    assert answers
    assert all(0 <= trip < 1.0 for _, trip in answers)
    assert len(answers) <= 1.3 / line_probe.HANDSHAKE_SECONDS + 2


def test_a_server_that_is_not_there_is_borne() -> None:
    assert asyncio.run(heard([Target("127.0.0.1", 1)], 0.2)) is not None
    assert asyncio.run(heard([], 0.2)) == []
