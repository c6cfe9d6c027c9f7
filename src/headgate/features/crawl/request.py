"""What a user asked ``headgate crawl`` for; kept with the run for --resume."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from headgate.engine.site_inputs import (
    access_beside,
    asked_bandwidth,
    read_text,
    refuse_password,
    with_defaults,
)
from headgate.model.budget import Budget, Objective, Quota
from headgate.model.errors import UserMistake
from headgate.model.score_order import SCORE, ScoreOrder
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, Seconds, parse_duration
from headgate.site_file.parsing import SiteFile
from headgate.site_file.values import read_focus, read_order

if TYPE_CHECKING:
    from headgate.features.crawl.job import CrawlJob

__all__ = ["CrawlRequest", "read_site_file", "sites_of_urls", "unfinished_request"]


class CrawlRequest(msgspec.Struct, frozen=True):
    """A site file's text or URLs, and the options that override it."""

    path: str = ""
    """Of the site file; empty when URLs were given."""
    text: str = ""
    urls: tuple[str, ...] = ()
    bandwidth: str | None = None
    quota: str | None = None
    deadline: str | None = None
    crawlers: int | None = None
    objective: Objective | None = None
    policy: str | None = None
    make_way: bool | None = None
    contact: str = ""
    processes: int | None = None
    focus: str | None = None
    focus_pages: tuple[str, ...] = ()
    order: str | None = None
    admission: str | None = None
    look_ahead: int | None = None
    site_options: dict[str, str | int | list[str]] = {}

    def contents(self) -> SiteFile:
        """Sites and budget after all checks."""
        asked = asked_bandwidth(self.bandwidth)
        if self.path:
            from headgate.site_file.parsing import parse_site_file

            contents = parse_site_file(
                self.text, self.path, bandwidth=asked, unless_given=UNLIMITED
            )
        else:
            contents = SiteFile(Budget(asked or UNLIMITED), sites_of_urls(self.urls))
        zone = contents.budget.calendar.zone
        budget = replace(
            contents.budget,
            quota=Quota.parse(self.quota, zone) if self.quota else contents.budget.quota,
            crawlers=self.crawlers or contents.budget.crawlers,
            objective=Objective(self.objective or contents.budget.objective),
            policy=self.policy or contents.budget.policy,
            order=self._order_of_all(contents.budget.order),
            make_way=self.make_way or contents.budget.make_way,
            processes=self.processes or contents.budget.processes,
            contact=self.contact or contents.budget.contact,
        )
        sites = tuple(
            with_defaults(self._with_files(self._with_deadline(site)), self.site_options)
            for site in contents.sites
        )
        if "on_deadline" in self.site_options and all(site.deadline is None for site in sites):
            raise UserMistake("--on-deadline needs a deadline; add one, like --deadline 10m")
        return SiteFile(budget, sites, contents.grid)

    def job(
        self,
        out: Path,
        *,
        resume: bool = False,
        new_bandwidth: bool = False,
        private_hosts: bool = True,
    ) -> CrawlJob:
        """The job that performs the request. ``private_hosts``: hosts of seeds may have private
        addresses, because the user named them."""
        from headgate.engine.fetcher_settings import fetcher_settings
        from headgate.engine.site_inputs import ready_sites
        from headgate.features.crawl.job import CrawlJob

        contents = self.contents()
        sites = ready_sites(contents.sites)
        fetcher = fetcher_settings(sites, contents.budget.contact)
        return CrawlJob(
            sites,
            contents.budget,
            out=out,
            fetcher=fetcher if private_hosts else replace(fetcher, named_for=frozenset()),
            processes=min(contents.budget.processes, len(sites)),  # more would have nothing to do
            resume=resume,
            request=msgspec.json.encode(self),
            new_bandwidth=new_bandwidth,
        )

    def is_for_sites_of(self, other: CrawlRequest) -> bool:
        """Whether both ask for the same sites, with the same access to them."""
        one, another = (
            {site.name: (site.seeds, site.access) for site in request.contents().sites}
            for request in (self, other)
        )
        return one == another

    def _with_files(self, site: Site) -> Site:
        """Copies a site only if something changes: there may be a hundred thousand of them."""
        access = access_beside(site.access, Path(self.path).parent) if self.path else site.access
        if access is not site.access:
            site = replace(site, access=access)
        return self._with_focus(site)

    def _with_focus(self, site: Site) -> Site:
        """With the options' focus if the site has none; the site's own files are relative to the
        site file."""
        beside = Path(self.path).parent
        if not site.has_topic:
            if self.focus is not None or self.focus_pages:
                focus = "" if self.focus is None else read_focus(self.focus)
                site = replace(site, focus=focus, focus_pages=self.focus_pages)
        else:
            own = tuple(str(beside / name) for name in site.focus_pages)
            site = replace(site, focus_pages=own)
        if site.order or self.order in (None, SCORE):
            return site
        return replace(site, order=read_order(self.order))

    def _order_of_all(self, own: ScoreOrder | None) -> ScoreOrder | None:
        """The site file's order over all sites, or that of the options."""
        if self.order != SCORE and own is None:
            if self.admission is not None or self.look_ahead is not None:
                raise UserMistake(
                    f"--admission and --look-ahead are for one queue over all sites; add --order"
                    f" {SCORE}"
                )
            return None
        own = own or ScoreOrder()
        return ScoreOrder.named(
            SCORE, self.admission or own.admission, self.look_ahead or own.look_ahead
        )

    def _with_deadline(self, site: Site) -> Site:
        if self.deadline is None or site.deadline is not None:
            return site
        seconds = parse_duration(self.deadline)
        if seconds <= 0:
            raise UserMistake("--deadline must be longer than 0, like '10m'")
        return replace(site, deadline=Seconds(seconds))


def unfinished_request(out: Path) -> CrawlRequest:
    """The request of the unfinished run of a collection."""
    from headgate.storage.collection import Collection

    run = Collection(out).unfinished_run()
    if run is not None and run.load("request") == b"":
        raise UserMistake(
            f"{out}: the unfinished run was begun from Python; go on with it there"
            " (resume=True), or give it up with --abandon"
        )
    remedy = "restore it from a copy, or give the run up with --abandon; what is stored is kept"
    request = None if run is None else run.load_as("request", CrawlRequest, remedy)
    if request is None:
        raise UserMistake(f"{out}: no unfinished run to continue; leave out --resume")
    return request


def sites_of_urls(urls: tuple[str, ...]) -> tuple[Site, ...]:
    """A site for each host among the URLs, named after it, with its port if it has one."""
    from headgate.reading.urls import normalise, origin

    sites: dict[str, Site] = {}
    for url in urls:
        written = url if "://" in url else f"https://{url}"
        seed = normalise(written)
        if seed is None or not seed.startswith(("http://", "https://")):
            known = " (there is no such file, either)" if not Path(url).exists() else ""
            raise UserMistake(f"{url!r} is not a URL of http or https{known}")
        name = origin(seed).partition("://")[2]
        refuse_password(name, written)
        before = sites.get(name)
        sites[name] = Site(name, seeds=(*(before.seeds if before else ()), seed))
    return tuple(sites.values())


def read_site_file(path: str | Path) -> SiteFile:
    """``sites`` and ``budget`` of a site file, as ``headgate crawl`` understands it."""

    return CrawlRequest(path=str(path), text=read_text(str(path))).contents()
