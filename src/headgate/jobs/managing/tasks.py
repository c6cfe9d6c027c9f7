"""From sites to tasks of a grid: what each will take, and which may not run at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from headgate.control.board_rows import NewTask
from headgate.control.forecast import Forecast, Source
from headgate.crawling.task_messages import encoded
from headgate.frontier.scope import host_of
from headgate.grid.given_tasks import TaskSpec
from headgate.model.site import POLITE_DELAY, Site
from headgate.model.task import Task
from headgate.model.units import BytesPerSecond, Seconds
from headgate.placing.cost_model import ScanCost, scan_seconds

__all__ = ["host_groups", "new_tasks", "shared_site"]

_MEAN_PAGE_BYTES = 20e3
_ANSWER_SECONDS = 0.25
_WEB_RATE = 1e6
_NODE_RATE = 5e6
"""Bytes per second, where nothing is known: of a server and of a node."""


def new_tasks(
    sites: Sequence[Site], forecasts: Mapping[str, Forecast], run: str, wall: float, contact: str
) -> Iterator[NewTask]:
    """One for each site, from ``wall`` on. The longest goes first, after those with a promise."""
    groups = host_groups(sites)
    return (
        _task(site, forecasts[site.name], groups[site.name], run, wall, contact) for site in sites
    )


def host_groups(sites: Iterable[Site]) -> dict[str, str]:
    """A name for the hosts of each site's seeds: sites that share a host have the same, also by way
    of a third, so that a node alone is at all of them.

    >>> a, b = Site("a", ("http://x/", "http://y/")), Site("b", ("http://y/2",))
    >>> host_groups([a, b, Site("c", ("http://z/",))])
    {'a': 'x', 'b': 'x', 'c': 'z'}
    """
    leader: dict[str, str] = {}

    def lead(host: str) -> str:
        while leader.setdefault(host, host) != host:
            host = leader[host]
        return host

    for site in sites:
        first, *others = [host_of(seed) for seed in site.seeds]
        for host in others:
            one, two = sorted((lead(first), lead(host)))
            leader[two] = one
    return {site.name: lead(host_of(site.seeds[0])) for site in sites}


def _task(site: Site, known: Forecast, host: str, run: str, wall: float, contact: str) -> NewTask:
    seconds = _expected_seconds(site, known)
    spec = TaskSpec(task=Task(shared_site(site)), contact=contact)
    return NewTask(
        run=run,
        site=site.name,
        host=host,
        spec=encoded(spec),
        value=seconds,
        due=None if site.deadline is None else wall + site.deadline,
        expected_bytes=0.0 if known.source is Source.GUESS else known.bytes,
        expected_seconds=seconds,
        nodes_at_once=site.nodes_at_once,
    )


def shared_site(site: Site) -> Site:
    """As one of several nodes is told that are at it at once: all together they are as polite as
    one."""
    nodes = site.nodes_at_once
    if nodes == 1:
        return site
    rate = site.max_rate
    connections = site.connections
    return replace(
        site,
        delay=Seconds((site.delay if site.delay is not None else POLITE_DELAY) * nodes),
        max_rate=None if rate is None else BytesPerSecond(rate / nodes),
        connections=None if connections is None else max(connections // nodes, 1),
    )


def _expected_seconds(site: Site, known: Forecast) -> float:
    cost = ScanCost(
        pages=known.bytes / _MEAN_PAGE_BYTES,
        size_bytes=known.bytes,
        answer_seconds=_ANSWER_SECONDS,
        web_bytes_per_second=known.cap or _WEB_RATE,
        delay_seconds=site.delay or 0.0,
    )
    return scan_seconds(cost, _NODE_RATE)
