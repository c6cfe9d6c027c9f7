"""Cookies of a stranger's own spelling: what is sent back to him is in no archive."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
from pathlib import Path

import uvloop
from tests.integration.fetching.scripted import Wire, page, serving

SPELLINGS = (
    b"Set-Cookie : blank=secret-1; Path=/\r\n",
    b"Set-Cookie: folded=\r\n secret-2; Path=/\r\n",
    b"Set-Cookie:\r\n\tfolded-too=secret-3\r\n",
    b"SET-cookie\t: tab=secret-4\r\n",
    b"Set-Cookie: ;semicolon=secret-5; Secure\r\n",
    b"Set-Cookie: two=secret-6; other=secret-7\r\n",
    b"Set-Cookie: secret-8\r\n",
)


def test_what_is_read_as_a_cookie_is_archived_without_its_value(tmp_path: Path) -> None:
    sent: list[bytes] = []

    async def stranger(wire: Wire) -> None:
        while request := await wire.said():
            sent.append(request)
            head = b"".join(SPELLINGS) + b"Content-Type: text/html"
            await wire.say(page(b"<a href=/next>next</a>", head))

    async def honest(wire: Wire) -> None:
        while await wire.said():
            await wire.say(page(b"<p>secret-9, in the text", b"Content-Type: text/html"))

    async def session() -> None:
        async with serving(stranger) as bad, serving(honest) as good:
            file = tmp_path / "sites.toml"
            file.write_text(
                f"[site.bad]\nseeds = ['{bad.url()}']\nheaders = ['X-Key: env:KEY']\n"
                f"[site.good]\nseeds = ['{good.url()}']\n"
            )
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "headgate", "crawl", file, "--out", tmp_path / "data",
                "--quiet", env={**os.environ, "KEY": "secret-0"},
            )  # fmt: skip
            assert await child.wait() == 0

    uvloop.run(session())
    back = [line for line in sent[-1].split(b"\r\n") if line.startswith(b"Cookie: ")]
    read = {pair.strip() for pair in back[0].removeprefix(b"Cookie: ").split(b";")}
    assert {b"blank=secret-1", b"folded=secret-2", b"tab=secret-4"} <= read, "a cookie, to us"
    archived = b"".join(map(_unpacked, tmp_path.glob("data/runs/*/warc/*.warc.gz")))
    for number in range(9):
        assert b"secret-%d" % number not in archived, number
    assert b"secret-9" in archived, "pages are stored as they came"
    assert b"Set-Cookie: blank=[redacted]; Path=/" in archived


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        return file.read()
