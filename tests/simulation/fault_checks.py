"""What must be true after a crawl of a faulty world, however often it was interrupted.

The web's own log is the truth; tables, report and catalog are held against it.

- **Nothing lost or doubled.** Every URL is in the table once. What a page that came links to is in
  the table too, if robots.txt lets it; whatever is in the table was met that way. What the table
  says of a URL is what the web said to it last, and its bytes are in the archive.
- **Nothing counted twice or never.** The report's pages and fetches are the table's rows. Bytes of
  sites, of the line and of the quota are those that arrived, short of at most what arrived in the
  moments before the machine or a worker died. Those that servers' speeds are learned from are the
  whole responses'.
- **No second above the budget**, no day above the quota.
- **Deadlines** are said to be met exactly when they were, and stop those who are to stop then,
  over all legs.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.simulation.faulty_world import FaultyWorld, Leg

from headgate.bandwidth.receive_window import LEAST_WINDOW
from headgate.model.run_report import RunReport, SiteReport
from headgate.model.site import OnDeadline
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.storage.run_state import SAVE_SECONDS
from headgate.testing.simulated_web import SimulatedExchange

__all__ = ["check"]

_UNSAVED_SECONDS = 12.0
"""Of what is in no journal: reports are saved every ten seconds, line use every five."""
_UNTOLD_SECONDS = 1.5
"""Of what a worker that died had not told: it tells four times a second, to who looks twice."""
_UNTOLD_OF_SERVERS_SECONDS = 3.0
_HEARD_SECONDS = 1.0
"""Until a new rate of the user's holds: two looks."""
_FRAME = 1514
_STOPPING_SECONDS = 1.0
"""From a deadline to the last request: two looks."""
_LANDING_SECONDS = 12.0
"""From the last response of a site to its end: another try may be waited for, and given up."""


def check(world: FaultyWorld, report: RunReport) -> None:
    run = next(run for run in Collection(world.folder).runs() if run.stamp == report.stamp)
    assert not run.unfinished
    rows = pq.read_table(run.path / "pages.parquet").to_pylist()
    for site in report.sites:
        own = [row for row in rows if row["site"] == site.name]
        _check_site(world, site, own)
        _check_archive(run.warc, own)
    _check_bytes(world, report)
    _check_measures(world)
    _check_seconds(world)
    _check_quota(world)
    _check_deadlines(world, report)


def _check_site(world: FaultyWorld, site: SiteReport, rows: list[dict[str, Any]]) -> None:
    pages = {row["url"]: row for row in rows if row["role"] == "page"}
    assert len(pages) == sum(row["role"] == "page" for row in rows), f"{site.name}: a page twice"
    number = world.servers.site_of(f"http://{site.name}/")
    assert number is not None
    home, forbidden = f"http://{site.name}/", world.servers.forbidden(number)
    rules = _statuses(world, f"{home}robots.txt")

    def allowed(urls: Iterable[str]) -> set[str]:
        """In every leg: each learns the rules anew, and may be told something else."""
        return {url for url in urls if not forbidden or f".test{forbidden}" not in url}

    listed, found = world.servers.listed(number), {home}
    for url, row in pages.items():
        target = world.servers.target(url)
        if row["status"] == 200:
            found.update(world.servers.links(url))
        elif row["status"] == 301 and target is not None:
            found.add(target)
    needed = allowed(found)
    if _statuses(world, f"{home}sitemap.xml")[-1:] == [200]:
        needed |= allowed(listed)
    met = found.union(listed)
    if not {403, 404}.intersection(rules):
        met = allowed(met)
    assert pages.keys() <= met, f"{site.name}: nothing led to {sorted(pages.keys() - met)}"
    if site.state == "done" and not site.given_up:
        roles = {row["role"] for row in rows}
        assert {"robots", "sitemap"} <= roles, f"{site.name}: nobody asked for its sitemap"
        missing = needed - pages.keys()
        assert not missing, f"{site.name}: lost {sorted(missing)}"
    assert site.fetches == len(rows), f"{site.name}: {site.fetches} fetches, {len(rows)} rows"
    stored = sum(row["role"] == "page" and 200 <= (row["status"] or 0) < 300 for row in rows)
    assert site.pages == stored, f"{site.name}: {site.pages} pages told, {stored} stored"
    _check_words(world, rows)


def _statuses(world: FaultyWorld, url: str) -> list[int]:
    """That the web said to a URL, over all legs."""
    return [
        exchange.answer.status
        for exchange in world.line.exchanges
        if exchange.url == url and exchange.ended is not None and exchange.fault is None
    ]


def _check_words(world: FaultyWorld, rows: list[dict[str, Any]]) -> None:
    """Each row says what the web said at one time."""
    said: dict[str, set[tuple[int, str]]] = {}
    for exchange in world.line.exchanges:
        if exchange.ended is not None:
            word = (0, exchange.fault.value) if exchange.fault else (exchange.answer.status, "")
            said.setdefault(exchange.url, set()).add(word)
    for row in rows:
        word = (row["status"] or 0, row["error"] or "")
        assert word in said.get(row["url"], ()), f"{row['url']}: {word}, but {said[row['url']]}"


def _check_archive(warc: Path, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["error"] and not row["warc_file"]:
            continue
        with (warc / row["warc_file"]).open("rb") as file:
            file.seek(row["warc_offset"])
            record = zlib.decompressobj(31).decompress(file.read(row["warc_length"]))
        assert record.startswith(b"WARC/1.1\r\n"), row["url"]
        assert f"WARC-Target-URI: {row['url']}\r\n".encode() in record


@dataclass(frozen=True, slots=True)
class _Loss:
    """Bytes that arrived and may be in no ledger, by site."""

    by_site: Counter[str]

    @property
    def total(self) -> int:
        return self.by_site.total()


def _may_be_lost(world: FaultyWorld, seconds: float) -> _Loss:
    """What had arrived, and was neither stored nor looked at, when a leg ended badly or a worker
    died."""
    lost: Counter[str] = Counter()
    starts = [leg.exchanges_from for leg in world.legs] + [len(world.line.exchanges)]
    for leg, first, end in zip(world.legs, starts, starts[1:], strict=False):
        bad = leg.ending in ("died", "fault")
        for exchange in world.line.exchanges[first:end]:
            late = exchange.ended is None or exchange.ended > leg.seconds - seconds
            if (bad and late) or _with_a_worker(leg, exchange):
                lost[exchange.site] += exchange.wire_bytes
    return _Loss(lost)


def _with_a_worker(leg: Leg, exchange: SimulatedExchange) -> bool:
    """Whether nobody but a worker may have known of its bytes when it died."""
    return any(
        exchange.site in running and _lately(exchange, moment, _UNTOLD_SECONDS)
        for moment, running, _ in leg.deaths
    )


def _untold_of_a_server(leg: Leg, exchange: SimulatedExchange) -> bool:
    return any(
        exchange.site in asked and _lately(exchange, moment, _UNTOLD_OF_SERVERS_SECONDS)
        for moment, _, asked in leg.deaths
    )


def _lately(exchange: SimulatedExchange, moment: float, seconds: float) -> bool:
    ended = math.inf if exchange.ended is None else exchange.ended
    return exchange.at <= moment and ended > moment - seconds


def _check_bytes(world: FaultyWorld, report: RunReport) -> None:
    arrived: Counter[str] = Counter()
    for exchange in world.line.exchanges:
        arrived[exchange.site] += exchange.wire_bytes
    assert arrived.total() == world.line.wire_bytes
    loss = _may_be_lost(
        world, _UNSAVED_SECONDS + sum(s for leg in world.legs for _, s in leg.asleep)
    )
    for site in report.sites:
        least = arrived[site.name] - loss.by_site[site.name]
        assert least <= site.wire_bytes <= arrived[site.name], (
            f"{site.name}: {site.wire_bytes} bytes told, {arrived[site.name]} arrived, of which"
            f" {loss.by_site[site.name]} may be lost"
        )
    with SqliteCatalog(Collection(world.folder).catalog) as catalog:
        used = sum(catalog.line_use(0).values())
    assert arrived.total() - loss.total <= used <= arrived.total(), (
        f"the line carried {arrived.total()} bytes, {used} are counted, {loss.total} may be lost"
    )


def _check_measures(world: FaultyWorld) -> None:
    starts = [leg.exchanges_from for leg in world.legs] + [len(world.line.exchanges)]
    for leg, first, end in zip(world.legs, starts, starts[1:], strict=False):
        came = [
            exchange
            for exchange in world.line.exchanges[first:end]
            if exchange.ended is not None and exchange.fault is None
        ]
        whole = sum(exchange.wire_bytes for exchange in came)
        least = (
            0
            if leg.ending in ("died", "fault")
            else whole
            - sum(exchange.wire_bytes for exchange in came if _untold_of_a_server(leg, exchange))
        )
        assert least <= leg.measured_bytes <= whole, (
            f"{leg.measured_bytes} bytes measured of servers that sent {whole}"
        )


def _check_seconds(world: FaultyWorld) -> None:
    base = float(world.budget.bandwidth)  # type: ignore[arg-type]
    if math.isinf(base):
        return
    told = base
    """By `headgate budget` in an earlier leg: it holds from the first look on."""
    starts = [leg.line_from for leg in world.legs] + [len(world.line.arrivals)]
    for leg, first, end in zip(world.legs, starts, starts[1:], strict=False):
        rates = [(-math.inf, base), (0.0, told), *leg.budgets]
        for second, carried in _by_second(world.line.arrivals[first:end]).items():
            before = [rate for at, rate in rates if at <= second - _HEARD_SECONDS]
            lately = [rate for at, rate in rates if second - _HEARD_SECONDS < at < second + 1]
            most = max(before[-1], *lately) if lately else before[-1]
            each = 3 * max(0.01 * most, 2 * _FRAME) + max(LEAST_WINDOW, 0.01 * most)
            bound = most + world.workers * each
            assert carried <= bound, f"{carried} bytes in second {second} at {most:.0f} B/s"
        told = rates[-1][1]


def _by_second(arrivals: list[tuple[float, int]]) -> Counter[int]:
    seconds: Counter[int] = Counter()
    for at, amount in arrivals:
        seconds[math.floor(at)] += amount
    return seconds


def _check_quota(world: FaultyWorld) -> None:
    """Where clocks were set, days are what you make of them; and what came in the seconds before
    the machine died is forgotten."""
    quota = world.budget.quota
    if quota is None or any(leg.clock_set or leg.ending in ("died", "fault") for leg in world.legs):
        return
    days: Counter[float] = Counter()
    starts = [leg.line_from for leg in world.legs] + [len(world.line.arrivals)]
    for leg, first, end in zip(world.legs, starts, starts[1:], strict=False):
        for at, amount in world.line.arrivals[first:end]:
            days[(leg.wall + _awake_and_asleep(leg, at)) // 86400] += amount
    untold = _may_be_lost(world, 0.0).total
    assert max(days.values()) <= quota.bytes + untold, f"{days} of {quota}, {untold} untold"


@dataclass(slots=True)
class _Seen:
    """By the run's own seconds: legs without the pauses between them."""

    begun: dict[str, float]
    """Of each site, its last request."""
    ended: dict[str, float]
    """And its last response."""
    slack: float = 0.5


def _seen(world: FaultyWorld) -> _Seen:
    elapsed, seen = 0.0, _Seen({}, {})
    starts = [leg.exchanges_from for leg in world.legs] + [len(world.line.exchanges)]
    for leg, first, end in zip(world.legs, starts, starts[1:], strict=False):
        for exchange in world.line.exchanges[first:end]:
            if not _just_awake(leg, exchange.at):
                seen.begun[exchange.site] = elapsed + _awake_and_asleep(leg, exchange.at)
            if exchange.ended is not None:
                moment = elapsed + _awake_and_asleep(leg, exchange.ended)
                seen.ended[exchange.site] = max(seen.ended.get(exchange.site, 0.0), moment)
        elapsed += leg.seconds
        if leg.ending in ("died", "fault"):  # nobody knows when a machine that slept died
            seen.slack += 2 * SAVE_SECONDS + sum(seconds for _, seconds in leg.asleep)
    return seen


def _check_deadlines(world: FaultyWorld, report: RunReport) -> None:
    seen = _seen(world)
    for wanted in world.sites:
        if wanted.deadline is not None and wanted.on_deadline is OnDeadline.STOP:
            last = seen.begun.get(wanted.name, 0.0)
            assert last <= wanted.deadline + seen.slack + _STOPPING_SECONDS, (
                f"{wanted.name} was asked at {last}, to be stopped at {wanted.deadline}"
            )
    for site in report.sites:
        if site.state != "done" or site.finished is None or site.name not in seen.ended:
            continue
        off = site.finished - seen.ended[site.name]
        assert -seen.slack <= off <= seen.slack + _LANDING_SECONDS, (
            f"{site.name} ended at {seen.ended[site.name]}, told {site.finished}"
        )
        if site.deadline is not None and abs(site.finished - site.deadline) > 1e-3:
            in_time = site.finished <= site.deadline
            assert site.met == (in_time and site.pages > 0 and not site.given_up), site.name


def _awake_and_asleep(leg: Leg, at: float) -> float:
    """Seconds of a leg, by the loop's time, which stands still while the machine sleeps."""
    return at + sum(seconds for moment, seconds in leg.asleep if moment <= at)


def _just_awake(leg: Leg, at: float) -> bool:
    """Whatever was to happen while the machine slept happens at the next look."""
    return any(0 <= at - moment <= _STOPPING_SECONDS for moment, _ in leg.asleep)
