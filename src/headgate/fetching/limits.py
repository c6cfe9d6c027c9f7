"""Limits for servers: seconds, bytes, connections."""

from __future__ import annotations

import msgspec

__all__ = ["Limits"]


class Limits(msgspec.Struct, frozen=True):
    """Limits for servers: seconds, bytes, connections.

    Time spent waiting for our own credit does not count: a small budget is no slow server.

    Bounds of every fetch.
    """

    connect_seconds: float = 15.0
    """Name, TCP and TLS together."""
    first_byte_seconds: float = 30.0
    stall_seconds: float = 30.0
    """Between two arrivals."""
    total_seconds: float = 600.0
    """From sending the request to the last byte."""
    head_bytes: int = 64 * 1024
    """Status line and headers, provisional responses included."""
    head_lines: int = 256
    connections_per_host: int = 8
    idle_seconds: float = 30.0
    """How long an unused connection is kept."""
    idle_connections: int = 1024
    """Maximum number of unused connections, over all hosts; fewer if only few files may be open."""
