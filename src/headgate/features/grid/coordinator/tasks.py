"""Makes the tasks of a grid from sites: their expected costs, and which may not run at once.

A site is one task; if several nodes may crawl it (`features.grid.scheduler.site_splitting`), its
tasks are parts.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import msgspec
from msgspec.structs import replace

from headgate.control.forecast import Forecast, Source
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.placement.batches import ScanCost, scan_seconds
from headgate.features.grid.protocol import encoded
from headgate.features.grid.scheduler.records import NewTask
from headgate.features.grid.scheduler.site_splitting import HostGroups, PlannedPart, first_round
from headgate.frontier.scope import host_of, urls_of
from headgate.model.site import POLITE_DELAY, Site
from headgate.model.task import SitePart, Task
from headgate.model.units import BytesPerSecond, Seconds

__all__ = ["PackedSites", "TaskFactory", "host_groups", "shared_site"]

_MEAN_PAGE_BYTES = 20e3
_ANSWER_SECONDS = 0.25
_WEB_RATE = 1e6
_NODE_RATE = 5e6
"""Assumed bytes per second of an unknown server, and of a node."""


@dataclass(frozen=True, slots=True)
class TaskFactory:
    """Makes the tasks of a run."""

    sites: Sequence[Site]
    groups: Mapping[str, HostGroups]
    """Hosts of the sites that several nodes may crawl."""
    forecasts: Mapping[str, Forecast]
    run: str
    wall: float
    """When the run began."""
    contact: str
    _hosts: dict[str, str] = field(init=False)
    """The host of each task, by site, or by group of hosts for a shared site."""
    _guests: Counter[str] = field(init=False)
    """Number of sites and groups of hosts at each host."""

    def __post_init__(self) -> None:
        apart = [one for site in self.sites for one in self._apart(site)]
        object.__setattr__(self, "_hosts", host_groups(apart))
        object.__setattr__(self, "_guests", Counter(self._hosts.values()))

    def new(self) -> Iterator[NewTask]:
        """One for each site or, of those that are shared, for each part of the first round. The
        longest goes first, after those with a promise."""
        for site in self.sites:
            groups = self.groups.get(site.name)
            if groups is None:
                yield self._whole(site)
            else:
                yield from self.parts(site, first_round(site, groups), 1)

    def parts(
        self, site: Site, planned: Sequence[PlannedPart], number: int, joined: Sequence[str] = ()
    ) -> list[NewTask]:
        """The tasks of one round, numbered from ``number`` on within the site. ``joined``: URLs
        whose hosts have joined the site."""
        return [
            self._part(site, one, number + k, len(planned), joined) for k, one in enumerate(planned)
        ]

    def _whole(self, site: Site) -> NewTask:
        seconds = _expected_seconds(site, self.forecasts[site.name])
        task = Task(shared_site(site), nodes=site.nodes_at_once)
        return self._task(site, task, self._hosts[site.name], seconds, 1)

    def _part(
        self, site: Site, planned: PlannedPart, number: int, parts: int, joined: Sequence[str]
    ) -> NewTask:
        part = planned.part
        host = self._hosts[_of_group(site, part.group)]
        nodes = planned.nodes if self._guests[host] == 1 else site.nodes_at_once
        named = shared_site(site, nodes)
        if named.max_rate is not None:
            named = replace(named, max_rate=BytesPerSecond(named.max_rate / len(part.hosts)))
        seeds = tuple(dict.fromkeys((*site.seeds, *joined)))
        named = replace(named, name=f"{site.name} (part {number})", seeds=seeds)
        seconds = _expected_seconds(site, self.forecasts[site.name]) / parts
        task = Task(named, number, part=part, nodes=nodes)
        new = self._task(site, task, host, seconds, parts)
        return replace(new, part=_in_words(part), visit=number, nodes_at_once=nodes)

    def _task(self, site: Site, task: Task, host: str, seconds: float, parts: int) -> NewTask:
        known = self.forecasts[site.name]
        size = 0.0 if known.source is Source.GUESS else known.bytes
        spec = TaskSpec(task=task, contact=self.contact, site_bytes=size if parts > 1 else 0.0)
        return NewTask(
            run=self.run,
            site=site.name,
            host=host,
            spec=encoded(spec),
            value=seconds,
            due=None if site.deadline is None else self.wall + site.deadline,
            expected_bytes=size / parts,
            expected_seconds=seconds,
            nodes_at_once=site.nodes_at_once,
        )

    def _apart(self, site: Site) -> Iterator[Site]:
        """The site, or one site for each of its groups of hosts."""
        groups = self.groups.get(site.name)
        if groups is None:
            yield site
            return
        for number in range(len(groups)):
            mine = urls_of(SitePart(site.name, hosts=groups, group=number))(site.seeds)
            yield Site(_of_group(site, number), tuple(mine) or site.seeds)


def _in_words(part: SitePart) -> str:
    """
    >>> _in_words(SitePart("s", 2, (("a",), ("b",)), group=1, share=3, shares=6))
    'round 2, hosts 2 of 2, share 4 of 6'
    """
    words = f"round {part.round}"
    if len(part.hosts) > 1:
        words += f", hosts {part.group + 1} of {len(part.hosts)}"
    return words if part.shares == 1 else f"{words}, share {part.share + 1} of {part.shares}"


def _of_group(site: Site, group: int) -> str:
    return f"{site.name}\n{group}"


def host_groups(sites: Iterable[Site]) -> dict[str, str]:
    """A name for the hosts of each site's seeds. Sites that share a host, also by way of a third
    site, have the same name, so that only one node crawls them.

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


def shared_site(site: Site, nodes: int | None = None) -> Site:
    """The site for one of several ``nodes`` (default: ``nodes_at_once``) that crawl it at once:
    together they are as polite as one."""
    nodes = nodes or site.nodes_at_once
    if nodes == 1:
        return site
    rate = site.max_rate
    connections = site.connections
    if connections is None and site.delay is None:
        connections = 1  # each is polite to an unknown server
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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Site).decode


class PackedSites(Sequence[Site]):
    """Many sites in little memory.

    Sites as MessagePack: a hundred thousand take 6 MB, where objects would take 45. Each access
    makes another object.

    >>> sites = PackedSites([Site("a"), Site("b", depth=2)])
    >>> len(sites), sites[1].depth, [site.name for site in sites]
    (2, 2, ['a', 'b'])
    """

    __slots__ = ("_data", "_ends")

    def __init__(self, sites: Iterable[Site]) -> None:
        self._data = bytearray()
        self._ends = array("q", [0])
        for site in sites:
            self._data += _encode(site)
            self._ends.append(len(self._data))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[Site]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Site: ...

    @overload
    def __getitem__(self, at: slice) -> list[Site]: ...

    def __getitem__(self, at: int | slice) -> Site | list[Site]:
        numbers = range(len(self))[at]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return _decode(memoryview(self._data)[self._ends[numbers] : self._ends[numbers + 1]])
