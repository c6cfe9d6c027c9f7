"""Writes Parquet files of a few rows without Arrow, which takes 60 MB and a quarter of a second to
import: more than everything else that a crawl of ten pages needs.

One row group; each column is one page of PLAIN values after definition levels, compressed with
gzip. No dictionaries and no statistics: they would not pay here. Format:
https://parquet.apache.org/docs/file-format/, with headers in Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from isal import isal_zlib

__all__ = ["ColumnType", "parquet_file"]

_MAGIC = b"PAR1"
_LEVEL = 1
_GZIP_WINDOW_BITS = 31
_GZIP = 2
_OPTIONAL = 1
_PLAIN, _RLE = 0, 3
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
"""Types of Thrift."""
_SHORT_LIST = 15
_Field = tuple[int, int, Any]
"""Of a Thrift structure: number, type, value."""


class ColumnType(Enum):
    """The type of a column: Parquet's type, its converted type, the format character of
    `struct`."""

    TEXT = (6, 0, "")
    INT16 = (1, 16, "i")
    INT32 = (1, None, "i")
    INT64 = (2, None, "q")
    FLOAT = (4, None, "f")
    DOUBLE = (5, None, "d")
    MOMENT = (2, 9, "q")
    """Milliseconds since 1970."""


def parquet_file(columns: Mapping[str, tuple[ColumnType, Sequence[Any]]], rows: int) -> bytes:
    """The columns as a file; each has ``rows`` values, None for those that are absent."""
    parts = [_MAGIC]
    chunks: list[list[_Field]] = []
    place = len(_MAGIC)
    for name, (kind, values) in columns.items() if rows else ():
        page, plain_bytes = _page(kind, values)
        parts.append(page)
        chunks.append([(2, _I64, place), (3, _STRUCT, [
            (1, _I32, kind.value[0]),
            (2, _LIST, (_I32, [_PLAIN, _RLE])),
            (3, _LIST, (_BINARY, [name.encode()])),
            (4, _I32, _GZIP),
            (5, _I64, rows),
            (6, _I64, plain_bytes),
            (7, _I64, len(page)),
            (9, _I64, place),
        ])])  # fmt: skip
        place += len(page)
    group: list[_Field] = [
        (1, _LIST, (_STRUCT, chunks)), (2, _I64, place - len(_MAGIC)), (3, _I64, rows),
    ]  # fmt: skip
    foot = _thrift([
        (1, _I32, 1),
        (2, _LIST, (_STRUCT, _schema({name: kind for name, (kind, _) in columns.items()}))),
        (3, _I64, rows),
        (4, _LIST, (_STRUCT, [group] if rows else [])),
        (6, _BINARY, b"headgate"),
    ])  # fmt: skip
    return b"".join((*parts, foot, struct.pack("<I", len(foot)), _MAGIC))


def _schema(kinds: dict[str, ColumnType]) -> list[list[_Field]]:
    root: list[_Field] = [(4, _BINARY, b"schema"), (5, _I32, len(kinds))]
    return [root, *(_schema_element(name, kind) for name, kind in kinds.items())]


def _schema_element(name: str, kind: ColumnType) -> list[_Field]:
    physical, converted, _ = kind.value
    element: list[_Field] = [
        (1, _I32, physical), (3, _I32, _OPTIONAL), (4, _BINARY, name.encode()),
    ]  # fmt: skip
    return element if converted is None else [*element, (6, _I32, converted)]


def _page(kind: ColumnType, values: Sequence[Any]) -> tuple[bytes, int]:
    """A page with its header, and their length before compression."""
    present = [value for value in values if value is not None]
    levels = _levels(values, all_present=len(present) == len(values))
    data = struct.pack("<I", len(levels)) + levels + _encoded(kind, present)
    packed = isal_zlib.compress(data, _LEVEL, _GZIP_WINDOW_BITS)
    head = _thrift([
        (1, _I32, 0),
        (2, _I32, len(data)),
        (3, _I32, len(packed)),
        (5, _STRUCT, [(1, _I32, len(values)), (2, _I32, _PLAIN), (3, _I32, _RLE), (4, _I32, _RLE)]),
    ])  # fmt: skip
    return head + packed, len(head) + len(data)


def _levels(values: Sequence[Any], *, all_present: bool) -> bytes:
    """Definition levels, one bit per value: whether it is present."""
    if all_present:
        return _varint(len(values) << 1) + b"\1"
    size = -(-len(values) // 8)
    bits = sum(1 << place for place, value in enumerate(values) if value is not None)
    return _varint(size << 1 | 1) + bits.to_bytes(size, "little")


def _encoded(kind: ColumnType, present: Sequence[Any]) -> bytes:
    if kind is ColumnType.TEXT:
        texts = [text.encode() for text in present]
        return b"".join([part for text in texts for part in (struct.pack("<I", len(text)), text)])
    return struct.pack(f"<{len(present)}{kind.value[2]}", *present)


def _thrift(fields: Sequence[_Field]) -> bytes:
    """An encoded structure; fields are ordered by number."""
    parts: list[bytes] = []
    before = 0
    for number, kind, value in fields:
        parts += (bytes([(number - before) << 4 | kind]), _thrift_value(kind, value))
        before = number
    return b"".join((*parts, b"\0"))


def _thrift_value(kind: int, value: Any) -> bytes:
    if kind == _STRUCT:
        return _thrift(value)
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _LIST:
        element, items = value
        if len(items) < _SHORT_LIST:
            head = bytes([len(items) << 4 | element])
        else:
            head = bytes([_SHORT_LIST << 4 | element]) + _varint(len(items))
        return head + b"".join([_thrift_value(element, item) for item in items])
    return _varint(value << 1)  # zigzag; there are no negative ones


def _varint(number: int) -> bytes:
    """
    >>> _varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
