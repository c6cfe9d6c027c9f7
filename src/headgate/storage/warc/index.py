"""``index.cdxj``: which record holds which page, sorted by SURT key and time, for pywb.

One line for each fetch with a response: a keeper's volume has a URL as often as it was fetched, and
each version can be replayed. A 304 has no line, because pywb would replay it as an empty answer;
the earlier capture is used instead. Lines are sorted in bounded memory: sorted pieces are written
beside the index and merged.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from headgate.storage.page import PageRow
from headgate.storage.safe_files import make_own, writing
from headgate.storage.warc.records import digest_text

__all__ = ["IndexFields", "index_line", "index_lines", "mime", "surt_key", "writing_index"]

_PIECE_LINES = 50_000
_encode = msgspec.json.Encoder().encode


class IndexFields(msgspec.Struct, omit_defaults=True):
    """All of them text, as pywb writes them."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


def index_lines(rows: Iterable[PageRow], warc_folder: str) -> Iterator[str]:
    """The unsorted lines of rows that can be replayed.

    ``warc_folder`` comes before each file's name: the folder's path within the collection."""
    for row in rows:
        if row.status not in (0, HTTPStatus.NOT_MODIFIED):
            fields = IndexFields(
                url=row.url,
                mime="warc/revisit" if row.original_url else mime(row.content_type),
                status=str(row.status),
                digest=digest_text(row.digest) if row.digest else "-",
                length=str(row.warc_length),
                offset=str(row.warc_offset),
                filename=f"{warc_folder}/{row.warc_file}",
            )
            yield index_line(_stamp(int(row.fetched_at)), fields)


def index_line(stamp: str, fields: IndexFields) -> str:
    """``stamp`` is the time in fourteen digits."""
    return f"{surt_key(fields.url)} {stamp} {_encode(fields).decode()}\n"


@contextmanager
def writing_index(
    path: Path, piece_lines: int = _PIECE_LINES
) -> Iterator[Callable[[Iterable[str]], None]]:
    """Yields a function that takes lines; they are sorted into the file."""
    pieces: list[Path] = []
    waiting: list[str] = []
    with writing(path), ExitStack() as stack:

        def put_down() -> None:
            pieces.append(path.with_name(f"{path.name}.piece-{len(pieces)}"))
            stack.callback(pieces[-1].unlink, missing_ok=True)
            make_own(pieces[-1])
            text = "".join(sorted(waiting))
            pieces[-1].write_text(text, encoding="utf-8", newline="\n")
            waiting.clear()

        def add(lines: Iterable[str]) -> None:
            for line in lines:
                waiting.append(line)
                if len(waiting) >= piece_lines:
                    put_down()

        yield add
        if waiting:
            put_down()
        opened = [
            stack.enter_context(piece.open(encoding="utf-8", newline="\n")) for piece in pieces
        ]
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(line for line, _ in groupby(heapq.merge(*opened)))


def mime(content_type: str) -> str:
    """
    >>> mime("Text/HTML; charset=utf-8"), mime("")
    ('text/html', 'unk')
    """
    return content_type.partition(";")[0].strip().lower() or "unk"


@lru_cache(maxsize=64)
def _stamp(seconds: int) -> str:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))


_DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST_KNOWN = 300
_KEPT = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Characters beside letters and digits that are not percent-encoded."""
_PARTS = re.compile(r"(https?)://(?:[^/?#]*@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.I)
_PORT = re.compile(r":(\d*)$")
_WWW = re.compile(r"www\d*\.")
_PLAIN_PATH = re.compile(r"(?:/[a-z0-9_~-][a-z0-9._~-]*)+/?")
_SESSION_FOLDER = re.compile(
    r"(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))/(?=.)", re.S
)
_TOKEN = "&cftoken="
_SESSION_ARGUMENTS = (
    re.compile(r"^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)sid=[0-9a-z]{32}(?:&(.*))?$", re.I),
    re.compile(r"^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$", re.I),
)


def surt_key(url: str) -> str:
    """SURT keys, under which replay tools look up URLs: the host reversed, the rest simplified.

    pywb makes the same key from the requested URL, so every rule has to match its own, even where
    it is surprising: lower case, no ``www.``, repeated percent-decoding followed by encoding,
    single slashes, no slash at the end, sorted query arguments, and some session ids dropped. A
    test compares the keys with those of pywb's library.

    Written for URLs of http and https in the normal form of `headgate.reading`: a scheme, a host
    and a path are there.

    >>> surt_key("https://www.Example.org:443/A//b/?z=1&a=%41")
    'org,example)/a/b?a=a&z=1'
    >>> surt_key("http://127.0.0.1:8080/")
    '1,0,0,127:8080)/'
    """
    parts = _PARTS.match(url)
    if parts is None:
        return url
    scheme, authority, path, query = parts.groups()
    host_key = _known_host_key if len(authority) <= _LONGEST_KNOWN else _host_key
    key = f"{host_key(scheme.lower(), authority)}){_path_key(path)}"
    arguments = _query_key(query) if query else ""
    return f"{key}?{arguments}" if arguments else key


def _host_key(scheme: str, authority: str) -> str:
    port = _PORT.search(authority)
    host = authority[: port.start()] if port else authority
    host = _escaped(host.strip("[]").lower()).replace("..", ".").strip(".")
    www = _WWW.match(host)
    key = ",".join(reversed((host[www.end() :] if www else host).split(".")))
    number = int(port[1] or 0) if port else 0
    return f"{key}:{number}" if number not in (0, _DEFAULT_PORTS[scheme]) else key


_known_host_key = lru_cache(maxsize=1024)(_host_key)


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
    return _without_session_folder("/" + _redone(b"/".join(kept)).lower())


def _without_session_folder(path: str) -> str:
    """Without the last that an ``.aspx`` follows, with no question mark between."""
    pieces = path.split("?")
    for place in reversed(range(len(pieces))):
        piece = pieces[place]
        session = _SESSION_FOLDER.match(piece, 0, max(piece.rfind(".aspx"), 0))
        if session:
            pieces[place] = session[1] + piece[session.end() :]
            break
    return "?".join(pieces)


def _query_key(query: str) -> str:
    query = _redone(_undone(query))
    for pattern in _SESSION_ARGUMENTS:
        found = pattern.match(query)
        if found:
            query = found[1] + (found[2] or "")
    query = _without_cold_fusion(query)
    arguments = (tuple(argument.split("=", 1)) for argument in query.lower().split("&"))
    return "&".join("=".join(argument) for argument in sorted(arguments))


def _without_cold_fusion(query: str) -> str:
    """Without the last ``cfid=...&cftoken=...``, neither of them empty."""
    lower = query.lower()
    token = lower.rfind(_TOKEN)
    while token >= 0:
        start = lower.rfind("cfid=", lower.rfind("&", 0, token) + 1, token - 1)
        value, _, rest = query[token + len(_TOKEN) :].partition("&")
        if start >= 0 and value:
            return query[:start] + rest
        token = lower.rfind(_TOKEN, 0, token)
    return query


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
