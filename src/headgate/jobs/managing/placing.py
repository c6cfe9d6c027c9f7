"""Placement policies by their names in the site file."""

from __future__ import annotations

from headgate.control.placements import ByDistance, GridView, Placing
from headgate.grid.desk import Desk
from headgate.grid.desk_view import DeskView
from headgate.model.grid import GridTerms, Mode, Placement

__all__ = ["looks_at_few", "placing_of", "set_placing"]

_SEED = 20100
"""For random places of nodes without measurements."""
_GATHER_SECONDS = 5.0


def set_placing(desk: Desk, terms: GridTerms) -> None:
    """Set the placement policy of a desk. Lists are dealt when nodes that start together are
    here."""
    desk.board.choice.choose = placing_of(terms, DeskView(desk)).choose
    desk.gathering.seconds = 0.0 if terms.mode is Mode.PULL else _GATHER_SECONDS


def looks_at_few(terms: GridTerms) -> bool:
    """Whether tasks are chosen from the next few that wait; else, by all."""
    return terms.mode is Mode.PULL and terms.placement is not Placement.CAN


def placing_of(terms: GridTerms, grid: GridView, seed: int = _SEED) -> Placing:
    """The usual one needs no NumPy, which takes 9 MB; others import it."""
    if terms.mode is Mode.PULL and terms.placement is Placement.MEASURED:
        return ByDistance(grid, grid.connects)
    import numpy as np

    from headgate.control.coordinate_space import ByZone, CoordinateSpace
    from headgate.control.task_lists import ByLists

    if terms.mode is not Mode.PULL:
        return ByLists(grid, terms.mode)
    space = CoordinateSpace(grid, np.random.default_rng(seed))
    if terms.placement is Placement.CAN:
        return ByZone(grid, space)
    return ByDistance(grid, space.distances)
