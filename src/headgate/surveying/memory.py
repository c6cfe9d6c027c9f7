"""What a survey reads from a log: its own, if it was interrupted, or that of an earlier survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headgate.surveying.entries import SurveyEntry

__all__ = ["NO_MEMORY", "Memory", "ServerRecord"]


@dataclass(slots=True)
class ServerRecord:
    """Requests to a server."""

    requests: int = 0
    wire_bytes: int = 0
    silent: str = ""
    """Why it never answered; empty: it did."""


class Memory(Protocol):
    def find(self, url: str) -> SurveyEntry | None:
        """The latest entry of a page."""
        ...

    def server(self, domain: str) -> ServerRecord | None: ...


class _NoMemory:
    def find(self, url: str) -> SurveyEntry | None:  # noqa: ARG002 - whatever it is
        return None

    def server(self, domain: str) -> ServerRecord | None:  # noqa: ARG002
        return None


NO_MEMORY: Memory = _NoMemory()
"""For a first survey."""
