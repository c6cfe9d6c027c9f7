"""SURT keys, under which replay tools look up URLs: the host reversed, the rest simplified.

pywb makes the same key from the requested URL, so every rule has to match its own, even where it is
surprising: lower case, no ``www.``, repeated percent-decoding followed by encoding, single slashes,
no slash at the end, sorted query arguments, and some session ids dropped. A test compares the keys
with those of pywb's library.

Written for URLs of http and https in the normal form of `headgate.reading`: a scheme, a host
and a path are there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

__all__ = ["surt_key"]

_DEFAULT_PORTS = {"http": 80, "https": 443}
_KEPT = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Characters beside letters and digits that are not percent-encoded."""
_PARTS = re.compile(r"(https?)://(?:[^/?#]*@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.I)
_PORT = re.compile(r":(\d*)$")
_WWW = re.compile(r"www\d*\.")
_PLAIN_PATH = re.compile(r"(?:/[a-z0-9_~-][a-z0-9._~-]*)+/?")
_SESSION_FOLDERS = re.compile(
    r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))/([^?]+\.aspx.*)$", re.S
)
_SESSION_ARGUMENTS = (
    re.compile(r"^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)sid=[0-9a-z]{32}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$", re.I),
)


def surt_key(url: str) -> str:
    """
    >>> surt_key("https://www.Example.org:443/A//b/?z=1&a=%41")
    'org,example)/a/b?a=a&z=1'
    >>> surt_key("http://127.0.0.1:8080/")
    '1,0,0,127:8080)/'
    """
    parts = _PARTS.match(url)
    if parts is None:
        return url
    scheme, authority, path, query = parts.groups()
    key = f"{_host_key(scheme.lower(), authority)}){_path_key(path)}"
    arguments = _query_key(query) if query else ""
    return f"{key}?{arguments}" if arguments else key


@lru_cache(maxsize=1024)
def _host_key(scheme: str, authority: str) -> str:
    port = _PORT.search(authority)
    host = authority[: port.start()] if port else authority
    host = _escaped(host.strip("[]").lower()).replace("..", ".").strip(".")
    www = _WWW.match(host)
    key = ",".join(reversed((host[www.end() :] if www else host).split(".")))
    number = int(port[1] or 0) if port else 0
    return f"{key}:{number}" if number not in (0, _DEFAULT_PORTS[scheme]) else key


def _path_key(path: str) -> str:
    plain = path.lower()
    path = plain if path.isascii() and _PLAIN_PATH.fullmatch(plain) else _escaped_path(path)
    return path[:-1] if path.endswith("/") and len(path) > 1 else path


def _escaped_path(path: str) -> str:
    kept: list[bytes] = []
    *folders, last = _undone(path).split(b"/")[1:] or [b""]
    for name in (*(name for name in folders if name), last):
        if name == b".." and kept:
            kept.pop()
        elif name != b".":
            kept.append(name)
    path = "/" + _redone(b"/".join(kept)).lower()
    session = _SESSION_FOLDERS.match(path)
    return session[1] + session[2] if session else path


def _query_key(query: str) -> str:
    query = _redone(_undone(query))
    for pattern in _SESSION_ARGUMENTS:
        found = pattern.match(query)
        if found:
            query = found[1] + (found[2] or "")
    arguments = (tuple(argument.split("=", 1)) for argument in query.lower().split("&"))
    return "&".join("=".join(argument) for argument in sorted(arguments))


def _escaped(text: str) -> str:
    return _redone(_undone(text))


def _undone(text: str) -> bytes:
    """Percent-decoded until nothing changes."""
    data = text.encode("utf-8", "surrogatepass")
    while (undone := unquote_to_bytes(data)) != data:
        data = undone
    return data


def _redone(data: bytes) -> str:
    return quote_from_bytes(data, safe=_KEPT)
