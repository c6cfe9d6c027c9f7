"""``headgate lab freshness``: the replay as tables in a terminal or a pipe."""

from __future__ import annotations

from headgate_lab.papers.freshness.replay import Outcome
from headgate_lab.papers.freshness.reproduction import Reproduction
from headgate_lab.papers.freshness.rivals import HEADGATE
from headgate_lab.papers.text import lab_console, print_claims, print_table, table

__all__ = ["COLUMNS", "cells", "print_reproduction"]

COLUMNS = ("fresh", "age, days", "fresh, weighted", "age, weighted", "looks", "budget used")


def cells(found: Outcome) -> tuple[str, ...]:
    """As the columns have them."""
    return (
        f"{found.freshness:.3f}",
        f"{found.age:.2f}",
        f"{found.weighted_freshness:.3f}",
        f"{found.weighted_age:.2f}",
        f"{found.looks:,}",
        f"{found.used:.0%}",
    )


def print_reproduction(reproduction: Reproduction) -> None:
    """A table per budget, and the claims."""
    console = lab_console()
    console.print(f"{reproduction.pages} pages held out; budgets in days per look at every page")
    for cell, outcomes in reproduction.outcomes.items():
        rows = table("policy", *COLUMNS)
        for name, found in outcomes.items():
            rows.add_row(name, *cells(found), style="green" if name == HEADGATE else "")
        print_table(console, cell.name, rows)
    print_claims(console, "claim", reproduction.claims)
