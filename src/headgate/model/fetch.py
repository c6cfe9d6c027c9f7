"""One fetch: what is asked for, what came back, and how it can fail.

What every page makes anew, here and elsewhere, is a msgspec Struct: a frozen dataclass takes five
times as long to make, or longer, and the garbage collector looks at it again and again.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["FailureKind", "FetchFailure", "FetchRequest", "Fetched"]


class FailureKind(StrEnum):
    """Why no response could be had."""

    DNS = "dns"
    """The name does not resolve."""
    REFUSED = "refused"
    """Nobody listens, or the network says no."""
    TLS = "tls"
    """The certificate or the handshake is bad."""
    CONNECT_TIMEOUT = "connect-timeout"
    FIRST_BYTE_TIMEOUT = "first-byte-timeout"
    STALLED = "stalled"
    """Bytes stopped coming."""
    TOO_SLOW = "too-slow"
    """The whole fetch took longer than allowed."""
    CLOSED = "closed"
    """The connection ended inside the response."""
    BAD_HTTP = "bad-http"
    """What came is not HTTP/1.1: broken chunks, two lengths, endless headers."""
    FORBIDDEN_ADDRESS = "forbidden-address"
    """A private address that the user did not name."""
    BAD_URL = "bad-url"
    """Not a URL of http or https."""


class FetchRequest(msgspec.Struct, frozen=True, gc=False):
    """One GET."""

    url: str
    site: str
    """Whose share of the budget the bytes come from."""
    expected_bytes: int
    """What the response will take on the line, as far as is known: paid before it is sent."""
    max_bytes: int
    """Bytes of body taken at the most; the rest is cut off and the fetch marked truncated."""
    headers: tuple[tuple[str, str], ...] = ()
    """Beside Host, User-Agent, Accept, Accept-Encoding and Cookie: conditional ones, mostly."""


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """A response, with the exact bytes that an archive keeps."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    """As received, in order, names in lower case, values as Latin-1."""
    request_head: bytes
    """The request as sent, up to and with the empty line."""
    response_head: bytes
    """Status line and headers as received, up to and with the empty line."""
    payload: bytes
    """The body without transfer coding, still in its content coding."""
    address: str
    """The server's IP address."""
    wall_time: float
    """Seconds since 1970 when the request left."""
    first_byte_seconds: float
    """From the request's leaving to the first byte of the response."""
    seconds: float
    """From the request's leaving to the last byte."""
    wire_bytes: int
    """Bytes the line carried for it, headers of packets included, as near as can be had."""
    truncated: str = ""
    """Why the payload is not whole, in WARC's words: "length", "time", "disconnect"; "": it is."""

    def header(self, name: str) -> str | None:
        """The first value of a header; name in lower case."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class FetchFailure(msgspec.Struct, frozen=True, gc=False):
    """No response."""

    url: str
    kind: FailureKind
    detail: str
    wall_time: float = 0.0
    seconds: float = 0.0
    wire_bytes: int = 0
