"""One request and its response, with their times and time-outs."""

from __future__ import annotations

import asyncio

from headgate.fetching.faults import FetchFault
from headgate.fetching.limits import Limits
from headgate.fetching.reply import Reply
from headgate.fetching.tap import Tap
from headgate.model.fetch import FailureKind, FetchRequest

__all__ = ["Exchange"]

_PARTIAL = {
    FailureKind.CLOSED: "disconnect",
    FailureKind.TOO_SLOW: "time",
}


class Exchange:
    """Times are monotonic seconds; 0: not yet."""

    __slots__ = (
        "expected",
        "finished",
        "first_byte",
        "latest",
        "most_seconds",
        "over",
        "partial",
        "reply",
        "sent",
        "site",
        "tap",
        "waiting_since",
        "wire_bytes",
    )

    def __init__(self, request: FetchRequest, reply: Reply) -> None:
        self.site = request.site
        self.expected = request.expected_bytes
        self.most_seconds = request.most_seconds
        self.partial = request.partial
        self.reply = reply
        self.tap: Tap | None = None
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
