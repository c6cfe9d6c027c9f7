"""One request and its response: assembled from pieces, with times and time-outs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from headgate.fetching.cookies import CookieJar, names_a_domain, public_suffixes
from headgate.fetching.errors import FetchFault
from headgate.fetching.identity import Identity
from headgate.fetching.limits import Limits
from headgate.fetching.meter import ResponseMeter
from headgate.fetching.origin import Origin
from headgate.fetching.response import Body, Framing, Head, ResponseFilter, body_of
from headgate.model.fetch import FailureKind, FetchRequest
from headgate.reading.http_head import Fields

__all__ = ["Exchange", "Reply", "RequestHeads", "Witness"]

_PARTIAL = {
    FailureKind.CLOSED: "disconnect",
    FailureKind.TOO_SLOW: "time",
}


class Exchange:
    """One request and its response, with their times and time-outs.

    Times are monotonic seconds; 0: not yet.
    """

    __slots__ = (
        "expected",
        "finished",
        "first_byte",
        "latest",
        "most_seconds",
        "over",
        "partial",
        "reply",
        "response_meter",
        "sent",
        "site",
        "waiting_since",
        "wire_bytes",
    )

    def __init__(self, request: FetchRequest, reply: Reply) -> None:
        self.site = request.site
        self.expected = request.expected_bytes
        self.most_seconds = request.most_seconds
        self.partial = request.partial
        self.reply = reply
        self.response_meter: ResponseMeter | None = None
        """None: the site has no limit."""
        self.over: asyncio.Future[None]
        self.sent = 0.0
        self.first_byte = 0.0
        self.latest = 0.0
        """Time of the last arrival, or of sending the request."""
        self.finished = 0.0
        self.waiting_since = 0.0
        """When the waiting claim was made; 0: there is none."""
        self.wire_bytes = 0

    def overdue(self, limits: Limits, now: float) -> FetchFault | None:
        """The time-out that has expired; None while we wait for credit ourselves."""
        if self.waiting_since:
            return None
        most_seconds = min(limits.total_seconds, self.most_seconds)
        if now - self.sent > most_seconds:
            return FetchFault(FailureKind.TOO_SLOW, f"not done in {most_seconds:g} s")
        if not self.first_byte:
            if now - self.sent > limits.first_byte_seconds:
                late = f"no answer in {limits.first_byte_seconds:g} s"
                return FetchFault(FailureKind.FIRST_BYTE_TIMEOUT, late)
        elif now - self.latest > limits.stall_seconds:
            late = f"nothing more in {limits.stall_seconds:g} s"
            return FetchFault(FailureKind.STALLED, late)
        return None

    def resume(self, now: float) -> None:
        """Credit was granted: the time in line does not count against the server."""
        waited = now - self.waiting_since
        self.sent += waited
        if self.first_byte:
            self.first_byte += waited
        self.latest = now
        self.waiting_since = 0.0

    def succeed(self) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def fail(self, fault: FetchFault) -> None:
        """End it: with a truncated body if that is wanted, else with the fault."""
        body = self.reply.body
        kept = self.partial and fault.kind in _PARTIAL and not fault.later
        if kept and body is not None and not body.empty:
            body.truncated = _PARTIAL[fault.kind]
            body.clean = False
            self.succeed()
        elif not self.over.done():
            self.over.set_exception(fault)


class Witness(Protocol):
    """Sees a response while it arrives, and may end it early."""

    def head(self, status: int, headers: Fields, length: int | None, /) -> bool:
        """``length`` of the body, if known."""
        ...

    def piece(self, part: bytes | memoryview) -> bool:
        """A piece of the body; the memory is reused afterwards."""
        ...


class Reply:
    """One response, assembled from the pieces that the connection receives.

    Memory: a head within its limit, a body within ``max_bytes``, and one receive buffer.

    Feed it until it is complete; ``body`` exists once the head is complete.
    """

    __slots__ = ("_bodiless", "_max_bytes", "_wanted", "_witness", "body", "head")

    def __init__(
        self,
        max_bytes: int,
        limits: Limits,
        wanted: ResponseFilter | None = None,
        witness: Witness | None = None,
        *,
        bodiless: bool = False,
    ) -> None:
        """``bodiless``: the request was HEAD, so no body follows whatever the length."""
        self.head = Head(limits)
        self.body: Body | None = None
        self._max_bytes = max_bytes
        self._wanted = wanted
        self._witness = witness
        self._bodiless = bodiless

    @property
    def done(self) -> bool:
        return self.body is not None and self.body.done

    @property
    def reusable(self) -> bool:
        """Whether the connection can be used again after this response."""
        return self.body is not None and self.body.clean and self.head.framing.reusable

    def feed(self, buffer: bytearray, size: int) -> bool:
        """Take the buffer's first ``size`` bytes; true when the response is complete."""
        start = 0
        body = self.body
        if body is None:
            head = self.head
            buffer, start, size = head.feed(buffer, size)
            if not head.whole:
                return False
            body = self.body = self._begun_body()
            if self._wanted is not None:
                self._wanted.judge(head.status, head.headers, body.awaited)
        if start < size:
            if body.done:
                body.clean = False
            else:
                body.feed(memoryview(buffer)[start:size])
                if self._wanted is not None:
                    self._wanted.judge_cut(body.truncated)
        return body.done

    def _begun_body(self) -> Body:
        head, framing = self.head, self.head.framing
        if self._bodiless:
            framing = Framing(0, chunked=False, reusable=framing.reusable)
        body = body_of(framing, self._max_bytes)
        if self._witness is not None:
            body.witness = self._witness.piece
            if self._witness.head(head.status, head.headers, body.awaited):
                body.stop()
        return body

    def end(self) -> bool:
        """The connection ended; true if that completes the response."""
        if self.body is not None:
            self.body.end()
        return self.done


_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[!-~\xa0-\xff](?:[\t -~\xa0-\xff]*[!-~\xa0-\xff])?")
"""RFC 9110 5.5. Values that a server or a file gave us may be anything."""
_HAVE_BODIES = frozenset(("POST", "PUT", "PATCH"))
_OURS = frozenset(("content-length", "host", "transfer-encoding"))
"""Headers that only we set: others could repeat them or change where a body ends."""


class RequestHeads:
    """Heads of requests, with cookies.

    Each site has its own cookie jar: cookies are not shared between sites.

    The request heads of one fetcher; cookies live as long as it does.
    """

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
