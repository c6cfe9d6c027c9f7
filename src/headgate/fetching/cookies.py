"""Cookies, kept per site, as far as a crawler needs RFC 6265.

A jar belongs to one site of the user's: nothing set on one site is ever sent for another. Within a
site that has several hosts, a cookie for a public suffix such as ``co.uk`` or ``github.io`` is
refused (5.3, step 5), by the list that comes with the publicsuffixlist library. Domain and path
match as in sections 5.1.3 and 5.1.4, Secure is honoured, HttpOnly and SameSite mean nothing here.

The number of cookies per jar (the oldest are dropped), their length and the header's length are
bounded.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from headgate.model.errors import UserMistake

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

__all__ = [
    "REDACTED",
    "CookieJar",
    "names_a_domain",
    "public_suffixes",
    "read_cookies",
    "without_value",
]

REDACTED = "[redacted]"

_AGE = re.compile(r"-?[0-9]+")

MOST_COOKIES = 100
LONGEST_COOKIE = 4096
LONGEST_HEADER = 8192


@cache
def public_suffixes() -> PublicSuffixList:
    """Loaded when first needed, in a thread: it takes a tenth of a second and three megabytes."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


def names_a_domain(line: str) -> bool:
    """Whether a Set-Cookie line may be for more than its own host."""
    return "domain" in line.lower()


_ATTRIBUTES = frozenset(("domain", "expires", "httponly", "max-age", "path", "samesite", "secure"))


def without_value(line: str) -> str:
    """A Set-Cookie line as it is archived: name and attributes. Whatever else there is may be a
    secret to somebody who reads cookies in another way.

    >>> without_value("sid=1; Path=/; HttpOnly"), without_value(";sid=1;Secure"), without_value("1")
    ('sid=[redacted]; Path=/; HttpOnly', '; [redacted]; Secure', '[redacted]')
    """
    pair, *rest = (part.strip() for part in line.split(";"))
    name, equals, _ = pair.partition("=")
    shown = f"{name.strip()}={REDACTED}" if equals else REDACTED if pair else ""
    known = (part.partition("=")[0].strip().lower() in _ATTRIBUTES for part in rest)
    others = (part if its or not part else REDACTED for part, its in zip(rest, known, strict=True))
    return "; ".join((shown, *others))


class _Cookie(msgspec.Struct, frozen=True):
    value: str
    host_only: bool
    secure: bool
    expires: float | None

    def alive(self, now: float) -> bool:
        return self.expires is None or self.expires > now


class CookieJar:
    """One site's cookies, by (domain, path, name), oldest first."""

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}

    def store(self, host: str, target: str, line: str, now: float) -> None:
        """Store one Set-Cookie line of a response to ``target`` on ``host``; invalid ones are
        ignored."""
        pair, *rest = line.split(";")
        name, equals, value = pair.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or len(line) > LONGEST_COOKIE or not (name + value).isprintable():
            return
        attributes = _attributes(rest)
        domain = attributes.get("domain", "").lstrip(".").lower()
        if domain and not _domain_matches(host, domain):
            return
        if domain and public_suffixes().is_public(domain):
            if domain != host:
                return
            domain = ""
        path = attributes.get("path", "")
        if not path.startswith("/"):
            path = _folder(target)
        cookie = _Cookie(value, not domain, "secure" in attributes, _expiry(attributes, now))
        self._keep((domain or host, path, name), cookie, now)

    def put(
        self,
        key: tuple[str, str, str],
        value: str,
        *,
        host_only: bool,
        secure: bool,
        expires: float | None,
    ) -> None:
        """Store a cookie of the user's; ``key`` is its domain, path and name."""
        self._keep(key, _Cookie(value, host_only, secure, expires), 0.0)

    def header(self, host: str, target: str, *, secure: bool, now: float) -> str:
        """The Cookie header's value; empty when there is none to send."""
        path = target.partition("?")[0]
        fitting = [
            (len(key[1]), f"{key[2]}={cookie.value}")
            for key, cookie in self._cookies.items()
            if cookie.alive(now)
            and (host == key[0] or (not cookie.host_only and _domain_matches(host, key[0])))
            and _path_matches(path, key[1])
            and (secure or not cookie.secure)
        ]
        fitting.sort(key=lambda entry: -entry[0])
        header = ""
        for _, pair in fitting:
            longer = f"{header}; {pair}" if header else pair
            header = longer if len(longer) <= LONGEST_HEADER else header
        return header

    def _keep(self, key: tuple[str, str, str], cookie: _Cookie, now: float) -> None:
        self._cookies.pop(key, None)
        if cookie.alive(now):
            self._cookies[key] = cookie
        while len(self._cookies) > MOST_COOKIES:
            del self._cookies[next(iter(self._cookies))]

    def __len__(self) -> int:
        return len(self._cookies)


def _attributes(parts: list[str]) -> dict[str, str]:
    pairs = (part.partition("=") for part in parts)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _domain_matches(host: str, domain: str) -> bool:
    if host == domain:
        return True
    return "." in domain and host.endswith(f".{domain}") and not host[-1].isdigit()


def _path_matches(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _folder(target: str) -> str:
    folder = target.partition("?")[0].rpartition("/")[0]
    return folder or "/"


def _expiry(attributes: dict[str, str], now: float) -> float | None:
    """Max-Age takes precedence over Expires; an unreadable date is ignored."""
    age = attributes.get("max-age", "")
    if _AGE.fullmatch(age):
        return now + int(age[:12])
    if "expires" not in attributes:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(attributes["expires"].replace("-", " ")).timestamp()
    except (ValueError, OverflowError):
        return None


_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 7
_MOST_LINES = 10_000


def read_cookies(text: str, path: str) -> CookieJar:
    """Reads cookies.txt (Netscape's format), as written by browser add-ons, curl and wget.

    A jar with the cookies of the file; errors name the line, without its value.
    """
    jar = CookieJar()
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise UserMistake(f"{path}: more than {_MOST_LINES:,} lines; keep those of the site")
    for number, raw in enumerate(lines, 1):
        line = raw.removeprefix(_HTTP_ONLY)
        if line.strip() and not line.startswith("#"):
            _add(jar, line, f"{path}:{number}")
    if not len(jar):
        raise UserMistake(f"{path}: no cookie in it")
    return jar


def _add(jar: CookieJar, line: str, where: str) -> None:
    fields = line.split("\t")
    if len(fields) != _FIELDS:
        raise UserMistake(
            f"{where}: Netscape's format has seven fields with tabs between, and this line"
            f" {len(fields)}: domain, subdomains, path, secure, expiry, name, value"
        )
    domain, _, path, secure, expiry, name, value = fields
    if not (domain.strip(".") and path.startswith("/") and name):
        raise UserMistake(f"{where}: a cookie needs a domain, a path that begins with / and a name")
    for flag in (fields[1], secure):
        if flag.upper() not in ("TRUE", "FALSE"):
            raise UserMistake(f"{where}: the second and the fourth field are TRUE or FALSE")
    if expiry and not expiry.isdecimal():
        raise UserMistake(
            f"{where}: the fifth field is a moment in seconds since 1970, or 0 or nothing"
        )
    jar.put(
        (domain.lstrip(".").lower(), path, name),
        value,
        host_only=fields[1].upper() == "FALSE",
        secure=secure.upper() == "TRUE",
        expires=float(expiry[:12] or 0) or None,
    )
