"""What crawling needs from outside, as narrow as it can be.

| port        | adapters                                                       |
|-------------|----------------------------------------------------------------|
| `Clock`     | `crawling.clock.SystemClock`; `lab.worlds.virtual_time`        |
| `Fetcher`   | `fetching.http.HttpFetcher`; `lab.worlds.simulated_web`        |
| `SiteStore` | `storage.spool.SiteSpool`; `crawling.memory_store`             |
| `Known`     | `storage.known_pages.KnownPages`; `crawling.memory_known`      |
| `Scorer`    | `crawling.focusing.InPlace`; `grid.own_scorer`                 |
| `Fleet`     | `crawling.node.Node`; `grid.processes`; `grid.yielding_fleet`; |
|             | `grid.grid_fleet`                                              |
| `SurveyLog` | `storage.survey_log.SurveyFile`; `crawling.memory_survey_log`  |

Every adapter of a port passes the port's suite in ``tests/contract``. The catalog's port is
`headgate.control.catalog`, its twin in memory `headgate.control.memory_catalog`; where a node's
tasks come from is `headgate.crawling.task_source`, its twin `headgate.crawling.memory_desk`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from headgate.crawling.progress import Progress
from headgate.focus.signs import PageSigns
from headgate.frontier.hash_set import Hashes
from headgate.frontier.journal import JournalEntry
from headgate.model.fetch import Announced, Fetched, FetchFailure, FetchRequest
from headgate.model.page import Earlier, Page
from headgate.model.task import Task
from headgate.surveying.entries import SurveyEntry
from headgate.traffic.server_tally import ServerTally

__all__ = [
    "Clock",
    "Fetcher",
    "Fleet",
    "Known",
    "MachineClock",
    "MeasuredFleet",
    "Rates",
    "Scorer",
    "SiteStore",
    "StoredPage",
    "SurveyLog",
]


class Clock(Protocol):
    def now(self) -> float:
        """Seconds of a clock that does not go back."""
        ...

    def wall(self) -> float:
        """Seconds since 1970."""
        ...


class MachineClock(Clock, Protocol):
    """With what it takes to tell why a machine stood still."""

    def asleep(self) -> float:
        """Seconds for which the machine was suspended until now; ``now`` went on meanwhile."""
        ...

    def cpu(self) -> float:
        """Seconds of a processor that this process used until now."""
        ...


class Rates(Protocol):
    """Bytes per second on the line; infinity: no limit. A change holds at once."""

    def set_total(self, rate: float) -> None: ...

    def set_site(
        self, site: str, rate: float, most: float | None = None, bound: float | None = None
    ) -> None:
        """Its part when all want theirs; ``most``: with what others leave, the rate unless told;
        ``bound``: with what nobody wants, None: none of that."""
        ...

    def forget_site(self, site: str) -> None: ...


class Fetcher(Protocol):
    @property
    def meter(self) -> Rates: ...

    @property
    def servers(self) -> Mapping[str, ServerTally]: ...

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        """One GET, no redirects followed; raises nothing but cancellation."""
        ...

    def under_way(self, site: str) -> int:
        """Wire bytes of a site that came for responses not yet whole."""
        ...

    def take_cut_off(self, site: str) -> int:
        """Wire bytes of a site's fetches that were cancelled since this was last asked: nobody else
        tells of them."""
        ...

    def announced(self, site: str) -> Announced:
        """What responses of a site under way have still to bring, where they say it."""
        ...

    def carried(self) -> int:
        """Wire bytes that came since the beginning, for whomever."""
        ...

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        """How many fetches at once use up the site's rate, within politeness."""
        ...


class StoredPage(Protocol):
    """A page that an interrupted run had stored, as far as its counters need it."""

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
    """One site run's durable state. Given at any time, stored by `commit`, which may block."""

    @property
    def finished(self) -> bool: ...

    @property
    def waiting_bytes(self) -> int: ...

    def put(self, page: Page, entry: JournalEntry | None = None) -> int: ...

    def record(self, entry: JournalEntry) -> None: ...

    def note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None: ...

    def finish(self) -> None: ...

    def commit(self) -> int:
        """Store all that waits; the number of pages this process has stored so far."""
        ...

    def entries(self) -> Iterator[JournalEntry]: ...

    def pages(self) -> Iterable[StoredPage]: ...

    def close(self) -> None: ...


class Scorer(Protocol):
    """Gives links their scores, from 0 to 1. Raises nothing but cancellation."""

    @property
    def faults(self) -> int:
        """Links it could not score."""
        ...

    @property
    def trouble(self) -> str:
        """What is wrong with it, if anything."""
        ...

    async def scores(self, page: PageSigns, relevance: float) -> Mapping[str, float]: ...

    def of_urls(self, urls: Sequence[str]) -> Mapping[str, float]:
        """Of URLs that no page says anything about."""
        ...


class Fleet(Protocol):
    """Those who crawl: one node, or several."""

    def start(self, task: Task) -> None:
        """Begin a task; its first rate follows at once. Its site runs no other, and may be started
        again with the next as soon as `wait` has told of the end of this one."""
        ...

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """New rates, from now on. Sites that do not run may be among them, for rates are decided
        while sites end: nothing is done for these."""
        ...

    def set_total(self, rate: float) -> None:
        """The budget of all together; no node passes it, whatever its sites' rates add up to."""
        ...

    def stop(self, site: str, reason: str) -> None:
        """No harm where it does not run."""
        ...

    def progress(self) -> Sequence[Progress]:
        """Of the sites that run, the newest figures there are."""
        ...

    def servers(self) -> Mapping[str, ServerTally]:
        """What each server address did so far, as far as is known."""
        ...

    async def wait(self, seconds: float) -> Sequence[Progress]:
        """The sites that ended since the last call, each told of once and then forgotten; returns
        at the first, or when time is up."""
        ...

    async def close(self, reason: str) -> None:
        """Stop whatever runs, durably."""
        ...


class MeasuredFleet(Fleet, Protocol):
    """One that knows at any moment what the line brought it."""

    def carried(self) -> int:
        """Bytes since the beginning."""
        ...


class Known(Protocol):
    """What earlier runs know of one site's pages."""

    def asked(self, url: str) -> bool:
        """Whether one of them asked for it."""
        ...

    def find(self, url: str) -> Earlier | None:
        """The archived response that a later one may be the same as; None: there is none."""
        ...

    def stored(self, url: str, earlier: Earlier) -> Fetched | None:
        """That response as it came, under this URL; None: the archive cannot give it."""
        ...

    def left_to_do(self) -> Iterator[tuple[int, Sequence[str]]]:
        """URLs that none of them asked for, in batches with their depth; some may be empty."""
        ...

    def pages(self) -> Iterator[tuple[int, Sequence[str]]]:
        """The same for all that is known and not gone."""
        ...

    def by_depth(self, urls: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        """Those of these that are known, with their depth."""
        ...

    def hashes(self) -> Hashes:
        """Of all URLs known, as `headgate.frontier.seen.url_hashes` makes them."""
        ...


class SurveyLog(Protocol):
    """Every request of a survey, durable once committed."""

    @property
    def waiting_bytes(self) -> int: ...

    def put(self, entry: SurveyEntry) -> None: ...

    def commit(self) -> int:
        """Store all that waits, which may block; the number of entries stored so far."""
        ...
