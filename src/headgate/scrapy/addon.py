"""What Scrapy loads: the add-on, a check that nobody else fetches, and the download handler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.request import getproxies

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name
from scrapy.utils.reactor import is_asyncio_reactor_installed

from headgate.model.errors import UserMistake
from headgate.scrapy.archive import check_folder
from headgate.scrapy.settings import read_terms
from headgate.scrapy.shared_session import SharedSession

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from headgate.scrapy.spider_client import SpiderClient

__all__ = ["Addon"]

_HANDLER = "headgate.scrapy.addon.Handler"
_CHECK = "headgate.scrapy.addon.Check"


class Addon:
    """What Scrapy loads: one for each crawler, before anything of it is made.

    ``ADDONS = {"headgate.scrapy.Addon": 500}``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seat: SpiderClient | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Handlers at the highest priority there is: at an add-on's own, Scrapy's win silently
        where its reactor is switched off. What the user set is refused by `Check`, not replaced."""
        from headgate.scrapy.spider_client import SpiderClient

        self._seat = SpiderClient(self._crawler, read_terms(settings))
        handlers = settings["DOWNLOAD_HANDLERS"]
        for scheme in ("http", "https"):
            if handlers.get(scheme) is None:
                handlers.set(scheme, _HANDLER, priority="cmdline")
        settings["EXTENSIONS"].set(_CHECK, 0, priority="cmdline")

    @property
    def seat(self) -> SpiderClient:
        assert self._seat is not None, "the settings were not updated"
        return self._seat


def seat_of(crawler: Crawler) -> SpiderClient:
    """Of the add-on that the crawler has loaded."""
    for addon in crawler.addons.addons:
        if isinstance(addon, Addon):
            return addon.seat
    raise UserMistake(
        'Headgate\'s handler needs its add-on: ADDONS = {"headgate.scrapy.Addon": 500}'
    )


_SCHEMES = ("http", "https")


class Check:
    """Refuses to start where somebody else would fetch: then no budget would hold, and nobody say
    so.

    An extension, for those are made when all settings are known, those included that Scrapy changes
    by itself, and before anything is asked for.

    Made once for each crawler; that is all.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        _refuse_others(settings)
        if settings.getbool("TWISTED_REACTOR_ENABLED", True) and not is_asyncio_reactor_installed():
            raise UserMistake(
                "Headgate needs asyncio: leave TWISTED_REACTOR as Scrapy has it, or set it to"
                " 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
            )
        _refuse_proxies(settings)
        out = seat_of(crawler).terms.out
        if out and not SharedSession.anywhere():
            check_folder(Path(out))
        return cls()


def _refuse_others(settings: BaseSettings) -> None:
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in _SCHEMES:
        path = handlers.get(scheme)
        handler = None if path is None else load_object(path)
        if handler is not Handler:
            name = "none" if handler is None else global_object_name(handler)
            raise UserMistake(
                f"the download handler of {scheme} is {name}, so Headgate would not see its bytes;"
                f" take {scheme!r} out of DOWNLOAD_HANDLERS"
            )


def _refuse_proxies(settings: BaseSettings) -> None:
    """The environment's, which Scrapy would put into the meta of every request."""
    found = [scheme for scheme in _SCHEMES if scheme in getproxies()]
    if found and settings.getbool("HTTPPROXY_ENABLED"):
        raise UserMistake(
            f"the environment has {found[0]}_proxy, which Headgate does not go by; set"
            ' HTTPPROXY_ENABLED = False, and write proxy = "..." for sites in the site file'
        )


class Handler:
    """The download handler: where Scrapy asks, and Headgate fetches.

    Scrapy makes one for http and one for https; both are the spider's one seat.
    """

    lazy = False

    def __init__(self, seat: SpiderClient) -> None:
        self._seat = seat

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(seat_of(crawler))

    async def download_request(self, request: Request) -> Response:
        return await self._seat.download(request)

    async def close(self) -> None:
        await self._seat.close()
