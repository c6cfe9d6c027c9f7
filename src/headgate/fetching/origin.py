"""Splits a URL into the origin to connect to and the target to request.

URLs come here in their normal form (`reading.urls`): scheme and host in lower case, everything
ASCII. This module only splits them, and refuses what could inject a line into a request.
"""

from __future__ import annotations

import re

import msgspec

from headgate.fetching.errors import FetchFault
from headgate.model.fetch import FailureKind

__all__ = ["Origin", "Origins"]

_AUTHORITY = re.compile(r"(?:[^@]*@)?(?P<host>\[[0-9a-f:.]+\]|[^:@\[\]]+)(?::(?P<port>\d{0,5}))?")
_UNSAFE = re.compile(r"[^!-~]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_REMEMBERED, _LONGEST = 4096, 300
"""Authorities, and characters of one: most of a host's name, and few of a user's."""


class Origin(msgspec.Struct, frozen=True):
    """Scheme, host, port."""

    secure: bool
    host: str
    """A name, or an address without brackets."""
    port: int
    host_line: str
    """Value of the Host header."""
    via: str = ""
    """The site, if it uses its own proxy or certificate there; else empty."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Origins:
    """Splits URLs; caches authorities."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Origin] = {}

    def locate(self, url: str) -> tuple[Origin, str]:
        """The origin, and the target of the request line.

        >>> origin, target = Origins().locate("https://example.org:8443?q=1#top")
        >>> origin.host, origin.port, target
        ('example.org', 8443, '/?q=1')
        """
        scheme, found, rest = url.partition("://")
        if not found:
            raise FetchFault(FailureKind.BAD_URL, "not an absolute URL")
        rest, _, _ = rest.partition("#")
        authority, slash, path = rest.partition("/")
        target = slash + path
        if "?" in authority:
            authority, _, query = rest.partition("?")
            target = f"/?{query}"
        if _UNSAFE.search(target):
            raise FetchFault(FailureKind.BAD_URL, "spaces, controls or non-ASCII in the path")
        key = f"{scheme}://{authority}"
        origin = self._known.get(key)
        if origin is None:
            origin = _origin(scheme, authority)
            if len(authority) <= _LONGEST:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[key] = origin
        return origin, target or "/"


def _origin(scheme: str, authority: str) -> Origin:
    if scheme not in _DEFAULT_PORTS:
        raise FetchFault(FailureKind.BAD_URL, f"scheme {scheme!r} is neither http nor https")
    match = _AUTHORITY.fullmatch(authority)
    if match is None or _UNSAFE.search(match["host"]):
        raise FetchFault(FailureKind.BAD_URL, f"{authority!r} is no host")
    port = int(match["port"] or _DEFAULT_PORTS[scheme])
    if not 0 < port < 65536:
        raise FetchFault(FailureKind.BAD_URL, f"{port} is no port")
    host_line = match["host"] if port == _DEFAULT_PORTS[scheme] else f"{match['host']}:{port}"
    return Origin(scheme == "https", match["host"].strip("[]"), port, host_line)
