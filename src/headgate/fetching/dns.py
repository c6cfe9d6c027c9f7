"""Resolves names without blocking, and caches answers by their time to live.

c-ares (aiodns) asks: no thread waits on a dead name server, and answers carry their time to live,
which getaddrinfo hides. It reads the hosts file and resolv.conf as the system does.

Lifetimes are bounded: zero does not cause a query per fetch, and an hour is the longest. Negative
answers are cached for a shorter time. Concurrent queries for a name share one answer.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from headgate.fetching.faults import FetchFault
from headgate.fetching.open_files import try_one
from headgate.model.fetch import FailureKind

if TYPE_CHECKING:
    import aiodns

__all__ = ["Answer", "CachedResolver", "FixedResolver", "NetworkResolver", "Resolver"]

LEAST_LIFETIME_SECONDS = 60.0
GREATEST_LIFETIME_SECONDS = 3600.0
FAILURE_LIFETIME_SECONDS = 60.0
REMEMBERED_NAMES = 20_000


class Answer(msgspec.Struct, frozen=True):
    """The addresses of a name."""

    addresses: tuple[str, ...]
    lifetime_seconds: float


class Resolver(Protocol):
    """Finds a name's addresses or raises a FetchFault of kind DNS; an OSError if this machine is
    at fault (`open_files`)."""

    async def resolve(self, host: str) -> Answer: ...

    async def close(self) -> None: ...


class NetworkResolver:
    """Queries the configured name servers. c-ares is loaded for the first name."""

    def __init__(self, timeout_seconds: float = 5.0, tries: int = 2) -> None:
        self._timeout_seconds = timeout_seconds
        self._tries = tries
        self._resolver: aiodns.DNSResolver | None = None

    async def resolve(self, host: str) -> Answer:
        if self._resolver is None:
            try_one()  # c-ares would never learn its name servers
        import aiodns

        if self._resolver is None:
            self._resolver = aiodns.DNSResolver(timeout=self._timeout_seconds, tries=self._tries)
        try:
            found = await self._resolver.getaddrinfo(
                host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM
            )
        except aiodns.error.DNSError as error:
            try_one()
            raise FetchFault(FailureKind.DNS, f"{host}: {error.args[-1]}") from error
        # IPv4 first: if both exist, it is the one that is hardly ever broken.
        nodes = sorted(found.nodes, key=lambda node: node.family != socket.AF_INET)
        addresses = tuple(
            dict.fromkeys(
                raw.decode() if isinstance(raw := node.addr[0], bytes) else str(raw)
                for node in nodes
            )
        )
        if not addresses:
            raise FetchFault(FailureKind.DNS, f"{host}: the name has no address")
        return Answer(addresses, float(min(node.ttl for node in nodes)))

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()


class FixedResolver:
    """Answers from a table; for tests and closed worlds. ``*`` stands for any other name."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = dict(table)
        self.asked: list[str] = []

    async def resolve(self, host: str) -> Answer:
        self.asked.append(host)
        address = self._table.get(host) or self._table.get("*")
        if address is None:
            raise FetchFault(FailureKind.DNS, f"{host}: Domain name not found")
        return Answer((address,), 0.0)

    async def close(self) -> None:
        pass


class _Remembered(msgspec.Struct, frozen=True):
    until: float
    answer: Answer | FetchFault


class CachedResolver:
    """Caches another resolver's answers; the least recently used are dropped first."""

    def __init__(self, resolver: Resolver, clock: Callable[[], float] = time.monotonic) -> None:
        self._resolver = resolver
        self._clock = clock
        self._known: OrderedDict[str, _Remembered] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Answer | FetchFault | OSError]] = {}

    async def resolve(self, host: str) -> Answer:
        known = self._known.get(host)
        if known is not None and known.until > self._clock():
            self._known.move_to_end(host)
            return _told(known.answer)
        task = self._asking.get(host)
        if task is None:
            task = asyncio.ensure_future(self._ask(host))
            self._asking[host] = task
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        return _told(await asyncio.shield(task))

    async def close(self) -> None:
        for task in list(self._asking.values()):
            task.cancel()
        await self._resolver.close()

    async def _ask(self, host: str) -> Answer | FetchFault | OSError:
        """Errors are returned: perhaps nobody waits for them any more."""
        try:
            answer: Answer | FetchFault = await self._resolver.resolve(host)
        except FetchFault as fault:
            answer = fault
        except OSError as error:  # nothing was learned about the name
            return error
        self._known[host] = _Remembered(self._clock() + _lifetime(answer), answer)
        self._known.move_to_end(host)
        while len(self._known) > REMEMBERED_NAMES:
            self._known.popitem(last=False)
        return answer


def _told(answer: Answer | FetchFault | OSError) -> Answer:
    if isinstance(answer, FetchFault):
        raise FetchFault(answer.kind, answer.detail)
    if isinstance(answer, OSError):
        raise OSError(*answer.args)
    return answer


def _lifetime(answer: Answer | FetchFault) -> float:
    if isinstance(answer, FetchFault):
        return FAILURE_LIFETIME_SECONDS
    return min(max(answer.lifetime_seconds, LEAST_LIFETIME_SECONDS), GREATEST_LIFETIME_SECONDS)
