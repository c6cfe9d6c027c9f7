"""Values that strangers may have written: bounded types to decode into, JSON that does no harm."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from msgspec import Meta

__all__ = ["Label", "Span", "Tally", "Text", "Volume", "harmless_json"]


# JSON that does no harm in a terminal: it may hold what strangers wrote.


_OBEYED = re.compile(rb"\x7f|\xc2[\x80-\x9f]")
"""Control characters that JSON need not escape and terminals obey: DEL, and C1 in UTF-8."""


def harmless_json(document: bytes) -> bytes:
    r"""The same document with every control character escaped.

    >>> harmless_json('{"a":"\x9b31m"}'.encode())
    b'{"a":"\\u009b31m"}'
    """
    return _OBEYED.sub(lambda found: b"\\u00%02x" % found[0][-1], document)


# Types of what one machine tells another about a crawl. Decoding refuses what no crawl has, so
# that nothing told by a node overflows a sum, a column of the catalog, or a report.
#
# A crawl is far within these bounds: a petabyte of one site, a trillion of its pages.


Tally: TypeAlias = Annotated[int, Meta(ge=0, le=2**40)]
Volume: TypeAlias = Annotated[int, Meta(ge=0, le=2**50)]
"""Bytes."""
Span: TypeAlias = Annotated[float, Meta(ge=-1e-3, le=1e12)]
"""Seconds, also added up over many fetches; a difference of sums may be slightly below 0."""
Text: TypeAlias = Annotated[str, Meta(max_length=100_000, pattern=r"\A[^\x00]*\Z")]
"""A sentence or a URL. PostgreSQL stores no NUL."""
Label: TypeAlias = Annotated[str, Meta(max_length=1_000, pattern=r"\A[^\x00]*\Z")]
"""A name, a host, a kind of error."""
