"""The HTML frame of all pages, which need no network and no other file.

The content security policy allows only the page's own scripts and styles, and no requests.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from headgate.report.charts.svg import HATCH, colour_class, own_file
from headgate.report.markup import Markup, element, joined, raw, shortened

__all__ = ["Cell", "data_table", "document", "section", "table"]

_STYLE = ("colours.css", "charts.css", "page.css")


def document(title: str, body: Markup) -> str:
    style = "".join(map(own_file, _STYLE))
    script = own_file("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        raw('<meta charset="utf-8">'),
        raw(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        raw('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        raw('<meta name="color-scheme" content="light dark">'),
        element("title", title),
        element("style", raw(style)),
    )
    page = element(
        "html",
        element("head", joined(head, "\n")),
        element(
            "body",
            element("svg", HATCH, class_="hidden", aria_hidden="true"),
            element("main", body),
            element("div", id="tip", hidden="hidden"),
            element("script", raw(script)),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def section(heading: str, content: Markup | None, note: str = "", otherwise: str = "") -> Markup:
    """Empty without content or a text for that case."""
    if content is None and not otherwise:
        return Markup("")
    parts = [element("h2", heading)]
    if content is None:
        parts.append(element("p", otherwise, class_="note"))
    else:
        parts += [element("p", note, class_="note")] if note else []
        parts.append(content)
    return element("section", *parts)


_LONGEST_NAME = 40
_IN_WORDS = frozenset(("state", "meaning", "on", "site", "reason", "such as", "what", "what to do"))
"""Left-aligned columns."""


class Cell(msgspec.Struct, frozen=True):
    """Tables of a page: a row for each site, which a click on a heading sorts.

    What is shown, and the value by which the column is sorted.
    """

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
