"""Which hosts have a visit running: sites that share a host wait for each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["HostGuests"]


@dataclass(slots=True)
class HostGuests:
    _hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each site."""
    _sites: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """At each host."""
    _visits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Sites with a running visit, and their hosts when it began."""

    def put(self, site: str, hosts: Iterable[str]) -> int:
        """Set the hosts of a site; return how many visits are running there."""
        self.drop(site)
        self._hosts[site] = tuple(hosts)
        for host in self._hosts[site]:
            self._sites[host].add(site)
        return sum(
            visited == site or not set(there).isdisjoint(self._hosts[site])
            for visited, there in self._visits.items()
        )

    def drop(self, site: str) -> None:
        """Remove a site; its running visit may still end."""
        for host in self._hosts.pop(site, ()):
            self._sites[host].discard(site)
            if not self._sites[host]:
                del self._sites[host]

    def begin(self, site: str) -> set[str]:
        """Begin a visit; return the sites that it blocks, the site itself included."""
        if site in self._visits:
            raise ValueError(f"{site} is being visited already")
        self._visits[site] = self._hosts[site]
        return self._near(site)

    def end(self, site: str) -> set[str]:
        """End a visit; return the sites that it blocked."""
        near = self._near(site)
        del self._visits[site]
        return near

    def _near(self, site: str) -> set[str]:
        near = set().union(*(self._sites.get(host, ()) for host in self._visits[site]))
        return near | ({site} & self._hosts.keys())
