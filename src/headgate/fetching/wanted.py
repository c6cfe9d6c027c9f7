"""Which responses are downloaded: decided by the head, before the body arrives.

Only responses with status 2xx are checked: redirects and errors are short, and the crawl needs
them. A response without a type or length is downloaded; one that turns out to be too long is
aborted. In both cases the connection is closed, since the rest is on its way.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.fetching.faults import FetchFault
from headgate.model.fetch import FailureKind, FetchRequest
from headgate.model.units import Bytes, format_size
from headgate.reading.http_head import Fields

__all__ = ["Wanted"]


class Wanted:
    """The conditions of one request."""

    __slots__ = ("_most_bytes", "_types")

    def __init__(self, types: Iterable[str], most_bytes: int | None) -> None:
        self._types = tuple(types)
        self._most_bytes = most_bytes

    @classmethod
    def of(cls, request: FetchRequest) -> Wanted | None:
        """None: no conditions."""
        if not request.types and not request.whole_only:
            return None
        return cls(request.types, request.max_bytes if request.whole_only else None)

    def judge(self, status: int, headers: Fields, length: int | None) -> None:
        """Raises `FetchFault` if the response is not wanted; ``length`` None: not known."""
        if not 200 <= status < 300:
            return
        kind = _media_type(headers)
        if self._types and kind and not any(_matches(kind, wanted) for wanted in self._types):
            raise FetchFault(FailureKind.UNWANTED_TYPE, kind)
        if length is not None:
            self.judge_length(length)

    def judge_length(self, length: int) -> None:
        if self._most_bytes is not None and length > self._most_bytes:
            raise FetchFault(FailureKind.TOO_LARGE, format_size(Bytes(length)))

    def judge_cut(self, truncated: str) -> None:
        """The same for a body that was cut because it was too long."""
        if self._most_bytes is not None and truncated == "length":
            most = format_size(Bytes(self._most_bytes))
            raise FetchFault(FailureKind.TOO_LARGE, f"more than {most}")


def _media_type(headers: Fields) -> str:
    """In lower case, without parameters; empty: not given."""
    for name, value in headers:
        if name == "content-type":
            return value.partition(";")[0].strip().lower()
    return ""


def _matches(kind: str, wanted: str) -> bool:
    """
    >>> _matches("text/html", "text/*"), _matches("text/html", "*/*")
    (True, True)
    >>> _matches("image/png", "text/*"), _matches("text/html", "text/html")
    (False, True)
    """
    if wanted.endswith("/*"):
        return wanted == "*/*" or kind.startswith(wanted[:-1])
    return kind == wanted
