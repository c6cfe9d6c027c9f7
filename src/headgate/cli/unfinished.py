"""Says how an unfinished run is continued or given up."""

from __future__ import annotations

from headgate.cli.terminal import show
from headgate.engine.runs import giving_up, going_on
from headgate.storage.collection import RunFolder

__all__ = ["show_unfinished"]


def show_unfinished(run: RunFolder) -> None:
    """One line below the report."""
    show(f"The run is not finished: {going_on(run)} continues it, {giving_up(run)} gives it up.")
