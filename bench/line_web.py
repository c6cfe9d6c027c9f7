"""What the far side of a shared line serves: sites without end, and a file for the user.

    python -m bench.line_web PORT

A page of a site links to thirty more that nobody has seen; its size is drawn by its number, most
are some ten kilobytes and a few some hundred, as pages are. ``/bytes/<n>`` is as many bytes,
``/stream`` goes on until the client hangs up. Ends when its standard input closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import zlib

import numpy as np
import uvloop

LINKS = 30
_SIZES = np.exp(np.random.default_rng(1).normal(9.6, 0.9, 4096)).clip(1_000, 400_000).astype(int)
_PROSE = b"The line is shared, and whoever uses it for work that can wait lets the others go. "
_CHUNK = bytes(64 * 1024)


def page(number: int) -> bytes:
    links = "".join(f'<a href="/{LINKS * number + k}">{k}</a>' for k in range(1, LINKS + 1))
    size = int(_SIZES[zlib.crc32(str(number).encode()) % len(_SIZES)])
    head = f"<title>{number}</title>{links}<p>{number} ".encode()
    return head + (_PROSE * (size // len(_PROSE) + 1))[: max(size - len(head), 0)]


async def _answer(path: bytes, writer: asyncio.StreamWriter) -> None:
    if path == b"/stream":
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(_CHUNK)
            await writer.drain()
    number = path.strip(b"/") or b"0"
    if path.startswith(b"/bytes/"):
        body = bytes(int(path.split(b"/")[2]))
    else:
        body = page(int(number)) if number.isdigit() else b""
    status = "200 OK" if body else "404 Not Found"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            await _answer(head.split(b" ", 2)[1], writer)
    writer.close()


async def _main(port: int) -> None:
    await asyncio.start_server(_serve, "0.0.0.0", port, backlog=1024)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(_main(int(sys.argv[1])))
