"""The exception for a failed fetch; `client` turns it into a value."""

from __future__ import annotations

from headgate.model.errors import WorldFault
from headgate.model.fetch import FailureKind

__all__ = ["FetchFault"]


class FetchFault(WorldFault):
    """Why there is no response."""

    def __init__(
        self,
        kind: FailureKind,
        detail: str,
        *,
        untouched: bool = False,
        later: bool = False,
        wire_bytes: int = 0,
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.untouched = untouched
        """Whether a kept connection ended before the first byte of the response: a new one may
        work."""
        self.later = later
        """Whether we aborted it ourselves, to request it again in its turn."""
        self.wire_bytes = wire_bytes
        """Wire bytes received in vain."""

    def on(self, connection: str, wire_bytes: int) -> FetchFault:
        """The same fault as whoever sent the request knows it: on which connection, in words, and
        after how many wire bytes."""
        return FetchFault(
            self.kind,
            connection + self.detail,
            untouched=self.untouched,
            later=self.later,
            wire_bytes=wire_bytes,
        )
