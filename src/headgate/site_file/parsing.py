"""The site file: what the user wants crawled and what the crawl may use, as TOML.

Text in, values out; the caller reads the file. Whatever is wrong with the text, the answer is a
`SiteFileError` with file, line, key and remedy, never another exception. Options of the command
line do not make a file valid or invalid, except that a bandwidth given there may be missing here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from headgate.model.budget import Budget, Objective
from headgate.model.errors import SiteFileError, UserMistake
from headgate.model.grid import GridTerms
from headgate.model.keeping import Keeping, Staleness
from headgate.model.score_order import SCORE, ScoreOrder
from headgate.model.site import TOPIC, Access, Site
from headgate.model.timetable import Calendar, Timetable
from headgate.model.units import BytesPerSecond, format_rate
from headgate.site_file.keys import (
    BUDGET_KEYS,
    BUDGET_READERS,
    GRID_KEYS,
    GRID_READERS,
    SITE_KEYS,
    SITE_READERS,
    Readers,
)
from headgate.site_file.site_values import (
    ACCESS_READERS,
    KEEPING_READERS,
    promise_problem,
    read_objective,
)
from headgate.site_file.toml_text import MOST_SITES, Path, SiteFileText, TomlPositions
from headgate.site_file.values import (
    Count,
    ElementMistake,
    did_you_mean,
    read_admission,
    read_bandwidth,
    read_country,
    read_order_of_all,
    read_quota,
    read_timetable,
    read_zone,
)

__all__ = ["MOST_SITES", "SiteFile", "parse_budget", "parse_grid", "parse_site_file", "site_error"]

_Value = TypeVar("_Value")
_Default = TypeVar("_Default")


def parse_site_file(
    text: str,
    path: str,
    *,
    bandwidth: BytesPerSecond | None = None,
    unless_given: BytesPerSecond | None = None,
) -> SiteFile:
    """Read a site file's text; ``path`` names it in errors, ``bandwidth`` replaces its own.

    ``unless_given`` is the bandwidth where it has none; without it, that is an error.

    >>> text = '[budget]\\nbandwidth = "1 MB/s"\\n[site.docs]\\ndeadline = "30m"'
    >>> file = parse_site_file(text, "sites.toml")
    >>> file.budget.bandwidth, file.sites[0].name, file.sites[0].deadline
    (1000000.0, 'docs', 1800.0)
    """
    source = SiteFileText(text, path)
    top = _Table(source, (), source.document())
    top.refuse_unknown(("budget", "grid", "site"))
    budget_table = top.table("budget")
    own_bandwidth = _own_bandwidth(budget_table)
    budget = _budget(budget_table, bandwidth or own_bandwidth or unless_given)
    _refuse_floor_above(budget_table, budget.make_way_floor, own_bandwidth)
    grid = _grid(top.table("grid"))
    return SiteFile(budget, _sites(top.table("site"), own_bandwidth), grid)


def parse_budget(text: str, path: str, unless_given: BytesPerSecond) -> Budget:
    """The budget of a site file alone; it may have no sites. ``unless_given``: its bandwidth where
    it has none.

    >>> parse_budget('[budget]\\nquota = "1 GB/day"', "line.toml", BytesPerSecond(5.0)).bandwidth
    5.0
    """
    source = SiteFileText(text, path)
    top = _Table(source, (), source.document())
    top.refuse_unknown(("budget", "grid", "site"))
    table = top.table("budget")
    own_bandwidth = _own_bandwidth(table)
    budget = _budget(table, own_bandwidth or unless_given)
    _refuse_floor_above(table, budget.make_way_floor, own_bandwidth)
    return budget


def parse_grid(text: str, path: str) -> GridTerms:
    """The grid's settings of a site file; it may have no sites.

    >>> parse_grid('[grid]\\nlease = "30s"', "line.toml").lease
    30.0
    """
    source = SiteFileText(text, path)
    return _grid(_Table(source, (), source.document()).table("grid"))


def site_error(text: str, path: str, name: str, key: str, problem: str) -> SiteFileError:
    """An error about a site's key, given or missing, that was found after parsing."""
    return SiteFileText(text, path).error(problem, ("site", name, key))


class _Table(msgspec.Struct, frozen=True):
    """A table of the file, and its path."""

    source: SiteFileText
    at: Path
    values: dict[str, Any]

    def refuse_unknown(self, known: tuple[str, ...]) -> None:
        for name, value in self.values.items():
            if name in known:
                continue
            home = next((home for home, keys in _HOMES.items() if name in keys), None)
            remedy = f"it belongs under {home}" if home else did_you_mean(name, known)
            what = "key" if self.at or not isinstance(value, dict) else "table"
            raise self.source.error(f"there is no such {what}; {remedy}", (*self.at, name))

    def table(self, name: str) -> _Table:
        values = self.values.get(name, {})
        at = (*self.at, name)
        if not isinstance(values, dict):
            header = "[site.NAME]" if name == "site" else f"[{'.'.join(map(str, at))}]"
            raise self.source.error(f"this must be a table; write it as {header}", at)
        return _Table(self.source, at, values)

    def read(
        self, key: str, reader: Callable[[object], _Value], default: _Default
    ) -> _Value | _Default:
        if key not in self.values:
            return default
        try:
            return reader(self.values[key])
        except ElementMistake as mistake:
            raise self.error(str(mistake), key, mistake.index) from None
        except UserMistake as mistake:
            raise self.error(str(mistake), key) from None

    def read_given(self, readers: Readers) -> dict[str, Any]:
        """The values of those keys that the table has."""
        return {
            key: self.read(key, reader, None)
            for key, reader in readers.items()
            if key in self.values
        }

    def error(self, problem: str, *at: str | int) -> SiteFileError:
        return self.source.error(problem, (*self.at, *at))


_HOMES = {"[budget]": BUDGET_KEYS, "[grid]": GRID_KEYS, "a [site.NAME]": SITE_KEYS}


def _own_bandwidth(table: _Table) -> BytesPerSecond | Timetable | None:
    table.refuse_unknown(BUDGET_KEYS)
    if isinstance(table.values.get("bandwidth"), list):
        zone = _zone(table)
        return table.read("bandwidth", lambda value: read_timetable(value, zone), None)
    return table.read("bandwidth", read_bandwidth, None)


def _zone(table: _Table) -> ZoneInfo:
    return table.read("zone", read_zone, ZoneInfo("UTC"))


def _budget(table: _Table, bandwidth: BytesPerSecond | Timetable | None) -> Budget:
    zone = _zone(table)
    calendar = table.read("country", lambda value: read_country(value, zone), Calendar(zone))
    if bandwidth is None:
        raise table.error('no bandwidth is given; add bandwidth = "1 MB/s" to [budget]')
    wanted = table.read("objective", read_objective, None)
    return Budget(
        bandwidth,
        objective=wanted if isinstance(wanted, Objective) else Objective.MAKESPAN,
        calendar=calendar,
        quota=table.read("quota", lambda value: read_quota(value, zone), None),
        order=_order_of_all(table),
        staleness=wanted if isinstance(wanted, Staleness) else Staleness.AGE,
        **table.read_given(BUDGET_READERS),
    )


def _order_of_all(table: _Table) -> ScoreOrder | None:
    usual = ScoreOrder()
    admission = table.read("admission", read_admission, usual.admission)
    look_ahead = table.read("look_ahead", Count(), usual.look_ahead)
    if "order" in table.values:
        table.read("order", read_order_of_all, "")
        return ScoreOrder(admission, look_ahead)
    for key in ("admission", "look_ahead"):
        if key in table.values:
            raise table.error(f'it needs order = "{SCORE}" beside it', key)
    return None


def _grid(table: _Table) -> GridTerms:
    table.refuse_unknown(GRID_KEYS)
    return GridTerms(**table.read_given(GRID_READERS))


def _sites(table: _Table, own_bandwidth: BytesPerSecond | Timetable | None) -> tuple[Site, ...]:
    if not table.values:
        raise table.error("there are no sites; add a table like [site.docs] for each")
    if len(table.values) > MOST_SITES:
        first_too_many = (*table.at, list(table.values)[MOST_SITES])
        line = TomlPositions.from_text(table.source.text).line_of(first_too_many)
        raise table.source.too_many_sites(line)
    sites = tuple(_site(table.table(name), name) for name in table.values)
    for site in sites:
        _refuse_idle_cap(table, site, own_bandwidth)
    return sites


def _site(table: _Table, name: str) -> Site:
    if not name or not name.isprintable():
        raise table.error("a site's name must be printable and not empty; rename it")
    table.refuse_unknown(SITE_KEYS)
    if table.values.get("order") == TOPIC and not table.values.keys() & {"focus", "focus_pages"}:
        raise table.error('the order "topic" needs a topic; add focus = "food safety"', "order")
    return Site(
        name, access=_access(table), keeping=_keeping(table), **table.read_given(SITE_READERS)
    )


def _access(table: _Table) -> Access:
    given = table.read_given(ACCESS_READERS)
    if ("login" in given) != ("login_fields" in given):
        key, other = ("login", "login_fields") if "login" in given else ("login_fields", "login")
        raise table.error(f"it needs {other} beside it", key)
    return Access(**given) if given else _USUAL_ACCESS


def _keeping(table: _Table) -> Keeping:
    given = table.read_given(KEEPING_READERS)
    if not given:
        return _USUAL_KEEPING
    keeping = Keeping(**given)
    if problem := promise_problem(keeping):
        raise table.error(problem, "fresh_within")
    return keeping


_USUAL_ACCESS = Access()
_USUAL_KEEPING = Keeping()


def _refuse_idle_cap(
    table: _Table, site: Site, bandwidth: BytesPerSecond | Timetable | None
) -> None:
    if site.max_rate is None or bandwidth is None:
        return
    budget, peak = _highest(bandwidth)
    if site.max_rate > peak:
        raise table.error(
            f"{format_rate(site.max_rate)} is above {budget}, {format_rate(peak)}, so it can never"
            " bind; lower it or drop it",
            site.name,
            "max_rate",
        )


def _refuse_floor_above(
    table: _Table, floor: BytesPerSecond | None, bandwidth: BytesPerSecond | Timetable | None
) -> None:
    if floor is None or bandwidth is None:
        return
    budget, peak = _highest(bandwidth)
    if floor > peak:
        raise table.error(
            f"{format_rate(floor)} is above {budget}, {format_rate(peak)}, so way would never be"
            " made; lower it or drop it",
            "make_way_floor",
        )


def _highest(bandwidth: BytesPerSecond | Timetable) -> tuple[str, BytesPerSecond]:
    if isinstance(bandwidth, Timetable):
        return "the timetable's highest rate", max(rate for *_, rate in bandwidth.turns)
    return "the budget", bandwidth


class SiteFile(msgspec.Struct, frozen=True):
    """What a site file says, apart from how it is written: a crawl of URLs has no file to parse.

    It has at least one site; names are distinct.
    """

    budget: Budget
    sites: tuple[Site, ...]
    grid: GridTerms = GridTerms()
