"""The small web of ``headgate demo``: seven sites on loopback, fast, large, slow, far, polite,
broken and endless. Real servers on real sockets; the same seed and year give the same pages.

    async with DemoWeb() as web:
        for place in web.places:
            print(place.name, place.seed, place.bytes, place.deadline)

Crawled at 300 KB/s, all of it takes about half a minute, and every suggested deadline can be met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from headgate.lab.worlds.demo_server import DemoServer
from headgate.lab.worlds.demo_sites import DemoSite, demo_sites

__all__ = ["DemoPlace", "DemoWeb"]

_FIRST_ADDRESS = 11
"""Of 127.0.0.x: each site has one of its own, as hosts on the Web do."""


@dataclass(frozen=True, slots=True)
class DemoPlace:
    """Where a site is, and what a crawler should know of it."""

    name: str
    about: str
    seed: str
    bytes: int
    """That a crawl moves over the line, about."""
    deadline: float | None
    """Seconds from the start that suit 300 KB/s for all sites."""
    max_rate: float | None
    """What the server can give, in bytes per second; None: more than enough."""


class DemoWeb:
    """Serves inside ``async with``, in the loop that entered it."""

    def __init__(
        self, seed: int = 1, year: int = 2026, sites: Sequence[DemoSite] | None = None
    ) -> None:
        """``year`` is where the endless calendar begins: the year of the crawl. ``sites``: others
        than the seven."""
        chosen = demo_sites(seed, year) if sites is None else sites
        self._servers = [DemoServer(site) for site in chosen]

    async def __aenter__(self) -> Self:
        for number, server in enumerate(self._servers):
            await server.start(f"127.0.0.{_FIRST_ADDRESS + number}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            await server.stop()

    @property
    def places(self) -> tuple[DemoPlace, ...]:
        """All sites, while they are served."""
        return tuple(
            DemoPlace(site.name, site.about, server.seed, site.bytes, site.deadline, site.max_rate)
            for server in self._servers
            for site in (server.site,)
        )

    def asked(self, name: str) -> Counter[str]:
        """How often each path of a site was requested."""
        return next(server.asked for server in self._servers if server.site.name == name)

    @property
    def moved(self) -> int:
        """Bytes of all requests and answers so far."""
        return sum(server.moved for server in self._servers)
