r"""Links of a PDF: the URLs of its link annotations.

ISO 32000-1, 12.6.4.7: an action has ``/URI (http://...)``, a string in parentheses with escapes, or
in hexadecimal. Since PDF 1.5 such objects may lie in compressed streams (7.5.7), so those that are
not pictures, fonts or pages are unpacked and searched, too. The file is not parsed: URLs have one
form everywhere, and this works for damaged files, too.

Departures: encrypted files give nothing, and URLs that only stand in the text are not found. Memory
and time are bounded by what is unpacked in all.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from headgate.reading.urls import UrlJoiner

__all__ = ["is_pdf", "pdf_links"]

_MOST_LINKS = 50_000
_MOST_UNPACKED = 32_000_000
_MOST_STREAMS = 20_000
_START = b"%PDF-"
_URI = re.compile(rb"/URI\s*(?:\(((?:[^()\\]|\\[\s\S]){1,4096})\)|<([0-9A-Fa-f\s]{2,8192})>)")
_STREAM = re.compile(rb"<<((?:(?!stream)[\s\S]){0,2000}?)>>\s*stream\r?\n")
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|\r?\n|([\s\S]))")
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def is_pdf(kind: str, body: bytes) -> bool:
    return kind.lower().lstrip().startswith("application/pdf") or body.startswith(_START)


def pdf_links(body: bytes, url: str) -> list[str]:
    r"""In file order, without repetition; ``url``: of the PDF.

    >>> pdf_links(rb"<< /S /URI /URI (http://a/\(x\)) >> << /URI <687474703A2F2F622F> >>", "http://c/")
    ['http://a/(x)', 'http://b/']
    """
    if b"/Encrypt" in body:
        return []
    joiner, links = UrlJoiner(url), dict[str, None]()
    for part in (body, *_unpacked(body)):
        for match in _URI.finditer(part):
            target = joiner.join(_string(match).decode("latin-1").strip())
            if target is not None and target.startswith(("http://", "https://")):
                links[target] = None
                if len(links) >= _MOST_LINKS:
                    return list(links)
    return list(links)


def _unpacked(body: bytes) -> Iterator[bytes]:
    """Streams that hold objects."""
    left = _MOST_UNPACKED
    for number, stream in enumerate(_STREAM.finditer(body)):
        if number >= _MOST_STREAMS or left <= 0:
            return
        if b"/ObjStm" not in stream[1] or b"/FlateDecode" not in stream[1]:
            continue
        try:
            data = zlib.decompressobj().decompress(body[stream.end() :], left)
        except zlib.error:
            continue
        left -= len(data)
        yield data


def _string(match: re.Match[bytes]) -> bytes:
    if match[2] is not None:
        digits = re.sub(rb"\s", b"", match[2])
        return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
    return _ESCAPE.sub(_plain, match[1])


def _plain(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        return bytes([int(escape[1], 8) & 255])
    return _CONTROLS.get(escape[2], escape[2]) if escape[2] else b""
