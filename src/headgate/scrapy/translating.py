"""Requests of a spider as the fetcher wants them, and what came as a spider knows it."""

from __future__ import annotations

import math
import re
from ipaddress import ip_address
from typing import Any

from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest

__all__ = ["fetch_request", "raised", "response_of"]

_NO_LIMIT = 1 << 62
_BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LATE = (
    FailureKind.CONNECT_TIMEOUT,
    FailureKind.FIRST_BYTE_TIMEOUT,
    FailureKind.STALLED,
    FailureKind.TOO_SLOW,
)
_ERRORS: dict[FailureKind, type[Exception]] = {
    FailureKind.DNS: CannotResolveHostError,
    FailureKind.REFUSED: DownloadConnectionRefusedError,
    **dict.fromkeys(_LATE, DownloadTimeoutError),
}


def fetch_request(
    request: Request, site: str, expected: float, maxsize: int, *, partial: bool
) -> FetchRequest:
    """Raises ValueError for a header that cannot be sent."""
    meta: dict[str, Any] = request.meta
    return FetchRequest(
        request.url,
        site,
        int(expected),
        meta.get("download_maxsize", maxsize) or _NO_LIMIT,
        _headers(request),
        partial=not meta.get("download_fail_on_dataloss", not partial),
        most_seconds=float(meta.get("download_timeout") or math.inf),
        method=request.method,
        body=request.body,
        own_head=True,
    )


def response_of(request: Request, fetched: Fetched, *, stopped: bool = False) -> Response:
    """``stopped``: somebody had seen enough. Raises what Scrapy's own handlers do for a body that
    is too long, or came too slowly."""
    if fetched.truncated == "length":
        raise DownloadCancelledError(f"{request} is larger than its download_maxsize")
    if fetched.truncated == "time":
        raise DownloadTimeoutError(f"{request} was not done in time")
    headers = Headers()
    for name, value in fetched.headers:
        headers.appendlist(name, value.encode("latin-1"))
    kind = responsetypes.from_args(headers=headers, url=request.url, body=fetched.payload)
    lost = ["dataloss"] if fetched.truncated == "disconnect" else []
    return kind(
        url=request.url,
        status=fetched.status,
        headers=headers,
        body=fetched.payload,
        flags=["download_stopped"] if stopped else lost,
        ip_address=ip_address(fetched.address) if fetched.address else None,
        protocol=fetched.response_head.partition(b" ")[0].decode("latin-1"),
    )


def raised(failure: FetchFailure) -> Exception:
    """The error that Scrapy's middlewares know."""
    error = _ERRORS.get(failure.kind, DownloadFailedError)
    return error(f"{failure.kind}: {failure.detail}")


def _headers(request: Request) -> tuple[tuple[str, str], ...]:
    headers = []
    for name, values in request.headers.items():
        for value in values:
            if _BAD_VALUE.search(value) or _BAD_VALUE.search(name):
                raise ValueError(
                    f"header {name.decode('latin-1')!r} of {request} has a line break or another"
                    " control character; take it out"
                )
            headers.append((name.decode("latin-1"), value.decode("latin-1")))
    return tuple(headers)
