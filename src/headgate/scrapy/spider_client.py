"""One spider on the line: its requests are fetched, its slots follow what the line can use.

What Scrapy tells by signals is counted here: requests that a spider wants, those that reach the
downloader, and those that leave it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from pydispatch.dispatcher import getAllReceivers
from scrapy import Request, signals
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    StopDownload,
)
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.python import global_object_name
from twisted.python.failure import Failure

from headgate.model.errors import HeadgateError, WorldFault
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.reading.http_head import Fields
from headgate.scrapy.settings import HeadgateSettings
from headgate.scrapy.shared_session import SharedSession
from headgate.scrapy.spider_fleet import SpiderSite

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.crawler import Crawler

    from headgate.fetching.client import HttpFetcher

__all__ = ["SpiderClient"]

_logger = logging.getLogger(__name__)
_FIT_SLOTS_EVERY = 16
"""Responses of a site between two looks at how many are needed at once; at first, each teaches
something."""
_MOST_HELD = 1000
"""Requests beyond CONCURRENT_REQUESTS that may wait for sites that have no part of the line."""
_DEEPEST = 1000
_DONE = "finished"


class SpiderClient:
    """Of one crawler; the line is joined with its first request."""

    def __init__(self, crawler: Crawler, terms: HeadgateSettings) -> None:
        self.terms = terms
        self._crawler = crawler
        self._line: SharedSession | None = None
        self._reason = ""
        settings = crawler.settings
        self._at_once = settings.getint("CONCURRENT_REQUESTS")
        self._maxsize = settings.getint("DOWNLOAD_MAXSIZE")
        self._warnsize = settings.getint("DOWNLOAD_WARNSIZE")
        self._partial = not settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        for told, signal in (
            (self._scheduled, signals.request_scheduled),
            (self._dropped, signals.request_dropped),
            (self._reached, signals.request_reached_downloader),
            (self._left, signals.request_left_downloader),
            (self._closed, signals.spider_closed),
        ):
            crawler.signals.connect(told, signal)

    async def download(self, request: Request) -> Response:
        """What the handler of every scheme does."""
        if request.meta.get("proxy"):
            raise NotSupported(
                f"{request} has a proxy in its meta, which Headgate does not go by; write"
                ' proxy = "..." for its site in the site file, or set HTTPPROXY_ENABLED = False'
            )
        line = self._joined()
        site = line.site(request.url, request.meta)
        line.want(site)
        if site.closed:
            raise IgnoreRequest(f"no more of {site.name} is fetched: {site.closed}")
        asked = fetch_request(
            request, site.name, site.response_size.expected, self._maxsize, partial=self._partial
        )
        witness = _Witness.for_request(self._crawler, request)
        task = asyncio.current_task()
        assert task is not None
        site.fetching.add(task)
        try:
            outcome = await _fetched(line.fetcher, asked, witness)
        except asyncio.CancelledError:
            if site.closed and task.cancelling():
                task.uncancel()
                why = f"no more of {site.name} is fetched: {site.closed}"
                raise IgnoreRequest(why) from None
            raise
        finally:
            site.fetching.discard(task)
            line.want(site)
        site.landed(outcome, _depth(request))
        fetches = site.progress.fetches
        if fetches < _FIT_SLOTS_EVERY or not fetches % _FIT_SLOTS_EVERY:
            self._fit_slot(line, request, site)
        if isinstance(outcome, FetchFailure):
            raise raised(outcome)
        if line.archive is not None and request.method == "GET":
            await line.archive.put(site.name, outcome, _depth(request))
        request.meta["download_latency"] = outcome.first_byte_seconds
        if self._warnsize and len(outcome.payload) > self._warnsize:
            _logger.warning("%s brought %d bytes", request, len(outcome.payload))
        stop = None if witness is None else witness.stop
        response = response_of(request, outcome, stopped=stop is not None)
        if stop is not None and stop.fail:
            stop.response = response
            raise stop
        return response

    async def close(self) -> None:
        """The engine has stopped; may be called more than once."""
        line, self._line = self._line, None
        if line is not None:
            await line.leave(self, self._reason)

    @property
    def scheduled(self) -> float:
        """Requests in the scheduler; infinity: it does not say."""
        engine = self._crawler.engine
        scheduler: Any = getattr(getattr(engine, "_slot", None), "scheduler", None)
        try:
            return float(len(scheduler))
        except TypeError:
            return math.inf

    def make_room(self, held: int) -> None:
        """So many requests wait for sites that have no part of the line: they keep no others from
        the downloader."""
        if self._at_once:
            self._downloader.total_concurrency = self._at_once + min(held, _MOST_HELD)

    def _joined(self) -> SharedSession:
        if self._line is None:
            self._line = SharedSession.joined(self)
        return self._line

    @property
    def _downloader(self) -> Downloader:
        return self._crawler.engine.downloader

    def _fit_slot(self, line: SharedSession, request: Request, site: SpiderSite) -> None:
        """As many at once as use up the site's part, and no more than the spider's settings say."""
        key = request.meta.get("download_slot", "")
        slot: Slot | None = self._downloader.slots.get(key)
        if slot is None:
            return
        site.delay = slot.delay
        most = self._downloader.per_slot_settings.get(key, {}).get(
            "concurrency", self._downloader.domain_concurrency
        )
        expected = site.response_size.expected
        wanted = line.fetcher.connections(site.name, request.url, expected)
        slot.concurrency = max(min(wanted, most), 1)

    def _site(self, request: Request) -> SpiderSite | None:
        """None: it is not ours, or there is no line; of that, the download tells."""
        if not request.url.startswith(("http://", "https://")):
            return None
        try:
            return self._joined().site(request.url, request.meta)
        except HeadgateError:
            return None

    def _scheduled(self, request: Request) -> None:
        site = self._site(request)
        if site is not None:
            site.found(_depth(request))

    def _dropped(self, request: Request) -> None:
        site = self._site(request)
        if site is not None:
            site.scheduled -= 1

    def _reached(self, request: Request) -> None:
        site = self._site(request)
        if site is not None:
            site.inside += 1
            site.scheduled = max(site.scheduled - 1, 0)
            if not site.progress.fetches:
                self._fit_slot(self._joined(), request, site)

    def _left(self, request: Request) -> None:
        site = self._site(request)
        if site is not None:
            site.inside -= 1

    def _closed(self, reason: str) -> None:
        self._reason = "" if reason == _DONE else reason
        if self._line is not None:
            came = sum(known.progress.wire_bytes for known in self._line.fleet.sites)
            self._crawler.stats.set_value("headgate/wire_bytes", came)


async def _fetched(
    fetcher: HttpFetcher, asked: FetchRequest, witness: _Witness | None
) -> Fetched | FetchFailure:
    """A fault of this machine becomes an error after which Scrapy asks again."""
    try:
        return await fetcher.fetch(asked, witness)
    except WorldFault as fault:
        raise DownloadFailedError(str(fault)) from fault


def _depth(request: Request) -> int:
    """Links from the start, as Scrapy counts them."""
    depth = request.meta.get("depth", 0)
    return min(max(depth, 0), _DEEPEST) if isinstance(depth, int) else 0


class _Witness:
    """Tells signal handlers of head and pieces, as Scrapy's own handlers do; made only where there
    are any."""

    def __init__(self, crawler: Crawler, request: Request) -> None:
        self.stop: StopDownload | None = None
        self._crawler = crawler
        self._request = request

    @classmethod
    def for_request(cls, crawler: Crawler, request: Request) -> _Witness | None:
        told = (signals.headers_received, signals.bytes_received)
        anybody = any(any(getAllReceivers(crawler, signal)) for signal in told)
        return cls(crawler, request) if anybody else None

    def head(self, _: int, headers: Fields, length: int | None) -> bool:
        named = Headers()
        for name, value in headers:
            named.appendlist(name, value.encode("latin-1"))
        return self._tell(signals.headers_received, headers=named, body_length=length)

    def piece(self, part: bytes | memoryview) -> bool:
        return self._tell(signals.bytes_received, data=bytes(part))

    def _tell(self, signal: object, **what: object) -> bool:
        told = self._crawler.signals.send_catch_log(
            signal, request=self._request, spider=self._crawler.spider, **what
        )
        for handler, result in told:
            if isinstance(result, Failure) and isinstance(result.value, StopDownload):
                _logger.debug("%s was stopped by %s", self._request, global_object_name(handler))
                self.stop = result.value
        return self.stop is not None


# Requests of a spider as the fetcher wants them, and what came as a spider knows it.


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
