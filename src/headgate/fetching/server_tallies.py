"""Counters per server, updated after each exchange."""

from __future__ import annotations

from headgate.fetching.connection import Connection
from headgate.fetching.exchange import Exchange
from headgate.traffic.server_tally import ServerTally

__all__ = ["ServerTallies"]


class ServerTallies:
    """A tally for each address; only grows."""

    def __init__(self) -> None:
        self.by_address: dict[str, ServerTally] = {}
        self._by_host: dict[str, ServerTally] = {}
        """The tallies by host."""

    def of_host(self, host: str) -> ServerTally | None:
        return self._by_host.get(host)

    def count(self, connection: Connection, exchange: Exchange, asked: float, began: float) -> None:
        """``asked``: when the fetch had a connection; ``began``: when it was paid for."""
        tally = self.by_address.get(connection.address)
        if tally is None:
            tally = self.by_address[connection.address] = ServerTally()
        tally.hosts.add(connection.origin.host_line)
        tally.saw_round_trip(connection.channel.line.rtt)
        self._by_host[connection.origin.host] = tally
        # The exchange's own time does not include waiting for credit.
        held = exchange.finished - asked - (exchange.finished - exchange.sent)
        first_byte = exchange.first_byte - exchange.sent
        tally.count(began, exchange.finished, exchange.wire_bytes, first_byte, held)
