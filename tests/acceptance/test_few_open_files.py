"""A crawl whose process may have few files open at once: no server is blamed for that."""

from __future__ import annotations

import asyncio
import json
import math
import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from bench.many_sites import site_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it has all of 127.0.0.0/8")

SITES, PAGES = 240, 2
LIMIT = 160
"""Open files: enough for the crawl itself, and fewer than there are sites."""
BODY = b"<!doctype html><title>A page</title><a href='/'>home</a> <a href='/one'>one</a>"
LIMITS_AT_THE_END = """
import resource, sys
from headgate.__main__ import start
sys.argv = ["headgate", "--version"]
try:
    start()
except SystemExit:
    print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


class Web:
    """Small sites on all addresses of this machine. ``answers``: how many requests are answered
    from now on; others wait, and their connections stay open."""

    def __init__(self) -> None:
        self.answers: float = math.inf
        self.port = 0


class _Visitor(asyncio.Protocol):
    """One connection, which is kept for the next request; each comes in one piece."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._web.answers <= 0:
            return
        self._web.answers -= 1
        found = data.split(b" ")[1] != b"/robots.txt"
        status, body = (b"200 OK", BODY) if found else (b"404 Not Found", b"")
        self._transport.write(
            b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
            % (status, len(body), body)
        )


@contextmanager
def served() -> Iterator[Web]:
    web, loop = Web(), asyncio.new_event_loop()
    server = loop.run_until_complete(
        loop.create_server(lambda: _Visitor(web), "0.0.0.0", 0, backlog=1024)
    )
    web.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


def limited(
    soft: int, hard: int, *words: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, text=True, check=False, timeout=120, cwd=cwd,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
    )  # fmt: skip


def crawl(folder: Path, limit: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = ("-m", "headgate", "crawl", *words, "--json", "--quiet")
    return limited(limit, limit, *command, cwd=folder)


def all_done(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert Counter(site["state"] for site in report["sites"]) == {"done": SITES}
    assert Counter(site["pages"] for site in report["sites"]) == {PAGES: SITES}
    assert not any(site["errors"] or site["given_up"] for site in report["sites"])


def test_kept_connections_leave_room_for_new_ones(tmp_path: Path) -> None:
    """Each site's last connection is good for another half a minute."""
    with served() as web:
        (tmp_path / "sites.toml").write_text(site_file(SITES, web.port, crawlers=20))
        all_done(crawl(tmp_path, LIMIT, "sites.toml", "--delay", "0"))


@pytest.mark.parametrize("answers", [0, 100])
def test_a_crawl_without_files_ends_in_order_and_goes_on(tmp_path: Path, answers: int) -> None:
    """Servers that do not answer keep more connections open than we may have."""
    with served() as web:
        web.answers = answers
        (tmp_path / "sites.toml").write_text(site_file(SITES, web.port, crawlers=SITES))
        short = crawl(tmp_path, LIMIT, "sites.toml", "--delay", "0")
        assert short.returncode == 1, short.stdout
        fault = short.stderr.splitlines()[-1]
        assert fault.startswith("headgate: cannot ")
        assert "ulimit -n" in fault
        assert "--resume" in fault
        web.answers = math.inf
        all_done(crawl(tmp_path, 4 * LIMIT, "--resume"))


def test_the_command_may_open_as_many_files_as_the_system_allows() -> None:
    done = limited(LIMIT, 2 * LIMIT, "-c", LIMITS_AT_THE_END)
    assert done.stdout.splitlines()[-1] == f"{2 * LIMIT} {2 * LIMIT}"
