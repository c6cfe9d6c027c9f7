"""Decodes a body to text; the encoding is found as in the HTML standard.

In order: a byte-order mark; the charset of the Content-Type header; a ``<meta>`` in the first 1024
bytes; the encoding of an XML declaration; UTF-8 where the bytes are valid UTF-8; windows-1252,
which decodes any bytes. The first that names an encoding wins. Names are labels of WHATWG's
Encoding Standard (``latin1`` means windows-1252 there), by the webencodings package, which holds
all 228; Python's own aliases differ from them in dozens of places.

Nothing raises: bytes that are wrong in the encoding become U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

import msgspec
import webencodings

from headgate.reading.tags import ATTRIBUTES, BLANK, attributes

__all__ = ["Decoded", "decode", "decoded", "header_charset"]

_PRESCANNED_BYTES = 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
_LAST_RESORT = "cp1252"

_HEADER = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)|([^;\s]*))", re.IGNORECASE)
_PRESCAN = re.compile(
    rf"<(?:!--(?:-?>|[\s\S]*?-->)|meta(?=[{BLANK}/])({ATTRIBUTES})"
    rf"|/?[a-z][^{BLANK}>]*{ATTRIBUTES}|[!/?][^>]*)",
    re.IGNORECASE,
)
"""A comment, a meta with its attributes, another tag, or what ends at a ``>``."""
_CONTENT = re.compile(
    rf"charset[{BLANK}]*=[{BLANK}]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'{BLANK};][^{BLANK};]*))",
    re.IGNORECASE,
)
_XML = re.compile(r"<\?xml[^>]*?\sencoding\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class Decoded(msgspec.Struct, frozen=True, gc=False):
    """A decoded body."""

    text: str
    codec: str
    """Python's name of the encoding it was read in."""


def decode(body: bytes, content_type: str = "") -> str:
    """The text of a body.

    >>> decode(b"gr\\xfcn", "text/html; charset=latin1")
    'grün'
    """
    return decoded(body, content_type).text


def decoded(body: bytes, content_type: str = "") -> Decoded:
    """The text of a body, and its codec."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return Decoded(body[len(mark) :].decode(codec, "replace"), codec)
    encoding = _lookup(header_charset(content_type)) or _declared(body)
    if encoding is not None:
        return _read(body, encoding)
    return _read_undeclared(body)


def header_charset(content_type: str) -> str | None:
    """The charset parameter of a Content-Type header."""
    match = _HEADER.search(content_type)
    return None if match is None else match[1] or match[2]


def _lookup(label: str | None) -> webencodings.Encoding | None:
    return None if label is None else webencodings.lookup(label)


def _read(body: bytes, encoding: webencodings.Encoding) -> Decoded:
    text, _ = encoding.codec_info.decode(body, "replace")
    return Decoded(text, encoding.codec_info.name)


def _read_undeclared(body: bytes) -> Decoded:
    """A character cut off at the end does not make a page invalid UTF-8."""
    try:
        text, used = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return Decoded(body.decode(_LAST_RESORT, "replace"), _LAST_RESORT)
    return Decoded(text if used == len(body) else text + "\ufffd", "utf-8")


def _declared(body: bytes) -> webencodings.Encoding | None:
    """The encoding declared in the body; as it is in ASCII, not UTF-16, even if it says so."""
    head = body[:_PRESCANNED_BYTES].decode("latin-1")
    encoding = _meta_encoding(head)
    if encoding is None and (xml := _XML.match(head)) is not None:
        encoding = _lookup(xml[1] or xml[2])
    if encoding is None:
        return None
    if encoding.name.startswith("utf-16"):
        return webencodings.UTF8
    if encoding.name == "x-user-defined":
        return webencodings.lookup("windows-1252")
    return encoding


def _meta_encoding(head: str) -> webencodings.Encoding | None:
    for match in _PRESCAN.finditer(head):
        if match[1]:
            encoding = _lookup(_meta_label(attributes(match[1])))
            if encoding is not None:
                return encoding
    return None


def _meta_label(meta: Mapping[str, str]) -> str | None:
    if "charset" in meta:
        return meta["charset"]
    if meta.get("http-equiv", "").lower() != "content-type":
        return None
    match = _CONTENT.search(meta.get("content", ""))
    return None if match is None else match[1] or match[2] or match[3]
