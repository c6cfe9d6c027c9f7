"""Posts JSON to a URL that the user named.

One request on its own connection, with limits on time and on what is read of the response.
Redirects are not followed, so that only the host that the user named is contacted; it may be
private.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult, unquote, urlsplit

from headgate.fetching.tls import trusting_context

__all__ = ["PostAnswer", "post_json"]

_MOST_HEAD = 16_384


@dataclass(frozen=True, slots=True)
class PostAnswer:
    status: int
    """0: there was no response."""
    problem: str = ""
    """Why, in a few words."""


async def post_json(url: str, document: bytes, seconds: float, agent: str) -> PostAnswer:
    """The server's answer, within ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            return await _post(url, document, agent)
    except TimeoutError:
        return PostAnswer(0, f"no answer in {seconds:g} seconds")
    except ssl.SSLCertVerificationError as error:
        return PostAnswer(0, f"its certificate: {error.verify_message}")
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return PostAnswer(0, str(error) or type(error).__name__)


async def _post(url: str, document: bytes, agent: str) -> PostAnswer:
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme.lower() == "https"
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(
        host, port, limit=_MOST_HEAD, ssl=_context() if secure else None
    )
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
            f"User-Agent: {agent}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(document)}\r\n{_authorization(parts)}Connection: close\r\n\r\n"
        )
        writer.write(head.encode("ascii") + document)
        await writer.drain()
        return _read(await reader.readuntil(b"\n"))
    finally:
        writer.close()
        with suppress(OSError):
            await asyncio.wait_for(writer.wait_closed(), 1.0)


def _authorization(parts: SplitResult) -> str:
    """Of ``https://name:password@host/``."""
    if parts.username is None:
        return ""
    name, password = unquote(parts.username), unquote(parts.password or "")
    return f"Authorization: Basic {b64encode(f'{name}:{password}'.encode()).decode()}\r\n"


def _read(line: bytes) -> PostAnswer:
    words = line.split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return PostAnswer(0, "what answers there is no HTTP server")
    return PostAnswer(int(words[1][:3]))


@cache
def _context() -> ssl.SSLContext:
    """Reading the store of certificates takes a while."""
    return trusting_context()
