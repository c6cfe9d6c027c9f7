"""The second reader: the same answers as at home, whatever becomes of its process."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path

import pytest
import uvloop
from tests.machine import wait_until

from headgate.crawling import second_reader
from headgate.crawling.child_process import Child
from headgate.crawling.page_reader import PageReader, ReadPage
from headgate.crawling.second_reader import SecondReader
from headgate.crawling.second_reader_child import LENGTH_BYTES, serve
from headgate.model.fetch import Fetched

READER = PageReader()
PAGES = {
    "plain": b"<html lang=en><title>T</title><a href=b>x</a><a href='/c?d&amp;e#f'>",
    "nofollow": b"<a href=a rel=nofollow>x</a><a href=b>",
    "robots": b"<meta name=robots content=nofollow><a href=b>",
    "no links": b"",
    "no text": b"\x00\x01\x02",
    "half a surrogate pair": b"<title>&#xd800;</title><a href='&#xd800;'>",
    "latin": b"<meta charset=latin1><a href='?\xe9'>",
}


def response(body: bytes, number: int = 0) -> Fetched:
    headers = (("content-type", "text/html"), ("refresh", "5; url=later"))
    url = f"http://a.example/{number}"
    return Fetched(
        url,
        200,
        headers=headers,
        request_head=b"",
        response_head=b"",
        payload=body,
        address="127.0.0.1",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=len(body),
    )


class Steps:
    """A clock that goes on when it is read, by these steps in turn."""

    def __init__(self, *seconds: float) -> None:
        self._steps = cycle(seconds)
        self._now = 0.0

    def __call__(self) -> float:
        self._now += next(self._steps)
        return self._now


@contextlib.asynccontextmanager
async def started(cores: int = 2) -> AsyncIterator[tuple[SecondReader, list[int]]]:
    """A reader that has its process, and the process's id."""
    pids: list[int] = []

    def start() -> Child:
        child = second_reader._start()
        pids.append(child.pid)
        return child

    reader = SecondReader(cores, Steps(1.0), start)  # reading takes all the time there is
    try:
        for _ in range(3):
            await reader.read(READER, response(b"x"), b"x")
        yield reader, pids
    finally:
        reader.close()


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages are handed over, too."""
    monkeypatch.setattr(second_reader, "_WORTH_BYTES", 0)


def plain(read: ReadPage) -> tuple[object, ...]:
    links = read.links
    every = None if links is None else (tuple(links.targets), tuple(links.rels))
    return read.title, read.language, read.digest, every, tuple(read.to_follow)


@pytest.mark.usefixtures("any_size")
def test_answers_are_the_same() -> None:
    async def run() -> None:
        async with started() as (second, pids):
            assert len(pids) == 1
            for number, body in enumerate(PAGES.values()):
                fetched = response(body, number)
                found = await second.read(READER, fetched, body)
                assert plain(found) == plain(READER.read(fetched, body))

    uvloop.run(run())


@pytest.mark.usefixtures("any_size")
def test_each_page_gets_its_own_answer() -> None:
    async def run() -> None:
        async with started() as (second, _):
            bodies = [b"<title>%d</title>" % number * (1 + number % 7) for number in range(300)]
            reads = [second.read(READER, response(body), body) for body in bodies]
            titles = [read.title for read in await asyncio.gather(*reads)]
            assert titles == [str(number) for number in range(300)]

    uvloop.run(run())


def test_small_pages_are_read_here() -> None:
    async def run() -> None:
        async with started() as (second, pids):
            os.kill(pids[0], signal.SIGSTOP)
            small, large = b"<title>T</title>", b"<title>T</title>" + b" " * 4_000
            assert (await second.read(READER, response(small), small)).title == "T"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(second.read(READER, response(large), large), 0.1)

    uvloop.run(run())


def test_nobody_is_started_without_a_second_core_or_much_to_read() -> None:
    async def run() -> None:
        async with started(cores=1) as (second, pids):
            assert pids == []
            second.use(2)  # somebody else is done
            await second.read(READER, response(b"x"), b"x")
            assert len(pids) == 1
        idle = SecondReader(2, Steps(0.05, 1.0), lambda: pytest.fail("started"))
        for _ in range(100):
            await idle.read(READER, response(b"x"), b"x")
        idle.close()

    uvloop.run(run())


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_pages_of_a_process_that_is_lost_are_read_here(
    sign: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_reader, "_PATIENCE_SECONDS", 0.2)

    async def run() -> None:
        async with started() as (second, pids):
            body = PAGES["plain"]
            assert (await second.read(READER, response(body), body)).title == "T"
            os.kill(pids[0], sign)
            for _ in range(5):
                assert (await second.read(READER, response(body), body)).title == "T"
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)

    uvloop.run(asyncio.wait_for(run(), 30))


@pytest.mark.usefixtures("any_size")
def test_without_a_process_to_be_had_pages_are_read_here_and_it_is_tried_again_later() -> None:
    starts: list[str] = []

    def start() -> Child:
        starts.append("once")
        if len(starts) > 1:
            return second_reader._start()
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    async def run() -> None:
        second = SecondReader(2, Steps(1.0), start)
        body = PAGES["plain"]
        with contextlib.closing(second):
            left = {path.name for path in Path("/proc/self/fd").iterdir()}
            for _ in range(3):
                assert (await second.read(READER, response(body), body)).title == "T"
            assert len(starts) == 1
            assert {path.name for path in Path("/proc/self/fd").iterdir()} == left
            while second._pages is None:
                assert (await second.read(READER, response(body), body)).title == "T"
            assert (await second.read(READER, response(body), body)).title == "T"
        assert len(starts) == 2

    uvloop.run(asyncio.wait_for(run(), 30))


def test_its_process_ends_with_ours() -> None:
    code = (
        "import os\n"
        "from headgate.crawling.second_reader import _start\n"
        "print(_start().pid, flush=True)\n"
        "os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_reader_whose_parent_left_ends_without_a_word() -> None:
    """It was asked, and nobody waits for the answer any more."""
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        serve(io.BytesIO(2 * (1).to_bytes(LENGTH_BYTES) + b"?!"), theirs)
