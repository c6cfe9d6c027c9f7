"""Titles of a stranger's: what others are shown of the honest site stays readable."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from xml.etree import ElementTree

import uvloop
from tests.acceptance.running import headgate
from tests.integration.fetching.scripted import Wire, page, serving

TITLE = "\ufffe\uffff\x00\x0b\x1b[2J</title><entry/>"


def test_one_title_does_not_hide_the_changes_of_all_sites(tmp_path: Path) -> None:
    links = [b"<p>nothing yet"]

    def titled(title: str) -> Callable[[Wire], Awaitable[None]]:
        async def script(wire: Wire) -> None:
            while request := await wire.said():
                path = request.split()[1]
                body = links[0] if path == b"/" else f"<title>{title}</title>".encode()
                await wire.say(page(body, b"Content-Type: text/html"))

        return script

    async def session() -> None:
        async with (
            serving(titled(TITLE)) as bad,
            serving(titled("Honest"), host="127.0.0.2") as good,
        ):
            urls = bad.url(), good.url(host="127.0.0.2")
            for _ in range(2):
                child = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "headgate", "crawl", *urls, "--out", tmp_path, "--quiet"
                )
                assert await child.wait() == 0
                links[0] = b"<a href=/2>new</a>"

    uvloop.run(session())
    done = headgate("changes", tmp_path, "--format", "atom")
    assert done.returncode == 0, done.stderr
    feed = ElementTree.fromstring(done.stdout)
    titles = [title.text or "" for title in feed.iter("{http://www.w3.org/2005/Atom}title")]
    assert "new: Honest" in titles
    assert sum(title.startswith("new: ") for title in titles) == 2, "and the stranger's"
