"""What spiders fetch is archived as a crawl archives it, where that is asked for."""

from __future__ import annotations

import asyncio
import gzip
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import scrapy
from tests.integration.fetching.scripted import Server, Wire
from tests.integration.scrapy.spiders import BUDGET, crawled, spidered

import headgate
from headgate.engine.runs import JobKind, open_run
from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection

BODY = b"<title>Here</title><p>some words"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: id=hidden-1\r\n"


async def page(wire: Wire) -> None:
    while await wire.said():
        await wire.say(HEAD + f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)


def asked(server: Server) -> list[scrapy.Request]:
    secrets = {"Authorization": "Basic hidden-2", "Cookie": "a=hidden-3"}
    return [
        *(scrapy.Request(server.url(f"/{k}#top"), headers=secrets) for k in range(3)),
        scrapy.Request(server.url("/post"), method="POST"),
    ]


def test_pages_are_there_and_who_asked_is_not(tmp_path: Path) -> None:
    out = tmp_path / "data"
    for _ in range(2):
        seen, server = spidered(page, asked, HEADGATE_OUT=str(out))
        assert len(seen.responses) == 4
    pages = list(headgate.open(out).pages())
    assert len(pages) == 6, "each server had a port of its own"
    assert {server.url(f"/{k}") for k in range(3)} < {stored.url for stored in pages}
    assert all("some words" in stored.html for stored in pages)
    assert len(Collection(out).runs()) == 2
    assert all(not run.unfinished for run in Collection(out).runs())
    for run in Collection(out).runs():
        assert (run.path / "report.html").exists()
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    unpacked = b"".join(_records(path) for path in out.rglob("*.warc.gz"))
    assert b"Cookie: [redacted]" in unpacked
    for number in (1, 2, 3):
        assert f"hidden-{number}".encode() not in written + unpacked


def test_what_a_killed_spider_left_is_sealed_by_the_next(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    started = datetime.fromtimestamp(time.time() - 60, UTC)
    with collection.lock():
        killed = open_run(collection, JobKind.SCRAPY, b"{}", started, resume=False)
    spidered(page, asked, HEADGATE_OUT=str(tmp_path))
    assert not killed.unfinished
    assert (killed.path / "pages.parquet").exists()


def test_a_folder_that_others_use_is_refused(tmp_path: Path) -> None:
    with (
        Collection(tmp_path).lock(),
        pytest.raises(UserMistake, match=str(tmp_path)),
    ):
        asyncio.run(crawled({**BUDGET, "HEADGATE_OUT": str(tmp_path)}))


def test_what_a_crawl_left_unfinished_is_refused(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    with collection.lock():
        open_run(collection, JobKind.CRAWL, b"{}", datetime(2026, 1, 1, tzinfo=UTC), resume=False)
    with pytest.raises(UserMistake, match="has an unfinished crawl"):
        asyncio.run(crawled({**BUDGET, "HEADGATE_OUT": str(tmp_path)}))


def _records(path: Path) -> bytes:
    with gzip.open(path) as file:
        return file.read()
