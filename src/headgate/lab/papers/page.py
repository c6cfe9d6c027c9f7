"""What the pages of all reproductions have: an introduction, claims, tables, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.lab.papers.claim import Claim
from headgate.views.html_page import document
from headgate.views.markup import Markup, element, joined

__all__ = ["claims_table", "figure", "row", "rows_table", "whole_page"]


def whole_page(title: str, introduction: str, parts: Iterable[Markup]) -> str:
    """The whole file."""
    header = element(
        "header",
        element("p", "Headgate, the lab", class_="kicker"),
        element("h1", title),
        element("p", introduction, class_="amounts"),
    )
    return document(f"{title} – Headgate", joined((header, *parts), "\n"))


def rows_table(heads: Iterable[str], rows: Sequence[Markup]) -> Markup:
    """Rows are made by `row`."""
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in heads)))
    return element("div", element("table", head, element("tbody", *rows)), class_="scroll")


def row(name: str, *cells: str, ours: bool = False, words: str = "") -> Markup:
    """A name and figures; ``words`` are a last cell that may be long."""
    return element(
        "tr",
        element("td", name),
        *(element("td", cell) for cell in cells),
        *([element("td", words, class_="words")] if words else []),
        class_="ours" if ours else None,
    )


def claims_table(title: str, claims: Iterable[Claim]) -> Markup:
    """``title`` says whose claims they are."""
    rows = [
        element(
            "tr",
            element("td", claim.where),
            element("td", claim.text, class_="words"),
            element(
                "td",
                "holds" if claim.holds else "does not hold",
                class_="met" if claim.holds else "late",
            ),
            element("td", claim.numbers, class_="words"),
        )
        for claim in claims
    ]
    return rows_table(("where", title, "", "here"), rows)


def figure(caption: str, *charts: Markup) -> Markup:
    return element("section", element("h2", caption), *charts)
