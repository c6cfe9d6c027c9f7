"""One response, put together from whatever pieces the connection brings.

Memory: a head within its limit, a body within ``max_bytes``, and one receive buffer beyond.
"""

from __future__ import annotations

from headgate.fetching.body import Body, body_of
from headgate.fetching.head import Head
from headgate.fetching.limits import Limits
from headgate.fetching.wanted import Wanted

__all__ = ["Reply"]


class Reply:
    """Feed it until it is done; ``body`` is there once the head is whole."""

    __slots__ = ("_max_bytes", "_wanted", "body", "head")

    def __init__(self, max_bytes: int, limits: Limits, wanted: Wanted | None = None) -> None:
        self.head = Head(limits)
        self.body: Body | None = None
        self._max_bytes = max_bytes
        self._wanted = wanted

    @property
    def done(self) -> bool:
        return self.body is not None and self.body.done

    @property
    def reusable(self) -> bool:
        """Whether the connection may carry another request once this is done."""
        return self.body is not None and self.body.clean and self.head.framing.reusable

    def feed(self, buffer: bytearray, size: int) -> bool:
        """Take the buffer's first ``size`` bytes; true when the response is whole."""
        start = 0
        body = self.body
        if body is None:
            head = self.head
            buffer, start, size = head.feed(buffer, size)
            if not head.whole:
                return False
            body = self.body = body_of(head.framing, self._max_bytes)
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

    def end(self) -> bool:
        """The connection ended; true when that is a proper end of the response."""
        if self.body is not None:
            self.body.end()
        return self.done
