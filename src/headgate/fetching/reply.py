"""One response, assembled from the pieces that the connection receives.

Memory: a head within its limit, a body within ``max_bytes``, and one receive buffer.
"""

from __future__ import annotations

from typing import Protocol

from headgate.fetching.body import Body, body_of
from headgate.fetching.framing import Framing
from headgate.fetching.head import Head
from headgate.fetching.limits import Limits
from headgate.fetching.wanted import Wanted
from headgate.reading.http_head import Fields

__all__ = ["Reply", "Witness"]


class Witness(Protocol):
    """Sees a response while it arrives, and may end it early."""

    def head(self, status: int, headers: Fields, length: int | None, /) -> bool:
        """``length`` of the body, if known."""
        ...

    def piece(self, part: bytes | memoryview) -> bool:
        """A piece of the body; the memory is reused afterwards."""
        ...


class Reply:
    """Feed it until it is complete; ``body`` exists once the head is complete."""

    __slots__ = ("_bodiless", "_max_bytes", "_wanted", "_witness", "body", "head")

    def __init__(
        self,
        max_bytes: int,
        limits: Limits,
        wanted: Wanted | None = None,
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
