"""A keeper at one moment, and hour by hour: what ``keep.json`` and ``headgate keep --status`` hold.

Times are seconds since 1970 unless a name says otherwise. Freshness and age are estimates, by what
is known of each page's change rate; `Checked` holds them against what looks found.
"""

from __future__ import annotations

import msgspec

__all__ = [
    "CHECK_BINS",
    "AtRisk",
    "Checked",
    "Fresh",
    "KeepBudget",
    "KeepCounts",
    "KeepHour",
    "KeepPromises",
    "KeepStatus",
    "NoticeCounts",
    "Paused",
    "Trouble",
    "Visiting",
    "Volumes",
]

CHECK_BINS = 10


class KeepCounts(msgspec.Struct, frozen=True):
    """What was done in some time."""

    visits: int = 0
    asked: int = 0
    """Pages that were looked at, the new ones too."""
    changed: int = 0
    not_modified: int = 0
    """Found as they were, whatever the server sent."""
    new: int = 0
    gone: int = 0
    wire_bytes: int = 0
    saved_bytes: int = 0
    """That pages known to be unchanged did not need."""

    def plus(self, other: KeepCounts) -> KeepCounts:
        """Both.

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
    """Nothing may pass until then, the quota is used up."""


class Fresh(msgspec.Struct, frozen=True):
    """How fresh the pages are, as far as it can be known without asking."""

    estimated: float
    """Expected share of pages that are as they were fetched."""
    weighted: float
    """The same, each page by its importance."""
    mean_age_seconds: float
    """Expected time since a page's first change that was not fetched; 0 for a fresh page."""
    p95_age_seconds: float


class Checked(msgspec.Struct, frozen=True):
    """What looks found, by what had been said: of pages said to be changed with 30 %, 30 % should
    be. The first bin is up to a tenth, the last above nine."""

    looks: tuple[int, ...] = (0,) * CHECK_BINS
    said: tuple[float, ...] = (0.0,) * CHECK_BINS
    """Probabilities of change before the looks, added up."""
    found: tuple[int, ...] = (0,) * CHECK_BINS
    """Pages that had changed."""

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
    """By when its oldest page has to be looked at."""
    slack_seconds: float
    """Left beside what the visit takes; negative: it will be late."""


class KeepPromises(msgspec.Struct, frozen=True):
    """Of all sites with ``fresh_within``."""

    kept: int = 0
    """Rounds of a site that were in time, since the keeper began."""
    late: int = 0
    worst_late_seconds: float = 0.0
    at_risk: tuple[AtRisk, ...] = ()
    """The most urgent first; some of them."""


class Volumes(msgspec.Struct, frozen=True):
    open: str = ""
    """The stamp of the one that is filled; empty: none yet."""
    sealing: tuple[str, ...] = ()
    sealed: int = 0
    removed: int = 0
    """Looks that `keep_versions` let go, since the collection was first kept."""
    freed_bytes: int = 0
    """On the disk, by that."""


class Visiting(msgspec.Struct, frozen=True):
    """A visit under way."""

    site: str
    since: float
    pages: int = 0
    """Looked at so far."""
    of_pages: int = 0
    """To be looked at, new ones beside."""
    why: str = "index"
    """"index", "promise", "first" or "user"."""


class Paused(msgspec.Struct, frozen=True):
    """A site that the user wants left alone."""

    site: str
    until: float


class NoticeCounts(msgspec.Struct, frozen=True):
    """What became of the changes that somebody was to be told of."""

    told: int = 0
    failed: int = 0
    """Given up after all tries."""
    dropped: int = 0
    """Never tried, since too many waited."""
    waiting: int = 0


class Trouble(msgspec.Struct, frozen=True):
    """Something that a person should know of, with what to do."""

    what: str
    since: float
    remedy: str
    site: str = ""
    """Empty: it concerns the whole."""


class KeepHour(msgspec.Struct, frozen=True):
    """One hour of a keeper's life."""

    start: float
    """A whole hour."""
    counts: KeepCounts = KeepCounts()
    bytes_by_site: dict[str, int] = {}
    """On the line; the largest, and "" for all others together."""
    fresh: Fresh | None = None
    """As it was last estimated in it."""
    checked: Checked = Checked()
    kept: int = 0
    late: int = 0
    """Promises that were settled in it."""


class KeepStatus(msgspec.Struct, frozen=True):
    """All that ``headgate keep --status`` tells."""

    since: float
    """When the collection was first kept."""
    now: float
    """When this was written: a keeper that runs writes it every minute."""
    running: bool
    """False: it was stopped at ``now``."""
    sites: int
    pages: int
    due_now: int = 0
    """Sites with a page that would be asked if there were room; not those that are visited."""
    visiting: tuple[Visiting, ...] = ()
    paused: tuple[Paused, ...] = ()
    """By the user; the first that go on, some of them."""
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
    """The one that is not over."""
    policy: str = "index"
    objective: str = "age"
    version: int = 1
    """Of this document's form; a new number where a field changes its meaning or goes."""
