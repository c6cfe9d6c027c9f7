"""A request for a keeper: a site file, and the options of the command line.

The file is read again when it has changed; the options still apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from headgate.jobs.access_files import access_beside
from headgate.jobs.asked_bandwidth import asked_bandwidth
from headgate.jobs.keeping.file import read_keep_file
from headgate.jobs.keeping.job import KeepJob
from headgate.jobs.ready_sites import ready_sites
from headgate.model.access import Access
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.grid import GridTerms
from headgate.model.keeping import Staleness
from headgate.model.quota import Quota
from headgate.model.units import parse_duration
from headgate.recrawl.keep_policies import DEFAULT_POLICY, keep_policy
from headgate.site_file.contents import SiteFile

__all__ = ["KeepRequest"]


@dataclass(slots=True)
class KeepRequest:
    path: Path
    read: Callable[[Path], str]
    """Returns the file's text, or raises what is wrong with it."""
    bandwidth: str | None = None
    quota: str | None = None
    crawlers: int | None = None
    make_way: bool = False
    objective: str | None = None
    policy: str = DEFAULT_POLICY
    contact: str = ""
    duration: str | None = None
    once: bool = False
    grid: GridTerms = field(default=GridTerms(), init=False)
    """From the file as last read."""
    _seen: tuple[int, int, int] | None = field(default=None, init=False)

    def job(self, out: Path) -> KeepJob:
        contents = self._contents()
        seconds = math.inf if self.duration is None else parse_duration(self.duration)
        if seconds <= 0:
            raise UserMistake("--for must be longer than 0, like 30d")
        return KeepJob(
            contents.sites, contents.budget, out, contents.budget.contact,
            keep_policy(self.policy, contents.budget.staleness), seconds, self.once, self.reread,
        )  # fmt: skip

    def reread(self, anyway: bool) -> SiteFile | None:
        """None: it seems unchanged by time, size and inode; with ``anyway`` it is read all the
        same. A file that is missing for a moment is being written."""
        if not anyway and self._signature() in (None, self._seen):
            return None
        return self._contents()

    def _contents(self) -> SiteFile:
        self._seen = self._signature()
        rate = asked_bandwidth(self.bandwidth)
        contents = read_keep_file(self.read(self.path), str(self.path), bandwidth=rate)
        self.grid = contents.grid
        beside = self.path.parent
        sites = [
            site
            if site.access == Access()
            else replace(site, access=access_beside(site.access, beside))
            for site in contents.sites
        ]
        return SiteFile(self._with_options(contents.budget), ready_sites(sites))

    def _with_options(self, budget: Budget) -> Budget:
        zone = budget.calendar.zone
        staleness = Staleness(self.objective) if self.objective else budget.staleness
        return replace(
            budget,
            quota=Quota.parse(self.quota, zone) if self.quota else budget.quota,
            crawlers=self.crawlers or budget.crawlers,
            make_way=self.make_way or budget.make_way,
            staleness=staleness,
            contact=self.contact or budget.contact,
        )

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
