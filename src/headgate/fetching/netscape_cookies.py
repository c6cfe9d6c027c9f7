"""Reads cookies.txt (Netscape's format), as written by browser add-ons, curl and wget."""

from __future__ import annotations

from headgate.fetching.cookies import CookieJar
from headgate.model.errors import UserMistake

__all__ = ["read_cookies"]

_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 7
_MOST_LINES = 10_000


def read_cookies(text: str, path: str) -> CookieJar:
    """A jar with the cookies of the file; errors name the line, without its value."""
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
