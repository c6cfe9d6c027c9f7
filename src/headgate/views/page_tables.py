"""Tables of a page: a row for each site, which a click on a heading sorts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headgate.views.markup import Markup, element, joined, shortened
from headgate.views.site_colours import colour_class

__all__ = ["Cell", "data_table", "table"]

_LONGEST_NAME = 40
_IN_WORDS = frozenset(("state", "meaning", "on", "site", "reason", "such as", "what", "what to do"))
"""Left-aligned columns."""


class Cell(msgspec.Struct, frozen=True):
    """What is shown, and the value by which the column is sorted."""

    shown: str
    value: str | float
    class_: str | None = None

    def markup(self) -> Markup:
        return element("td", self.shown, class_=self.class_, data_value=_sortable(self.value))


def data_table(columns: Sequence[str], rows: Sequence[tuple[str, int, Sequence[Cell]]]) -> Markup:
    """A row has a site's name, its number (for its colour), and further cells."""
    return table(columns, [_row(*row) for row in rows], class_="sites")


def table(columns: Sequence[str], rows: Sequence[Markup], class_: str | None = None) -> Markup:
    names = (
        element("th", name, scope="col", class_="label" if name in _IN_WORDS else None)
        for name in columns
    )
    head = element("thead", element("tr", *names))
    whole = element("table", head, element("tbody", joined(rows, "\n")), class_=class_)
    return element("div", whole, class_="scroll")


def _row(name: str, number: int, cells: Sequence[Cell]) -> Markup:
    swatch = element("span", class_=f"swatch {colour_class(number)}")
    shown = shortened(name, _LONGEST_NAME)
    head = element("th", swatch, shown, scope="row", data_value=name, title=name)
    return element("tr", head, *(cell.markup() for cell in cells), data_site=number)


def _sortable(value: str | float) -> str:
    """Text that JavaScript's Number() reads back, infinity included."""
    if isinstance(value, str):
        return value
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:g}" if isinstance(value, float) else str(value)
