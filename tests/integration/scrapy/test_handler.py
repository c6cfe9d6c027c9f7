"""Spiders get from Headgate's handler what they get from Scrapy's, over real sockets."""

from __future__ import annotations

import asyncio
import time

import pytest
import scrapy
from scrapy import signals
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotSupported,
    StopDownload,
)
from scrapy.http import HtmlResponse
from tests.integration.fetching.scripted import Server, Wire
from tests.integration.scrapy.spiders import Asking, spidered

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def says_ok(wire: Wire) -> None:
    while await wire.said():
        await wire.say(OK)


def one(server: Server, path: str = "/", **more: object) -> list[scrapy.Request]:
    return [scrapy.Request(server.url(path), **more)]  # type: ignore[arg-type]


def test_a_response_is_what_scrapy_makes_of_it() -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(
            b"HTTP/1.1 404 Gone\r\nContent-Type: text/html; charset=latin-1\r\nSet-Cookie: a=1\r\n"
            b"Set-Cookie: b=2\r\nContent-Length: 6\r\n\r\n<p>\xfc</"
        )
        await wire.said()

    meta = {"handle_httpstatus_all": True}
    seen, server = spidered(script, lambda server: one(server, "/a?b#c", meta=meta))
    response = seen.response
    assert isinstance(response, HtmlResponse)
    assert (response.status, response.text) == (404, "<p>ü</")
    assert response.headers.getlist("Set-Cookie") == [b"a=1", b"b=2"]
    assert str(response.ip_address) == "127.0.0.1"
    assert response.protocol == "HTTP/1.1"
    assert response.url == server.url("/a?b#c")
    assert response.meta["download_latency"] > 0
    assert server.requests[0].startswith(b"GET /a?b HTTP/1.1\r\n")


def test_the_spider_says_who_it_is_and_each_header_goes_once() -> None:
    headers = {"X-Own": "1", "User-Agent": "mine", "X-Empty": ""}
    _, server = spidered(says_ok, lambda server: one(server, headers=headers))
    lines = server.requests[0].decode().split("\r\n")[1:-2]
    names = [line.partition(":")[0].lower() for line in lines]
    assert len(names) == len(set(names))
    assert {"User-Agent: mine", "X-Own: 1", "X-Empty: "} <= set(lines)
    assert f"Host: 127.0.0.1:{server.port}" in lines


def test_a_form_is_posted_with_its_body() -> None:
    bodies = []

    async def script(wire: Wire) -> None:
        await wire.said()
        bodies.append(await wire.reader.readexactly(7))
        await wire.say(OK)

    def ask(server: Server) -> list[scrapy.Request]:
        return [scrapy.FormRequest(server.url(), formdata={"a": "1", "b": "2"})]

    seen, server = spidered(script, ask)
    assert seen.response.body == b"ok"
    assert bodies == [b"a=1&b=2"]
    assert server.requests[0].startswith(b"POST / HTTP/1.1\r\n")
    assert b"Content-Length: 7\r\n" in server.requests[0]
    assert b"application/x-www-form-urlencoded" in server.requests[0]


def test_a_post_without_a_body_says_so() -> None:
    _, server = spidered(says_ok, lambda server: one(server, method="POST"))
    assert b"Content-Length: 0\r\n" in server.requests[0]


def test_a_post_is_never_sent_twice() -> None:
    """Not on a connection that the server closes as soon as it is used again, as a GET would be."""
    posts = []

    async def script(wire: Wire) -> None:
        if (await wire.said()).startswith(b"POST"):
            posts.append(wire)
            return
        await wire.say(OK)
        if (await wire.said()).startswith(b"POST"):
            posts.append(wire)

    def ask(server: Server) -> list[scrapy.Request]:
        return [
            scrapy.Request(server.url("/first"), priority=1),
            scrapy.Request(server.url("/post"), method="POST", body=b"x"),
        ]

    seen, _ = spidered(script, ask, CONCURRENT_REQUESTS=1)
    assert len(seen.responses) == 1
    assert [type(error) for error in seen.errors] == [DownloadFailedError]
    assert len(posts) == 1


def test_a_head_has_no_body_whatever_its_length_says() -> None:
    async def script(wire: Wire) -> None:
        while await wire.said():
            await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")

    seen, _ = spidered(script, lambda server: one(server, method="HEAD"))
    assert seen.response.body == b""
    assert seen.response.headers["Content-Length"] == b"5000"


def test_a_header_with_a_line_break_is_refused() -> None:
    seen, server = spidered(says_ok, lambda server: one(server, headers={"X": "1\r\nY: 2"}))
    assert "has a line break" in str(seen.error)
    assert not server.requests


def test_a_proxy_in_the_meta_is_refused() -> None:
    meta = {"proxy": "http://127.0.0.1:9"}
    seen, server = spidered(says_ok, lambda server: one(server, meta=meta))
    assert isinstance(seen.error, NotSupported)
    assert 'proxy = "..."' in str(seen.error)
    assert not server.requests


def test_a_body_that_is_too_long_is_cut_off() -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + bytes(50_000))

    seen, _ = spidered(script, one, DOWNLOAD_MAXSIZE=1000)
    assert isinstance(seen.error, DownloadCancelledError)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_body_that_breaks_off_is_wanted_or_not(wanted: bool) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nbegun")

    seen, _ = spidered(script, one, DOWNLOAD_FAIL_ON_DATALOSS=not wanted)
    if wanted:
        assert (seen.response.body, seen.response.flags) == (b"begun", ["dataloss"])
    else:
        assert isinstance(seen.error, DownloadFailedError)


def test_nobody_listens() -> None:
    seen, _ = spidered(says_ok, lambda _: [scrapy.Request("http://127.0.0.1:1/")])
    assert isinstance(seen.error, DownloadConnectionRefusedError)


def test_a_silent_server_is_late() -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.said()

    seen, _ = spidered(script, one, DOWNLOAD_TIMEOUT=0.5)
    assert isinstance(seen.error, DownloadTimeoutError)


def test_waiting_for_the_budget_is_no_lateness() -> None:
    """Two pages of 30 KB at 30 KB/s, each to be there in half a second."""

    async def script(wire: Wire) -> None:
        while await wire.said():
            await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + bytes(30_000))

    def ask(server: Server) -> list[scrapy.Request]:
        return [scrapy.Request(server.url(f"/{number}")) for number in range(2)]

    began = time.monotonic()
    seen, _ = spidered(script, ask, DOWNLOAD_TIMEOUT=0.5, HEADGATE_BANDWIDTH="30 KB/s")
    assert [len(response.body) for response in seen.responses] == [30_000] * 2
    assert time.monotonic() - began > 1.5


class Stopping(Asking):
    """Wants no more after the head, or the first piece."""

    name = "stopping"
    fail = False

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):  # type: ignore[no-untyped-def]
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.enough, signals.bytes_received)
        return spider

    def enough(self, data: bytes) -> None:
        assert data.startswith(b"begun")
        raise StopDownload(fail=self.fail)


@pytest.mark.parametrize("fail", [True, False])
def test_a_spider_may_stop_a_download(fail: bool) -> None:
    async def script(wire: Wire) -> None:
        await wire.said()
        await wire.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n")
        await asyncio.sleep(30)

    seen, _ = spidered(script, one, {"spider": Stopping, "fail": fail})
    if fail:
        assert isinstance(seen.error, StopDownload)
    else:
        assert (seen.response.body, seen.response.flags) == (b"begun", ["download_stopped"])
