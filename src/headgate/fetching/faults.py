"""A fetch that failed, on its way from where it happened to `http`, which makes a value of it."""

from __future__ import annotations

from headgate.model.errors import WorldFault
from headgate.model.fetch import FailureKind

__all__ = ["FetchFault"]


class FetchFault(WorldFault):
    """Why no response could be had."""

    def __init__(
        self, kind: FailureKind, detail: str, *, untouched: bool = False, later: bool = False
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.untouched = untouched
        """Whether a kept connection ended before a byte of the response: worth a fresh one."""
        self.later = later
        """Whether we broke it off ourselves, to ask again in its turn."""
        self.wire_bytes = 0
        """What the line carried for nothing."""
