"""Server speeds for people: a table, and for each server a day of blocks, whose height is the
speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.model.local_time import DayKind
from headgate.model.units import format_duration, format_rate
from headgate.traffic.known_server import KnownServer
from headgate.views.markup import printable

__all__ = ["print_servers"]

_MOST_ROWS, _MOST_MAPS = 200, 20
_BLOCKS = "▁▂▃▄▅▆▇█"
_UNSEEN = "·"
_STYLES = ("red", "red", "yellow", "yellow", "green", "green", "bright_green", "bright_green")
"""Slow to fast, beside the height of a block."""


def print_servers(console: Console, servers: Sequence[KnownServer]) -> None:
    console.print(_table(servers[:_MOST_ROWS]))
    if len(servers) > _MOST_ROWS:
        console.print(
            f"… {len(servers) - _MOST_ROWS:,} more; --host finds one, --json has them all"
        )
    console.print()
    zone = servers[0].calendar.zone.key
    console.print(f"Speed by the hour ({zone}), each server against its own fastest:")
    console.print(Text(f"{'':<25}0     6     12    18    24", style="dim"))
    for server in servers[:_MOST_MAPS]:
        for kind in (DayKind.WORKING, DayKind.HOLIDAY):
            console.print(_map(server, kind), no_wrap=True, crop=True)


def _table(servers: Sequence[KnownServer]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("address", no_wrap=True)
    table.add_column("hosts", overflow="ellipsis", no_wrap=True, max_width=32)
    for name in ("now", "best hour", "worst hour", "first byte", "a request", "measures"):
        table.add_column(name, justify="right", no_wrap=True)
    for server in servers:
        table.add_row(
            printable(server.address),
            Text(printable(_hosts(server))),
            f"{'' if server.speed.bounded else '≥ '}{format_rate(server.rate_now)}",
            _extreme(server, max),
            _extreme(server, min),
            _seconds(server.speed.latency_seconds),
            _seconds(server.speed.request_seconds),
            f"{server.speed.measures:,}",
        )
    return table


def _hosts(server: KnownServer) -> str:
    first, *others = server.hosts or ("",)
    return f"{first} +{len(others)}" if others else first


def _extreme(server: KnownServer, which: Callable[[Sequence[float]], float]) -> str:
    """Among the hours near which something was measured."""
    kind = server.now.kind
    seen = {
        hour: rate
        for hour, rate in enumerate(server.today)
        if server.speed.seen(server.now.at(hour, kind))
    }
    if not seen:
        return "not seen"
    found = which(list(seen.values()))
    if max(seen.values()) <= 1.01 * min(seen.values()):
        return "all alike"
    return f"{next(hour for hour in seen if seen[hour] == found):02d}:00 {format_rate(found)}"


def _map(server: KnownServer, kind: DayKind) -> Text:
    """24 blocks, or a dot for an hour near which nothing was measured."""
    first = kind is DayKind.WORKING
    text = Text(f"{printable(server.address if first else '')[:15]:<16}{kind.name.lower():<9}")
    fastest = max(*server.working_day, *server.holiday)
    for hour, rate in enumerate(server.speed.hourly(kind)):
        level = min(int(len(_BLOCKS) * rate / fastest), len(_BLOCKS) - 1)
        seen = server.speed.seen(server.now.at(hour, kind))
        text.append(_BLOCKS[level] if seen else _UNSEEN, style=_STYLES[level] if seen else "dim")
    measured = any(server.speed.seen(server.now.at(hour, kind)) for hour in range(24))
    fastest_seen = format_rate(max(server.speed.hourly(kind)))
    text.append(f"  up to {fastest_seen}" if measured else "  not measured")
    return text


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else format_duration(seconds)
