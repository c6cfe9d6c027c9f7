"""One request and its response: assembled from pieces, with times and time-outs."""

from __future__ import annotations

import asyncio
from typing import Protocol

from headgate.fetching.errors import FetchFault
from headgate.fetching.limits import Limits
from headgate.fetching.metering import ResponseMeter
from headgate.fetching.response import Body, Framing, Head, ResponseFilter, body_of
from headgate.model.fetch import FailureKind, FetchRequest
from headgate.reading.http_head import Fields

__all__ = ["Exchange", "Reply", "Witness"]

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
