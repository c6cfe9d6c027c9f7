"""What a user asked ``headgate crawl`` for, kept with the run so that --resume can go on."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import msgspec

from headgate.model.budget import Budget, Objective
from headgate.model.errors import UserMistake
from headgate.model.quota import Quota
from headgate.model.site import Site
from headgate.model.site_file import SiteFile, parse_site_file
from headgate.model.site_file_values import read_focus, read_order
from headgate.model.units import UNLIMITED, Seconds, parse_duration, parse_rate

__all__ = ["CrawlRequest", "at_least_one"]


def at_least_one(text: str) -> int:
    """A number of things to have, for argparse."""
    if not text.isascii() or not text.isdecimal() or int(text[:9]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text[:9])


class CrawlRequest(msgspec.Struct, frozen=True):
    """A site file's text or some URLs, and what the options said instead."""

    path: str = ""
    """Of the site file; empty when URLs were given."""
    text: str = ""
    urls: tuple[str, ...] = ()
    bandwidth: str | None = None
    quota: str | None = None
    deadline: str | None = None
    crawlers: int | None = None
    objective: str | None = None
    make_way: bool | None = None
    contact: str = ""
    processes: int = 1
    focus: str | None = None
    focus_pages: tuple[str, ...] = ()
    order: str | None = None

    def contents(self) -> SiteFile:
        """Sites and budget, checked."""
        asked = None if self.bandwidth is None else parse_rate(self.bandwidth)
        if asked is not None and asked <= 0:
            raise UserMistake("--bandwidth must be more than 0, like '1.5 MB/s', or 'unlimited'")
        if self.path:
            contents = parse_site_file(
                self.text, self.path, bandwidth=asked, unless_given=UNLIMITED
            )
        else:
            contents = SiteFile(Budget(asked or UNLIMITED), _sites(self.urls))
        zone = contents.budget.calendar.zone
        budget = replace(
            contents.budget,
            quota=Quota.parse(self.quota, zone) if self.quota else contents.budget.quota,
            crawlers=self.crawlers or contents.budget.crawlers,
            objective=Objective(self.objective) if self.objective else contents.budget.objective,
            make_way=self.make_way or contents.budget.make_way,
        )
        sites = (self._with_focus(self._with_deadline(site)) for site in contents.sites)
        return SiteFile(budget, tuple(sites))

    def _with_focus(self, site: Site) -> Site:
        """The options, where the site itself says nothing; its files lie beside the site file."""
        beside = Path(self.path).parent
        if not site.has_topic:
            focus = "" if self.focus is None else read_focus(self.focus)
            site = replace(site, focus=focus, focus_pages=self.focus_pages)
        else:
            own = tuple(str(beside / name) for name in site.focus_pages)
            site = replace(site, focus_pages=own)
        if site.order or self.order is None:
            return site
        return replace(site, order=read_order(self.order))

    def _with_deadline(self, site: Site) -> Site:
        if self.deadline is None or site.deadline is not None:
            return site
        seconds = parse_duration(self.deadline)
        if seconds <= 0:
            raise UserMistake("--deadline must be longer than 0, like '10m'")
        return replace(site, deadline=Seconds(seconds))


def _sites(urls: tuple[str, ...]) -> tuple[Site, ...]:
    """A site for each host among the URLs, named after it; a port of its own is part of it."""
    from headgate.reading.urls import normalise, origin

    sites: dict[str, Site] = {}
    for url in urls:
        seed = normalise(url if "://" in url else f"https://{url}")
        if seed is None or not seed.startswith(("http://", "https://")):
            known = " (there is no such file, either)" if not Path(url).exists() else ""
            raise UserMistake(f"{url!r} is not a URL of http or https{known}")
        name = origin(seed).partition("://")[2]
        before = sites.get(name)
        sites[name] = Site(name, seeds=(*(before.seeds if before else ()), seed))
    return tuple(sites.values())
