"""Refuses to start where somebody else would fetch: then no budget would hold, and nobody say so.

An extension, for those are made when all settings are known, those included that Scrapy changes by
itself, and before anything is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.request import getproxies

from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name
from scrapy.utils.reactor import is_asyncio_reactor_installed

from headgate.model.errors import UserMistake
from headgate.scrapy.addon import seat_of
from headgate.scrapy.archive import check_folder
from headgate.scrapy.handler import Handler
from headgate.scrapy.line import Line

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

__all__ = ["Check"]

_SCHEMES = ("http", "https")


class Check:
    """Made once for each crawler; that is all."""

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
        if out and not Line.anywhere():
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
