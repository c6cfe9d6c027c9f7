"""Requests that are sent once, certificates of our own, and robots.txt that the user ignores."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving

from headgate.engine.clock import AwakeClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.model.site import Access


@contextmanager
def closing_server(asked: list[bytes], context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Answers the first request of each connection, and hangs up at any other without a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)

        def talk(stream: socket.socket) -> None:
            with stream:
                asked.append(stream.recv(65_536))
                if not asked[-1].startswith(b"POST"):
                    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    asked.append(stream.recv(65_536))

        def serve(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                connection.settimeout(20)
                if context is None:
                    talk(connection)
                else:
                    talk(context.wrap_socket(connection, server_side=True))

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def fetched(
    settings: FetcherSettings, requests: list[FetchRequest]
) -> list[Fetched | FetchFailure]:
    async def run() -> list[Fetched | FetchFailure]:
        async with HttpFetcher(settings, clock=AwakeClock()) as fetcher:
            return [await fetcher.fetch(request) for request in requests]

    return asyncio.run(run())


def test_a_get_is_repeated_and_a_post_is_not() -> None:
    asked: list[bytes] = []
    settings = FetcherSettings("test", named=frozenset({"127.0.0.1"}))
    with closing_server(asked) as port:
        url = f"http://127.0.0.1:{port}/"
        get = FetchRequest(url, "a", 100, 1000)
        post = FetchRequest(url, "a", 100, 1000, method="POST", body=b"x=1")
        outcomes = fetched(settings, [get, post, get])
    assert [type(outcome) for outcome in outcomes] == [Fetched, FetchFailure, Fetched]
    posts = [data for data in asked if data.startswith(b"POST")]
    assert len(posts) == 1
    assert posts[0].endswith(b"Content-Length: 3\r\n\r\nx=1")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_client_shows_its_certificate(tmp_path: Path) -> None:
    for name in ("server", "client"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
             f"{tmp_path}/{name}.key", "-out", f"{tmp_path}/{name}.crt"],
            check=True, capture_output=True,
        )  # fmt: skip
    both = (tmp_path / "client.key").read_text() + (tmp_path / "client.crt").read_text()
    (tmp_path / "client.pem").write_text(both)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(tmp_path / "client.crt")
    named = frozenset({("with", "127.0.0.1"), ("without", "127.0.0.1")})
    settings = FetcherSettings(
        "test",
        named_for=named,
        authorities=str(tmp_path / "server.crt"),
        access=(("with", Access(client_certificate=str(tmp_path / "client.pem")), ()),),
    )
    with closing_server([], context) as port:
        url = f"https://127.0.0.1:{port}/"
        requests = [FetchRequest(url, site, 100, 1000) for site in ("with", "without")]
        shown, hidden = fetched(settings, requests)
    assert isinstance(shown, Fetched)
    assert isinstance(hidden, FetchFailure)


def test_robots_are_ignored_where_the_user_says_so_and_the_report_tells(tmp_path: Path) -> None:
    robots = b"User-agent: *\nDisallow: /\n"
    with serving(SmallWeb(4, robots=robots)) as web:
        assert headgate("crawl", web.seed, "--out", tmp_path / "obeyed").returncode == 4
        words = ("--out", tmp_path / "ignored", "--robots", "ignore", "--quiet")
        done = headgate("crawl", web.seed, *words)
    assert done.returncode == 0
    assert "robots.txt ignored, as configured: 127.0.0.1." in done.stdout + done.stderr
    report = json.loads(headgate("report", tmp_path / "ignored", "--json").stdout)
    assert report["pages"] == 4
    assert report["sites"][0]["robots_ignored"] == ["127.0.0.1"]
