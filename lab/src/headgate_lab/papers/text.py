"""What the reproductions of all papers print alike."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from headgate_lab.papers.claim import Claim

__all__ = ["lab_console", "print_claims", "print_table", "table"]

_PIPED_WIDTH = 140


def lab_console() -> Console:
    """On standard output; a pipe is as wide as the tables like it."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(_PIPED_WIDTH, console.width)
    return console


def table(*columns: str, words: int = 1) -> Table:
    """A table whose first columns, as many as ``words``, are text; the others are numbers."""
    table = Table(box=None, pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < words else "right", overflow="fold")
    return table


def print_table(console: Console, title: str, table: Table) -> None:
    console.print(title, style="bold")
    console.print(table)
    console.print()


def print_claims(console: Console, title: str, claims: Sequence[Claim]) -> None:
    """``title`` says whose claims they are."""
    held = sum(claim.holds for claim in claims)
    console.print(f"{title}: {held} of {len(claims)} hold", style="bold")
    for claim in claims:
        word, style = ("holds", "green") if claim.holds else ("does not hold", "red")
        console.print(f"{word}: ", style=style, end="")
        console.print(f"{claim.text} ({claim.where})")
        console.print(f"    {claim.numbers}", style="dim")
    console.print()
