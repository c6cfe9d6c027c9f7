"""Parses the head of a response as leniently as curl, wget and browsers.

RFC 9112 says what servers should send; this reads what they do send. Lines end in LF, with or
without CR, also mixed. A line that begins with a blank continues the value before it (obs-fold,
5.2); before the first field it is skipped (2.2), as is a line without a colon. Blanks around names
and values are no part of them, a CR within a value is a blank (2.2). Names may hold any other
character, values any other but NUL, which curl refuses, too. The status line may be in lower case,
have more blanks than one, and no reason.

The caller finds the end of the head and bounds its length; time is linear in that. Lines of earlier
heads are cached (0.2 µs instead of 1): few lines of a site differ from page to page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

__all__ = ["Fields", "HttpHead", "read_head", "with_values"]

Fields = tuple[tuple[str, str], ...]
"""Names in lower case and values as Latin-1, in order."""

_STATUS_LINE = re.compile(
    rb"HTTP/([123])(?:\.([0-9]{1,2}))?[ \t]+([1-9][0-9]{2})(?![0-9])", re.IGNORECASE
)
_BLANKS = b" \t\r"
_MOST_KNOWN = 4096
_LONGEST_KNOWN = 256
_known: dict[bytes, tuple[str, str]] = {}
"""Fields by their lines; at most 2 MB."""
_known_status: dict[bytes, tuple[int, bool]] = {}


class HttpHead(msgspec.Struct, frozen=True, gc=False):
    """A parsed head."""

    status: int
    persistent: bool
    """HTTP/1.1 or later: the connection stays, unless something says otherwise."""
    fields: Fields


def read_head(raw: bytes) -> HttpHead | None:
    """Parse a head with the empty line at its end; None: it is no head.

    >>> read_head(b"HTTP/1.0 404\\nA : b\\r\\n c\\r\\n\\n")
    HttpHead(status=404, persistent=False, fields=(('a', 'b c'),))
    """
    lines = raw.split(b"\n")
    status = _known_status.get(lines[0]) or _read_status(lines[0])
    if status is None or b"\0" in raw:
        return None
    fields: list[tuple[str, str]] = []
    for line in lines[1:-2]:
        field = _known.get(line)
        if field is not None:
            fields.append(field)
        elif line[:1] in (b" ", b"\t"):
            _go_on(fields, line)
        elif b":" in line:
            fields.append(_read_field(line))
    return HttpHead(status[0], status[1], tuple(fields))


def with_values(raw: bytes, value: Callable[[tuple[str, str]], str | None]) -> bytes:
    """A head with other values of some fields, each then one line; ``value`` is called with the
    name and value of each field, as `read_head` has them, and returns another value or None.

    >>> with_values(b"HTTP/1.1 200\\nA : b\\r\\n c\\r\\nD: e\\n\\n", {("a", "b c"): "x"}.get)
    b'HTTP/1.1 200\\nA: x\\r\\nD: e\\n\\n'
    """
    fields: list[tuple[str, str]] = []
    field_of: list[int | None] = []
    """The field that a line belongs to."""
    lines = raw.split(b"\n")
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            _go_on(fields, line)
        elif b":" in line:
            fields.append(_read_field(line))
        else:
            field_of.append(None)
            continue
        field_of.append(len(fields) - 1 if fields else None)
    others = list(map(value, fields))
    written: list[bytes] = []
    begun = -1
    for line, field in zip(lines, field_of, strict=True):
        other = None if field is None else others[field]
        if field is None or other is None:
            written.append(line)
        elif field > begun:
            begun = field
            name, end = line.partition(b":")[0].strip(_BLANKS), line[len(line.rstrip(b"\r")) :]
            written.append(name + b": " + other.encode("latin-1", "replace") + end)
    return b"\n".join(written)


def _read_status(line: bytes) -> tuple[int, bool] | None:
    found = _STATUS_LINE.match(line)
    if found is None:
        return None
    version = int(found[1]), int(found[2] or 0)
    status = int(found[3]), version >= (1, 1)
    if len(line) < _LONGEST_KNOWN:
        if len(_known_status) >= _MOST_KNOWN:
            _known_status.clear()
        _known_status[line] = status
    return status


def _read_field(line: bytes) -> tuple[str, str]:
    name, _, value = line.partition(b":")
    field = name.strip(_BLANKS).decode("latin-1").lower(), _text(value)
    if len(line) < _LONGEST_KNOWN:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[line] = field
    return field


def _go_on(fields: list[tuple[str, str]], line: bytes) -> None:
    if fields:
        name, value = fields[-1]
        fields[-1] = name, f"{value} {_text(line)}".strip(" ")


def _text(value: bytes) -> str:
    value = value.strip(_BLANKS)
    return (value.replace(b"\r", b" ") if b"\r" in value else value).decode("latin-1")
