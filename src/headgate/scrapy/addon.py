"""What Scrapy loads: one for each crawler, before anything of it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from headgate.model.errors import UserMistake
from headgate.scrapy.terms import read_terms

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from headgate.scrapy.seat import Seat

__all__ = ["Addon", "seat_of"]

_HANDLER = "headgate.scrapy.handler.Handler"
_CHECK = "headgate.scrapy.check.Check"


class Addon:
    """``ADDONS = {"headgate.scrapy.Addon": 500}``."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seat: Seat | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Handlers at the highest priority there is: at an add-on's own, Scrapy's win silently
        where its reactor is switched off. What the user set is refused by `check`, not replaced."""
        from headgate.scrapy.seat import Seat

        self._seat = Seat(self._crawler, read_terms(settings))
        handlers = settings["DOWNLOAD_HANDLERS"]
        for scheme in ("http", "https"):
            if handlers.get(scheme) is None:
                handlers.set(scheme, _HANDLER, priority="cmdline")
        settings["EXTENSIONS"].set(_CHECK, 0, priority="cmdline")

    @property
    def seat(self) -> Seat:
        assert self._seat is not None, "the settings were not updated"
        return self._seat


def seat_of(crawler: Crawler) -> Seat:
    """Of the add-on that the crawler has loaded."""
    for addon in crawler.addons.addons:
        if isinstance(addon, Addon):
            return addon.seat
    raise UserMistake(
        'Headgate\'s handler needs its add-on: ADDONS = {"headgate.scrapy.Addon": 500}'
    )
