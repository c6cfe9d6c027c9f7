"""A keeper at one moment and hour by hour, and whether its promises can be kept."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from headgate.model.units import BytesPerSecond, Seconds, SizeRange

__all__ = [
    "CHECK_BINS",
    "AtRisk",
    "Checked",
    "Fresh",
    "KeepBudget",
    "KeepCounts",
    "KeepHour",
    "KeepPlan",
    "KeepPromises",
    "KeepStatus",
    "NoticeCounts",
    "Paused",
    "PromisedSite",
    "RunningVisit",
    "Trouble",
    "Volumes",
]

CHECK_BINS = 10


class KeepCounts(msgspec.Struct, frozen=True):
    """What was done in a period."""

    visits: int = 0
    asked: int = 0
    """Pages that were requested, new ones included."""
    changed: int = 0
    not_modified: int = 0
    """Found unchanged, whether by a 304 or by their content."""
    new: int = 0
    gone: int = 0
    wire_bytes: int = 0
    saved_bytes: int = 0
    """Not transferred because pages were unchanged."""

    def plus(self, other: KeepCounts) -> KeepCounts:
        """The sum of both.

        >>> KeepCounts(visits=1, asked=9).plus(KeepCounts(asked=1)).asked
        10
        """
        names = self.__struct_fields__
        return KeepCounts(*(getattr(self, name) + getattr(other, name) for name in names))


class KeepBudget(msgspec.Struct, frozen=True):
    rate: float | None = None
    """Bytes per second now; None: unlimited."""
    quota_left: float | None = None
    """Bytes of this period; None: no quota."""
    paused_until: float | None = None
    """The quota is used up until then; None: it is not."""


class Fresh(msgspec.Struct, frozen=True):
    """The estimated freshness of all pages."""

    estimated: float
    """Expected share of pages that have not changed since they were fetched."""
    weighted: float
    """The same, weighted by importance."""
    mean_age_seconds: float
    """Expected time since a page's first change that is not archived; 0 for a fresh page."""
    p95_age_seconds: float


class Checked(msgspec.Struct, frozen=True):
    """Calibration: predicted against observed changes. Of pages predicted to have changed with a
    probability of 30 %, 30 % should have. Ten bins of equal width."""

    looks: tuple[int, ...] = (0,) * CHECK_BINS
    said: tuple[float, ...] = (0.0,) * CHECK_BINS
    """Sum of the predicted probabilities."""
    found: tuple[int, ...] = (0,) * CHECK_BINS
    """Number of pages that had changed."""

    def plus(self, other: Checked) -> Checked:
        return Checked(
            tuple(a + b for a, b in zip(self.looks, other.looks, strict=True)),
            tuple(a + b for a, b in zip(self.said, other.said, strict=True)),
            tuple(a + b for a, b in zip(self.found, other.found, strict=True)),
        )


class AtRisk(msgspec.Struct, frozen=True):
    """A promise that may not be kept."""

    site: str
    due: float
    """By when its oldest page has to be fetched."""
    slack_seconds: float
    """Time to spare beyond the visit itself; negative: it will be late."""


class KeepPromises(msgspec.Struct, frozen=True):
    """Promises of all sites with ``fresh_within``."""

    kept: int = 0
    """Rounds of a site that were in time, since the keeper began."""
    late: int = 0
    worst_late_seconds: float = 0.0
    at_risk: tuple[AtRisk, ...] = ()
    """The most urgent first; some of them."""


class Volumes(msgspec.Struct, frozen=True):
    open: str = ""
    """The stamp of the volume being written; empty: none yet."""
    sealing: tuple[str, ...] = ()
    sealed: int = 0
    removed: int = 0
    """Versions removed by `keep_versions` since the collection was first kept."""
    freed_bytes: int = 0
    """Disk space that this freed."""


class RunningVisit(msgspec.Struct, frozen=True):
    """A visit under way."""

    site: str
    since: float
    pages: int = 0
    """Fetched so far."""
    of_pages: int = 0
    """To be fetched, not counting new ones."""
    why: str = "index"
    """"index", "promise", "first" or "user"."""


class Paused(msgspec.Struct, frozen=True):
    """A site that the user has paused."""

    site: str
    until: float


class NoticeCounts(msgspec.Struct, frozen=True):
    """What became of change notices."""

    told: int = 0
    failed: int = 0
    """Given up after all tries."""
    dropped: int = 0
    """Never tried, because too many were waiting."""
    waiting: int = 0


class Trouble(msgspec.Struct, frozen=True):
    """A problem that a person should know of, with its remedy."""

    what: str
    since: float
    remedy: str
    site: str = ""
    """Empty: it concerns the whole collection."""


class KeepHour(msgspec.Struct, frozen=True):
    """What a keeper did in one hour."""

    start: float
    """A whole hour."""
    counts: KeepCounts = KeepCounts()
    bytes_by_site: dict[str, int] = {}
    """Wire bytes of the largest sites; "" stands for all others together."""
    fresh: Fresh | None = None
    """As last estimated in this hour."""
    checked: Checked = Checked()
    kept: int = 0
    late: int = 0
    """Promises settled in this hour."""


class KeepStatus(msgspec.Struct, frozen=True):
    """A keeper at one moment, and hour by hour: what ``keep.json`` and ``headgate keep --status``
    hold.

    Times are seconds since 1970 unless a name says otherwise. Freshness and age are estimates, by
    what is known of each page's change rate; `Checked` holds them against what looks found.

    What ``headgate keep --status`` prints.
    """

    since: float
    """When the collection was first kept."""
    now: float
    """When this was written; a running keeper writes it every minute."""
    running: bool
    """False: it was stopped at ``now``."""
    sites: int
    pages: int
    due_now: int = 0
    """Sites with a page that is due, except those being visited."""
    visiting: tuple[RunningVisit, ...] = ()
    paused: tuple[Paused, ...] = ()
    """Some of the sites that the user has paused, those that resume soonest first."""
    budget: KeepBudget = KeepBudget()
    last_day: KeepCounts = KeepCounts()
    fresh: Fresh | None = None
    """None: no page is known yet."""
    checked: Checked = Checked()
    """Of the last thirty days."""
    promises: KeepPromises = KeepPromises()
    volumes: Volumes = Volumes()
    notices: NoticeCounts = NoticeCounts()
    troubles: tuple[Trouble, ...] = ()
    hour: KeepHour | None = None
    """The current hour."""
    policy: str = "index"
    objective: str = "age"
    version: int = 1
    """Of this document's form; a new number where a field changes its meaning or goes."""


@dataclass(frozen=True, slots=True)
class PromisedSite:
    """A site whose every page is to be fetched once per ``fresh_within``."""

    name: str
    fresh_within: Seconds
    size: SizeRange
    """Bytes for fetching all its pages once."""
    max_rate: BytesPerSecond | None = None
    """What its server gives or may be asked for; None: no bound."""

    @property
    def rate(self) -> float:
        """Mean bytes per second that the promise needs."""
        return self.size.likely / self.fresh_within


@dataclass(frozen=True, slots=True)
class KeepPlan:
    """Whether promised freshness can be kept: the answer to ``headgate plan --keep``.

    Computed from the likely sizes, except ``probability``.
    """

    sites: tuple[PromisedSite, ...]
    """Those with a promise, in the order of the site file."""
    others: int
    """Number of sites without a promise."""
    holds: bool
    """Whether all promises can be kept together."""
    probability: float
    """That they hold: 0 or 1 where sizes are known."""
    load: float
    """What all promises need, over the mean rate that the budget allows."""
    scale: float
    """The factor on the budget (timetable and quota alike) that would just do; infinite: none."""
    lateness: Seconds
    """How late every promise is if all are equally late; infinite: it grows without bound."""
    impossible: tuple[str, ...]
    """Sites whose promise could not be kept even if there were no other."""
    give_up: tuple[str, ...]
    """Sites to drop so that the other promises hold, the most expensive first."""
    least_bandwidth: BytesPerSecond | None
    """The bandwidth that would just do; None: it is a timetable, unlimited, or a quota is what
    binds."""
