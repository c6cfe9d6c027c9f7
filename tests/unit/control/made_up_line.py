"""A crawl on a made-up line: sites of so many bytes behind servers of so many bytes per second.

It plays the part of nodes and clock for a `Manager`: every site takes what it is granted as far as
its server gives it, begins with a moment in which nothing comes, and ends when its bytes are there.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.control.manager import Command, Manager, SetRates
from headgate.crawling.progress import Progress

__all__ = ["MadeUpSite", "crawl"]

_STEP = 0.05
_LOOK_STEPS = 20
_PAGE = 12_000


@dataclass(slots=True)
class MadeUpSite:
    """``bytes`` still to come at ``speed`` bytes per second at the most."""

    bytes: float
    speed: float
    silence: float = 0.0
    """Seconds from the start of the site until its first byte."""
    came: float = 0.0
    started: float | None = None


def crawl(manager: Manager, sites: dict[str, MadeUpSite], most: float = 3600.0) -> dict[str, float]:
    """Crawl to the end; when each site ended."""
    ends: dict[str, float] = {}
    steps, turn = 0, 0.0
    while not manager.done and steps * _STEP < most:
        now = steps * _STEP
        if now >= turn:
            _perform(manager.begin(now), sites, now)
            turn = manager.next_turn(now)
        if steps % _LOOK_STEPS == 0:
            _perform(manager.progressed(_reports(sites), now), sites, now)
        rates = dict(manager.rates)
        if manager.capacity is not None:
            assert sum(rates.values()) <= manager.capacity.rate_at(now) * (1 + 1e-9)
        for name, rate in rates.items():
            site = sites[name]
            if site.started is not None and now >= site.started + site.silence:
                site.came += min(rate, site.speed) * _STEP
            if site.came >= site.bytes:
                ends[name] = now + _STEP
        steps += 1
        for name in [name for name in rates if name in ends]:
            _perform(manager.ended(name, ends[name]), sites, ends[name])
    return ends


def _perform(commands: list[Command], sites: dict[str, MadeUpSite], now: float) -> None:
    for command in commands:
        if isinstance(command, SetRates):
            for name in command.rates:
                if sites[name].started is None:
                    sites[name].started = now


def _reports(sites: dict[str, MadeUpSite]) -> list[Progress]:
    return [
        Progress(
            name,
            started=site.started,
            wire_bytes=int(site.came),
            fetches=max(int(site.came / _PAGE), 1),
            to_do=int((site.bytes - site.came) / _PAGE) + 1 if site.came else 1,
        )
        for name, site in sites.items()
        if site.started is not None and site.came < site.bytes
    ]
