"""Writes the non-ASCII letters of a reference's query in the encoding of its page, as browsers do.

WHATWG's URL standard, "percent-encode after encoding": octets that may stand in a query stay, even
those of a letter (``表`` is ``%95\\`` in Shift_JIS), and a letter that the encoding lacks becomes a
numeric reference of HTML, escaped. The encoders are those of the Encoding Standard, from which
Python's codecs differ: Big5 reads more than it writes, EUC-JP writes no JIS X 0212, Shift_JIS
prefers IBM's rows to NEC's copies of them, GBK is GB 18030 up to two octets, and none writes a
letter as another one that looks alike. Held against a browser, some rare signs aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

__all__ = ["query_in"]

_ESCAPED = frozenset(b"\"#<>'")
"""Of the printable octets."""
_FIRST_OF_BIG5 = 0xA1
"""Below are Hong Kong's additions, which are read and never written."""
_JIS_X_0212 = 0x8F
_IBM_ROWS = range(0xFA, 0xFD)
_NEC_COPIES = (0xED, 0xEE)


def query_in(codec: str, ref: str) -> str:
    """``ref`` with the non-ASCII letters of its query written in ``codec``, as it is in a URL.

    >>> query_in("cp1252", "/ü?q=ü&r=日#ü"), query_in("cp932", "?表")
    ('/ü?q=%FC&r=%26%2326085%3B#ü', '?%95\\\\')
    """
    before, hash_sign, fragment = ref.partition("#")
    path, mark, query = before.partition("?")
    written = "".join(char if char.isascii() else _escaped(char, codec) for char in query)
    return path + mark + written + hash_sign + fragment


@lru_cache(4096)
def _escaped(char: str, codec: str) -> str:
    octets = _octets(char, codec)
    if octets is None:
        return f"%26%23{ord(char)}%3B"
    return "".join(
        chr(octet) if 0x21 <= octet <= 0x7E and octet not in _ESCAPED else f"%{octet:02X}"
        for octet in octets
    )


def _octets(char: str, codec: str) -> bytes | None:
    """None: the encoding lacks this letter."""
    if codec == "gbk":
        octets = b"\x80" if char == "€" else _encoded(char, "gb18030")
        return octets if octets is not None and len(octets) <= 2 else None
    octets = _encoded(char, codec)
    if codec == "big5hkscs":
        if octets is None:
            octets = _encoded(char, "cp950")
        return octets if octets is not None and octets[0] >= _FIRST_OF_BIG5 else None
    if codec == "euc_jp" and octets is not None and octets[0] == _JIS_X_0212:
        return None
    if codec == "cp932" and octets is not None and octets[0] in _NEC_COPIES:
        return _ibm_rows().get(char, octets)
    return octets


def _encoded(char: str, codec: str) -> bytes | None:
    try:
        octets = char.encode(codec)
        return octets if octets.decode(codec) == char else None
    except (UnicodeError, LookupError):
        return None


@lru_cache(1)
def _ibm_rows() -> Mapping[str, bytes]:
    rows: dict[str, bytes] = {}
    for octets in (bytes((row, cell)) for row in _IBM_ROWS for cell in range(0x40, 0xFD)):
        try:
            rows.setdefault(octets.decode("cp932"), octets)
        except UnicodeError:
            continue
    return rows
