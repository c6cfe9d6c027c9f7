"""One fetch: what is asked for, what came back, and how it can fail.

Values made once per page are msgspec Structs, here and elsewhere: a frozen dataclass takes five
times as long to make, and the garbage collector traverses it again and again.
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

__all__ = [
    "LEFT_OUT",
    "NOTHING_ANNOUNCED",
    "REDIRECTS",
    "Announced",
    "FailureKind",
    "FetchFailure",
    "FetchRequest",
    "Fetched",
    "TlsFacts",
]


REDIRECTS = frozenset((301, 302, 303, 307, 308))
"""Statuses of redirects. 300 is one for a page reader, if it says where to."""


class FailureKind(StrEnum):
    """Why there is no response."""

    DNS = "dns"
    """The name does not resolve."""
    REFUSED = "refused"
    """Nothing listens there, or the network is unreachable."""
    TLS = "tls"
    """The certificate or the handshake is bad."""
    CONNECT_TIMEOUT = "connect-timeout"
    FIRST_BYTE_TIMEOUT = "first-byte-timeout"
    STALLED = "stalled"
    """No bytes arrived for too long."""
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
    UNWANTED_TYPE = "unwanted-type"
    """The response is none of the types that were asked for."""
    TOO_LARGE = "too-large"
    """The body is larger than the user wants."""
    NOT_STORED = "not-stored"
    """It was fetched and its links were followed, but the user does not want it stored."""
    LOGIN = "login"
    """The site requires a login, and that failed."""


LEFT_OUT = frozenset((FailureKind.UNWANTED_TYPE, FailureKind.TOO_LARGE, FailureKind.NOT_STORED))
"""Not failures: the user does not want these."""


class FetchRequest(msgspec.Struct, frozen=True, gc=False):
    """One request, mostly a GET."""

    url: str
    site: str
    """Whose share of the budget the bytes come from."""
    expected_bytes: int
    """Estimate of the response's wire bytes, paid to the rate limiter before the request."""
    max_bytes: int
    """A longer body is cut off there, and the fetch marked truncated."""
    headers: tuple[tuple[str, str], ...] = ()
    """Besides Host, User-Agent, Accept, Accept-Encoding and Cookie: mostly conditional ones."""
    types: tuple[str, ...] = ()
    """Wanted media types, like "text/html" or "image/*"; empty: all."""
    whole_only: bool = False
    """A body of more than ``max_bytes`` is not wanted at all."""
    partial: bool = False
    """Where the connection breaks, what came of the body is returned, marked truncated."""
    most_seconds: float = math.inf
    """Time-out from sending to the last byte, where that is less than the fetcher's own."""
    method: str = "GET"
    """Any other is sent once, on a connection of its own: the server may have acted on it before
    the connection broke."""
    body: bytes = b""
    own_head: bool = False
    """``headers`` are complete but for Host and Content-Length: the caller writes all others and
    keeps the cookies."""


class TlsFacts(msgspec.Struct, frozen=True, gc=False):
    """What a server showed of itself in its TLS handshake."""

    version: str
    """Like "TLSv1.3"."""
    issuer: str = ""
    """Who signed its certificate: the organisation, else the name. Empty: it was not verified."""
    expires: float = 0.0
    """When the certificate does, in seconds since 1970; 0: it was not verified."""


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
    """Bytes on the line for this fetch, packet headers included, as near as can be measured."""
    truncated: str = ""
    """Why the payload is not whole, in WARC's words: "length", "time", "disconnect"; "": it is."""
    public: bool = True
    """Whether the address is a public one."""
    tls: TlsFacts | None = None
    """None: it came in the clear, or from an archive."""

    @property
    def coding(self) -> str:
        """The payload's codings in the order they were applied: all of Content-Encoding, then the
        transfer codings other than chunked."""
        content, transfer = [], []
        for name, value in self.headers:
            if name == "content-encoding":
                content.append(value)
            elif name == "transfer-encoding":
                transfer += [word for word in value.split(",") if word.strip().lower() != "chunked"]
        return ",".join(content + transfer) if transfer else ",".join(content)

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


class Announced(msgspec.Struct, frozen=True, gc=False):
    """What responses in progress have still to deliver, by their Content-Length."""

    wire_bytes: int = 0
    responses: int = 0
    """How many of them have a Content-Length."""


NOTHING_ANNOUNCED = Announced()
