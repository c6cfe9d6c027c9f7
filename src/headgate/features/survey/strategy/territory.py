"""The servers of a survey and the hosts they link to; new hosts may become servers.

A host that lies in the domain of a known server is part of that server. Each other host in scope
becomes a server of its own, once, in the round after the one it was found in. Wildcard DNS has
endless names, so a registered domain may have at most ``names_per_domain`` servers, and a server
may name at most ``most_hosts`` new hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headgate.features.survey.strategy.events import Harvest
from headgate.features.survey.strategy.rules import (
    RegistrableDomain,
    SurveyRules,
    domain_of_host,
    parents,
)
from headgate.features.survey.strategy.server_tree import ServerState, ServerTree
from headgate.frontier.politeness import HostPoliteness
from headgate.reading.urls import host, origin

__all__ = ["Territory"]

_WAITING_PER_REQUEST = 4


class Territory:
    """Grows by a tree per server and a name per host found."""

    def __init__(self, rules: SurveyRules, registrable: RegistrableDomain) -> None:
        self.trees: list[ServerTree] = []
        self.hosts: set[str] = set()
        """External hosts found so far."""
        self._rules = rules
        self._registrable = registrable
        self._by_domain: dict[str, int] = {}
        self._names: Counter[str] = Counter()

    def tree_of(self, name: str) -> ServerTree | None:
        """The server that a host belongs to."""
        for domain in parents(name):
            number = self._by_domain.get(domain)
            if number is not None:
                return self.trees[number]
        return None

    def plant(self, url: str, round_: int) -> ServerTree:
        """A new server."""
        domain = self.domain(host(url))
        tree = ServerTree(
            len(self.trees),
            url,
            domain=domain,
            round=round_,
            pace=HostPoliteness(self._rules.pace),
            most_waiting=_WAITING_PER_REQUEST * self._rules.most_requests,
        )
        self.trees.append(tree)
        self._by_domain[domain] = tree.number
        self._names[self._registrable(domain)] += 1
        return tree

    def domain(self, name: str) -> str:
        """Of the server that a host would begin."""
        return self._registrable(name) if self._rules.whole_registration else domain_of_host(name)

    def leave(self, domains: Iterable[str]) -> None:
        """These servers are left to others; called before any is planted."""
        for domain in domains:
            self.plant(f"http://{domain}/", 0).close(ServerState.DONE)

    def found(self, url: str, tree: ServerTree, harvest: Harvest) -> ServerTree | None:
        """A link that leads out of ``tree``; returns the new server, if it makes one."""
        name = host(url)
        if name in self.hosts:
            return None
        if tree.new_hosts >= self._rules.most_hosts:
            harvest.unwanted.add(name)
            tree.cut += 1
            return None
        self.hosts.add(name)
        tree.new_hosts += 1
        harvest.new_hosts.append(name)
        return self.plant(f"{origin(url)}/", tree.round + 1) if self._is_start(name, tree) else None

    def _is_start(self, name: str, tree: ServerTree) -> bool:
        if tree.round >= self._rules.rounds or not self._rules.scope.holds(name):
            return False
        domain = self.domain(name)
        return (
            self.tree_of(domain) is None
            and self._names[self._registrable(domain)] < self._rules.names_per_domain
        )
