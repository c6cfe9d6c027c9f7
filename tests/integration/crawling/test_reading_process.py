"""Reading aside: sites take turns in the one process that reads large pages."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.open_files import files_opened_up_to

from headgate.crawling import reading_process
from headgate.crawling.reading_process import read_aside


def test_a_site_waits_for_one_page_of_another() -> None:
    ended: list[str] = []

    async def read(site: str) -> None:
        await read_aside(site, time.sleep, 0.05)
        ended.append(site)

    async def run() -> None:
        many = [asyncio.create_task(read("dear")) for _ in range(8)]
        while not ended:
            await asyncio.sleep(0.01)
        done = len(ended)
        await read("honest")
        assert len(ended) - done <= 3  # the one under way, the next in line, and itself
        await asyncio.gather(*many)

    asyncio.run(run())


def test_a_crawl_with_thousands_of_open_files_reads_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        reading_process, "_ASIDE", reading_process._Aside()
    )  # its child is yet to come
    with files_opened_up_to(1_024):
        assert asyncio.run(read_aside("docs", sorted, [2, 1])) == [1, 2]
