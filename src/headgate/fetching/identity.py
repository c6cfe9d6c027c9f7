"""Credentials of a site: made from `Access` in the process that sends requests, and only there.

They are removed from what is archived: the values of Authorization, Cookie and the user's own
headers in requests, and of cookies that responses set.
"""

from __future__ import annotations

import asyncio
import os
import re
from base64 import b64encode
from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from headgate.fetching.cookies import REDACTED, CookieJar, read_cookies, without_value
from headgate.fetching.errors import FetchFault
from headgate.fetching.origin import Origin
from headgate.fetching.proxy import Proxy
from headgate.fetching.tls import Tls
from headgate.model.errors import UserMistake
from headgate.model.fetch import FailureKind
from headgate.model.site import Access
from headgate.reading.http_head import with_values

if TYPE_CHECKING:
    from headgate.fetching.login import Ask

__all__ = ["Identity", "identities", "without_secrets"]

_MOST_SECRET_BYTES = 65_536
_MOST_COOKIE_BYTES = 4_000_000
_SENDABLE = re.compile(r"[!-~](?:[\t -~]*[!-~])?")
_USER_AGENT = re.compile(r"^User-Agent: [^\r\n]*\r\n")
_SECRETS = frozenset(("authorization", "cookie", "proxy-authorization"))


class Identity:
    """The credentials of one site."""

    def __init__(self, site: str, access: Access, named: Iterable[str]) -> None:
        """``named``: the user's URLs (seeds and login); only their hosts get the credentials.
        Raises `UserMistake` for a secret that is missing or unusable."""
        self._site = site
        self.access = access
        urls = [urlsplit(url) for url in named]
        self._hosts = frozenset(url.hostname for url in urls)
        self._plain_hosts = frozenset(url.hostname for url in urls if url.scheme == "http")
        self.jar = _jar(access)
        self.proxy = Proxy.parse(_secret(access.proxy)) if access.proxy else None
        self._own = _own_lines(access)
        self.entering = asyncio.Lock()
        """Held during a login."""
        self.entered = not access.login
        self.refused = ""
        """Why logging in failed."""

    @cached_property
    def login_fields(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.access.login_fields)
        return {name: _secret(value) for name, _, value in pairs}

    async def enter(self, site: str, ask: Ask) -> None:
        """Log in, once; raises `FetchFault` if that failed, now or before."""
        if self.entered:
            return
        async with self.entering:
            if not self.entered and not self.refused:
                from headgate.fetching.login import log_in  # here: few crawls need it

                self.refused = await log_in(site, self.access.login, self.login_fields, ask)
                self.entered = not self.refused
        if self.refused:
            raise FetchFault(FailureKind.LOGIN, self.refused)

    def tls(self, settings: Tls) -> Tls:
        """The TLS settings for connections of this site."""
        if not self.access.client_certificate:
            return settings
        return settings.with_certificate(self.access.client_certificate)

    def route(self, origin: Origin) -> Origin:
        """The origin; with its own connections if the site has its own proxy or certificate."""
        if self.proxy is None and not self.access.client_certificate:
            return origin
        return replace(origin, via=self._site)

    def target(self, origin: Origin, target: str) -> str:
        """The target of the request line: a proxy needs the whole URL."""
        if self.proxy is None or not self.proxy.asks_itself(origin):
            return target
        return f"http://{origin.host_line}{target}"

    def lines(self, origin: Origin, usual: str) -> str:
        """Header lines: the ``usual`` ones as changed by this site, and its own for hosts that may
        get them."""
        if self.access.user_agent:
            own = f"User-Agent: {self.access.user_agent}\r\n"
            usual = _USER_AGENT.sub(lambda _: own, usual)
        if self.proxy is not None and self.proxy.asks_itself(origin):
            usual += self.proxy.authorization
        if self._may_know(origin):
            usual += "".join(f"{name}: {value}\r\n" for name, value in self._own.items())
        return usual

    def _may_know(self, origin: Origin) -> bool:
        """Credentials for https are not sent over http, even if a link leads there."""
        return origin.host in (self._hosts if origin.secure else self._plain_hosts)

    def redacted(self, request_head: bytes) -> bytes:
        return _without_values(request_head, _SECRETS.union(map(str.lower, self._own)))

    def redacted_response(self, head: bytes) -> bytes:
        return _without_cookies(head)


def without_secrets(request: bytes, response: bytes) -> tuple[bytes, bytes]:
    """Heads written by other programs, without credentials.

    >>> without_secrets(b"GET / HTTP/1.1\\r\\nCookie: a=1\\r\\n", b"set-cookie: a=2; path=/\\r\\n")
    (b'GET / HTTP/1.1\\r\\nCookie: [redacted]\\r\\n', b'set-cookie: a=[redacted]; path=/\\r\\n')
    """
    return _without_values(request, _SECRETS), _without_cookies(response)


# Heads are read here as they are for cookies and all else (`reading.http_head`): what is no secret
# to a pattern may be one to that.


def _without_values(head: bytes, names: Container[str]) -> bytes:
    return with_values(head, lambda field: REDACTED if field[0] in names else None)


def _without_cookies(head: bytes) -> bytes:
    if b"set-cookie" not in head.lower():
        return head
    return with_values(
        head, lambda field: without_value(field[1]) if field[0] == "set-cookie" else None
    )


def identities(
    access: Iterable[tuple[str, Access, tuple[str, ...]]],
) -> Mapping[str, Identity]:
    """Identities by site, for sites that have any."""
    found = {}
    for site, theirs, named in access:
        try:
            found[site] = Identity(site, theirs, named)
        except UserMistake as mistake:
            raise UserMistake(f"site {site!r}: {mistake}") from None
    return found


def _jar(access: Access) -> CookieJar:
    if not access.cookies:
        return CookieJar()
    return read_cookies(_file(access.cookies, _MOST_COOKIE_BYTES), access.cookies)


def _own_lines(access: Access) -> dict[str, str]:
    lines = {}
    for header in access.headers:
        name, _, value = header.partition(":")
        lines[name] = _secret(value.strip())
    if access.auth:
        kind, _, where = access.auth.partition(" ")
        secret = _secret(where)
        if kind == "basic" and ":" not in secret:
            raise UserMistake(f"auth: {where} has no colon; it is to be name:password")
        words = b64encode(secret.encode()).decode() if kind == "basic" else secret
        lines["Authorization"] = f"{kind.capitalize()} {words}"
    for name, value in lines.items():
        if not _SENDABLE.fullmatch(value):
            raise UserMistake(f"the value of {name} cannot stand in a header: one line of ASCII")
    return lines


def _secret(words: str) -> str:
    """The value that a reference names, or the text itself."""
    kind, colon, where = words.partition(":")
    if colon and kind == "env":
        if where not in os.environ:
            raise UserMistake(f"the environment has no {where}; set it, or drop 'env:{where}'")
        return os.environ[where].rstrip("\r\n")
    if colon and kind == "file":
        return _file(where, _MOST_SECRET_BYTES).rstrip("\r\n")
    return words


def _file(name: str, most: int) -> str:
    try:
        with Path(name).open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise UserMistake(f"{name}: too large for what it is to be")
        return data.decode()
    except UnicodeDecodeError:
        raise UserMistake(f"{name}: not UTF-8") from None
    except OSError as error:
        raise UserMistake(f"{name}: {error.strerror}") from None
