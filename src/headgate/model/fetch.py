"""One fetch: what is asked for, what came back, and how it can fail.

What every page makes anew, here and elsewhere, is a msgspec Struct: a frozen dataclass takes five
times as long to make, or longer, and the garbage collector looks at it again and again.
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

__all__ = [
    "LEFT_OUT",
    "NOTHING_ANNOUNCED",
    "Announced",
    "FailureKind",
    "FetchFailure",
    "FetchRequest",
    "Fetched",
    "TlsFacts",
]


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
    UNWANTED_TYPE = "unwanted-type"
    """The response is none of the types that were asked for."""
    TOO_LARGE = "too-large"
    """It is larger than was asked for."""
    NOT_STORED = "not-stored"
    """It came, and its links were followed; it is not among what is to be kept."""
    LOGIN = "login"
    """The site wants us to log in first, and that failed."""


LEFT_OUT = frozenset((FailureKind.UNWANTED_TYPE, FailureKind.TOO_LARGE, FailureKind.NOT_STORED))
"""Nothing failed: the user did not want it."""


class FetchRequest(msgspec.Struct, frozen=True, gc=False):
    """One GET, or another method."""

    url: str
    site: str
    """Whose share of the budget the bytes come from."""
    expected_bytes: int
    """What the response will take on the line, as far as is known: paid before it is sent."""
    max_bytes: int
    """Bytes of body taken at the most; the rest is cut off and the fetch marked truncated."""
    headers: tuple[tuple[str, str], ...] = ()
    """Beside Host, User-Agent, Accept, Accept-Encoding and Cookie: conditional ones, mostly."""
    types: tuple[str, ...] = ()
    """Media types that are wanted, like "text/html" or "image/*"; none: all are."""
    whole_only: bool = False
    """A page of more than ``max_bytes`` is not wanted at all."""
    partial: bool = False
    """A body that breaks off is wanted as far as it came, marked truncated."""
    most_seconds: float = math.inf
    """From the request's leaving to the last byte, where that is less than the fetcher's limit."""
    method: str = "GET"
    """Any other is sent once, on a connection of its own: a server may have done what it was asked
    for before it hung up."""
    body: bytes = b""
    own_head: bool = False
    """The headers are all that is said beside the host and the length of the body: whoever asks
    writes the rest, and keeps the cookies."""


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
    """Bytes the line carried for it, headers of packets included, as near as can be had."""
    truncated: str = ""
    """Why the payload is not whole, in WARC's words: "length", "time", "disconnect"; "": it is."""
    public: bool = True
    """Whether the address is one of the Internet at large."""
    tls: TlsFacts | None = None
    """None: it came in the clear, or from an archive."""

    @property
    def coding(self) -> str:
        """What the payload is coded in, in the order it was done: all lines of Content-Encoding,
        then the transfer codings that stay on."""
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
    """What responses under way have still to bring, by their own word."""

    wire_bytes: int = 0
    responses: int = 0
    """That said how long they are."""


NOTHING_ANNOUNCED = Announced()
