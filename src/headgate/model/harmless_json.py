"""JSON that does no harm in a terminal: it may hold what strangers wrote."""

from __future__ import annotations

import re

__all__ = ["harmless_json"]

_OBEYED = re.compile(rb"\x7f|\xc2[\x80-\x9f]")
"""Control characters that JSON need not escape and terminals obey: DEL, and C1 in UTF-8."""


def harmless_json(document: bytes) -> bytes:
    r"""The same document with every control character escaped.

    >>> harmless_json('{"a":"\x9b31m"}'.encode())
    b'{"a":"\\u009b31m"}'
    """
    return _OBEYED.sub(lambda found: b"\\u00%02x" % found[0][-1], document)
