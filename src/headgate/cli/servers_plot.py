"""Server speeds as a picture: a heat map of 24 hours and two kinds of day for each server."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from headgate.cli.known_servers import KnownServer
from headgate.cli.markup import printable
from headgate.model.local_time import DayKind
from headgate.model.units import format_rate
from headgate.planning.arrays import FloatArray

__all__ = ["save_plot"]

_MOST = 60
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "svg.hashsalt": "headgate",
    "text.parse_math": False,
}
_PALE = 0.35
_WIDTH, _ROW_HEIGHT, _MARGIN = 9.0, 0.62, 1.3
"""Inches."""


def save_plot(servers: Sequence[KnownServer], path: Path) -> None:
    """Draw into a file of the kind its suffix says; one colour scale for all servers."""
    kind = path.suffix.lower().removeprefix(".")
    with matplotlib.rc_context(_STYLE):
        figure = _draw(servers[:_MOST])
        if kind != "html":
            metadata = {"Date": None} if kind == "svg" else {"Software": None}
            figure.savefig(path, format=kind, dpi=150, metadata=metadata)
            return
        picture = io.StringIO()
        figure.savefig(picture, format="svg", metadata={"Date": None})
    path.write_text(_page(servers, picture.getvalue()), encoding="utf-8")


def _draw(servers: Sequence[KnownServer]) -> Figure:
    figure = Figure((_WIDTH, _MARGIN + _ROW_HEIGHT * len(servers)), layout="constrained")
    rates = np.array([(server.working_day, server.holiday) for server in servers])
    scale = LogNorm(rates.min() * 0.99, rates.max() * 1.01)
    axes = figure.subplots(len(servers), 1, squeeze=False)[:, 0]
    for axis, server, hours in zip(axes, servers, rates, strict=True):
        axis.imshow(hours, aspect="auto", norm=scale, cmap="viridis", alpha=_paleness(server))
        axis.set_yticks((0, 1), ("working day", "holiday"))
        axis.set_xticks(())
        hosts = ", ".join(server.hosts[:3])
        axis.set_title(printable(f"{server.address}  {hosts}"), loc="left", fontsize=8)
    axes[-1].set_xticks(range(0, 24, 3), [f"{hour}:00" for hour in range(0, 24, 3)])
    zone = servers[0].calendar.zone.key
    axes[-1].set_xlabel(f"hour ({zone}); pale: nothing was measured near that hour")
    bar = figure.colorbar(ScalarMappable(scale, "viridis"), ax=axes.tolist())
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(_rate))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    return figure


def _paleness(server: KnownServer) -> FloatArray:
    """By kind of day and hour."""
    kinds = (DayKind.WORKING, DayKind.HOLIDAY)
    seen = [[server.speed.seen(server.now.at(hour, kind)) for hour in range(24)] for kind in kinds]
    return np.where(seen, 1.0, _PALE)


def _rate(value: float, _position: int | None = None) -> str:
    return format_rate(value)


def _page(servers: Sequence[KnownServer], svg: str) -> str:
    picture = svg[svg.index("<svg") :]
    rest = f"<p>… {len(servers) - _MOST:,} more servers</p>" if len(servers) > _MOST else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Server speeds by the hour</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }}
svg {{ width: 100%; height: auto; }}</style>
<h1>{escape(f"Speeds of {len(servers):,} servers by the hour")}</h1>
{picture}
{rest}
</html>
"""
