"""The interfaces that crawling needs, as narrow as they can be.

| port        | adapters                                                        |
|-------------|-----------------------------------------------------------------|
| `Clock`     | `engine.clock.SystemClock`; `testing.virtual_time`         |
| `Fetcher`   | `fetching.client.HttpFetcher`; `testing.simulated_web`         |
| `SiteStore` | `storage.journals.spool.SiteSpool`; `testing.memory_store`     |
| `Known`     | `storage.memory.known_pages.KnownPages`;                        |
|             | `testing.memory_store`                                         |
| `Scorer`    | `crawling.focused_crawl.InPlace`; `engine.scorers`                  |
| `Fleet`     | `crawling.node.Node`; `engine.processes`; `engine.background_fleet`;  |
|             | `features.grid.coordinator.fleet`                                               |
| `SurveyLog` | `features.survey.log.SurveyFile`;                       |
|             | `testing.memory_store`                                    |

Every adapter of a port passes the port's suite in ``tests/contract``. The catalog's port is
`headgate.control.catalog`; the port of a node's tasks is `headgate.features.grid.protocol`, its
twin `headgate.testing.memory_desk`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.focus.signs import PageSigns
from headgate.frontier.events import JournalEntry
from headgate.frontier.seen_urls import Hashes
from headgate.model.fetch import Announced, Fetched, FetchFailure, FetchRequest
from headgate.model.page import Earlier, Page
from headgate.model.task import Task

__all__ = [
    "Clock",
    "Fetcher",
    "Fleet",
    "Known",
    "MachineClock",
    "MeasuredFleet",
    "Rates",
    "ReplayedPage",
    "Scorer",
    "SetRates",
    "SetTotal",
    "SiteStore",
    "StopSite",
]


class Clock(Protocol):
    def now(self) -> float:
        """Seconds of a monotonic clock."""
        ...

    def wall(self) -> float:
        """Seconds since 1970."""
        ...


class MachineClock(Clock, Protocol):
    """A clock by which stalls of the machine can be explained."""

    def asleep(self) -> float:
        """Seconds that the machine was suspended so far; ``now`` went on meanwhile."""
        ...

    def cpu(self) -> float:
        """CPU seconds that this process has used."""
        ...


class Rates(Protocol):
    """Rate limits in wire bytes per second; infinity: no limit. Changes hold at once."""

    def set_total(self, rate: float) -> None: ...

    def set_site(
        self, site: str, rate: float, most: float | None = None, bound: float | None = None
    ) -> None:
        """``rate`` is guaranteed; up to ``most`` (default: the rate) may be borrowed from sites
        that use less, and up to ``bound`` (default: nothing more) of what no site wants."""
        ...

    def forget_site(self, site: str) -> None: ...


class Fetcher(Protocol):
    @property
    def meter(self) -> Rates: ...

    @property
    def servers(self) -> Mapping[str, ServerTally]: ...

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        """One request, without following redirects; raises nothing but cancellation, and a
        `WorldFault` if this machine could not send it: that says nothing about the URL."""
        ...

    def under_way(self, site: str) -> int:
        """Wire bytes so far of a site's responses in progress."""
        ...

    def take_cut_off(self, site: str) -> int:
        """Wire bytes of a site's fetches that were cancelled since the last call, which are
        reported nowhere else."""
        ...

    def announced(self, site: str) -> Announced:
        """What a site's responses in progress have still to deliver, by their Content-Length."""
        ...

    def carried(self) -> int:
        """Wire bytes received since the beginning, for all sites."""
        ...

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        """How many concurrent fetches use up the site's rate, within politeness."""
        ...


class ReplayedPage(Protocol):
    """A page that an interrupted run had stored, with what the counters need."""

    @property
    def role(self) -> str: ...

    @property
    def depth(self) -> int: ...

    @property
    def status(self) -> int: ...

    @property
    def error(self) -> str: ...

    @property
    def payload_bytes(self) -> int: ...

    @property
    def wire_bytes(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    @property
    def first_byte_seconds(self) -> float: ...

    @property
    def relevance(self) -> float | None: ...

    @property
    def unchanged(self) -> bool: ...


class SiteStore(Protocol):
    """The durable state of one site run. `commit` stores what was added, and may block."""

    @property
    def finished(self) -> bool: ...

    @property
    def waiting_bytes(self) -> int: ...

    def put(self, page: Page, entry: JournalEntry | None = None) -> int: ...

    def record(self, entry: JournalEntry) -> None: ...

    def add_note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None: ...

    def finish(self) -> None: ...

    def commit(self) -> int:
        """Store everything added; returns the number of pages stored by this process."""
        ...

    def entries(self) -> Iterator[JournalEntry]: ...

    def pages(self) -> Iterable[ReplayedPage]: ...

    def close(self) -> None: ...


class Scorer(Protocol):
    """Scores links from 0 to 1. Raises nothing but cancellation."""

    @property
    def faults(self) -> int:
        """Number of links that it could not score."""
        ...

    @property
    def trouble(self) -> str:
        """What is wrong with the scorer, if anything."""
        ...

    async def scores(self, page: PageSigns, relevance: float) -> Mapping[str, float]: ...

    def score_urls(self, urls: Sequence[str]) -> Mapping[str, float]:
        """Scores of URLs that were not found on a page."""
        ...


class Fleet(Protocol):
    """One node or several."""

    def start(self, task: Task) -> None:
        """Start a task; its first rate follows at once. Its site has no other task, and may have
        the next one as soon as `wait` has returned the end of this one."""
        ...

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """New rates. Sites that no longer run are ignored, since rates are decided while sites
        end."""
        ...

    def set_total(self, rate: float) -> None:
        """The limit of all sites together, whatever their rates add up to."""
        ...

    def stop(self, site: str, reason: str) -> None:
        """Does nothing if the site does not run."""
        ...

    def progress(self) -> Sequence[Progress]:
        """The latest progress of the sites that run."""
        ...

    def servers(self) -> Mapping[str, ServerTally]:
        """Counters of each server address so far."""
        ...

    async def wait(self, seconds: float) -> Sequence[Progress]:
        """The sites that ended since the last call, each returned once and then forgotten; waits
        for the first, at most for so long."""
        ...

    async def close(self, reason: str) -> None:
        """Stop all tasks, with their state durable."""
        ...


class SetRates(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Bytes per second from now on; 0 parks a site. The manager's command, and the message of it
    to a process, like the next two."""

    rates: Mapping[str, float]


class SetTotal(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The present budget in bytes per second; infinity: unlimited."""

    rate: float


class StopSite(msgspec.Struct, frozen=True, tag=True, array_like=True):
    site: str
    reason: str


class MeasuredFleet(Fleet, Protocol):
    """A fleet that counts its wire bytes."""

    def carried(self) -> int:
        """Wire bytes since the beginning."""
        ...


class Known(Protocol):
    """What earlier runs know of one site's pages."""

    def asked(self, url: str) -> bool:
        """Whether an earlier run fetched it."""
        ...

    def find(self, url: str) -> Earlier | None:
        """The archived response to compare a new one with; None: there is none."""
        ...

    def stored(self, url: str, earlier: Earlier) -> Fetched | None:
        """That response as it came, under this URL; None: it cannot be read."""
        ...

    def left_to_do(self) -> Iterator[tuple[int, Sequence[str]]]:
        """URLs found but never fetched, in batches with their depth; batches may be empty."""
        ...

    def pages(self) -> Iterator[tuple[int, Sequence[str]]]:
        """The same for all known pages that are not gone."""
        ...

    def by_depth(self, urls: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        """The known ones among these, in batches with their depth."""
        ...

    def needed(self, urls: Sequence[str]) -> Sequence[str]:
        """Those among these that were found as page requisites."""
        ...

    def hashes(self) -> Hashes:
        """Hashes of all known URLs, as `headgate.frontier.seen_urls.url_hashes` makes them."""
        ...
