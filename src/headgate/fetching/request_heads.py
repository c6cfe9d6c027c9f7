"""Heads of requests, with cookies.

Each site has its own cookie jar: cookies are not shared between sites.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence

from headgate.fetching.cookies import CookieJar, names_a_domain, public_suffixes
from headgate.fetching.exchange import Reply
from headgate.fetching.identity import Identity
from headgate.fetching.origin import Origin
from headgate.model.fetch import FetchRequest

__all__ = ["RequestHeads"]

_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[!-~\xa0-\xff](?:[\t -~\xa0-\xff]*[!-~\xa0-\xff])?")
"""RFC 9110 5.5. Values that a server or a file gave us may be anything."""
_HAVE_BODIES = frozenset(("POST", "PUT", "PATCH"))
_OURS = frozenset(("content-length", "host", "transfer-encoding"))
"""Headers that only we set: others could repeat them or change where a body ends."""


class RequestHeads:
    """The request heads of one fetcher; cookies live as long as it does."""

    def __init__(
        self,
        user_agent: str,
        accept: str,
        identities: Mapping[str, Identity],
        wall: Callable[[], float],
    ) -> None:
        """``wall``: of the clock, by which cookies expire."""
        self._wall = wall
        self._same_lines = (
            f"User-Agent: {user_agent}\r\nAccept: {accept}\r\n"
            "Accept-Encoding: gzip, deflate, br, zstd\r\n"
        )
        self._identities = identities
        self._jars = {site: identity.jar for site, identity in identities.items()}
        self._knows_suffixes = False

    def write(self, request: FetchRequest, origin: Origin, target: str) -> bytes:
        same, asked, host = self._same_lines, target, origin.host_line
        if request.own_head:
            same, host = _own_lines(request.headers), _own_host(request.headers) or host
        identity = self._identities.get(request.site)
        if identity is not None:
            same, asked = identity.lines(origin, same), identity.target(origin, target)
        lines = f"{request.method} {asked} HTTP/1.1\r\nHost: {host}\r\n{same}"
        if not request.own_head:
            lines += self._usual_lines(request, origin, target)
        if request.body or request.method in _HAVE_BODIES:
            lines += f"Content-Length: {len(request.body)}\r\n"
        return f"{lines}\r\n".encode("latin-1", "replace")

    def _usual_lines(self, request: FetchRequest, origin: Origin, target: str) -> str:
        lines = ""
        jar = self._jars.get(request.site)
        if jar is not None:
            cookies = jar.header(origin.host, target, secure=origin.secure, now=self._wall())
            if cookies:
                lines += f"Cookie: {cookies}\r\n"
        for name, value in request.headers:
            if _FIELD_VALUE.fullmatch(value):
                lines += f"{name}: {value}\r\n"
        return lines

    def archived(self, site: str, request: bytes, response: bytes) -> tuple[bytes, bytes]:
        """Heads of a request and its response without secrets."""
        identity = self._identities.get(site)
        if identity is None:
            return request, response
        return identity.redacted(request), identity.redacted_response(response)

    async def keep_cookies(self, site: str, origin: Origin, target: str, reply: Reply) -> None:
        for name, value in reply.head.headers:
            if name == "set-cookie":
                if not self._knows_suffixes and names_a_domain(value):
                    await asyncio.to_thread(public_suffixes)
                    self._knows_suffixes = True
                jar = self._jars.setdefault(site, CookieJar())
                jar.store(origin.host, target, value, self._wall())


def _own_lines(headers: Sequence[tuple[str, str]]) -> str:
    """Header lines from others; those that could inject a line are left out.

    >>> _own_lines([("X-A", "1"), ("X-B", "1\\r\\nX-C: 2"), ("Content-Length", "9"), ("X-D", "")])
    'X-A: 1\\r\\nX-D: \\r\\n'
    """
    lines = ""
    for name, value in headers:
        fine = _FIELD_NAME.fullmatch(name) and (not value or _FIELD_VALUE.fullmatch(value))
        if fine and name.lower() not in _OURS:
            lines += f"{name}: {value}\r\n"
    return lines


def _own_host(headers: Sequence[tuple[str, str]]) -> str:
    hosts = (value for name, value in headers if name.lower() == "host")
    return next((host for host in hosts if _FIELD_VALUE.fullmatch(host)), "")
