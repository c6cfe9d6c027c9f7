"""The reproduction of Nakahira et al. 2008 as tables in a terminal or a pipe."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from headgate_lab.papers.nakahira2008.reproduction import MARKS, Reproduction

__all__ = ["print_reproduction"]

_PIPED_WIDTH = 120


def print_reproduction(reproduction: Reproduction) -> None:
    """Depths, loads and claims."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(_PIPED_WIDTH, console.width)
    first = reproduction.results[0]
    depths = Table("depth", "pages", "hosts", "load", "hosts found", "trees", box=None)
    rows = zip(
        first.pages, first.hosts, first.load_by_depth, first.share_by_depth, first.trees,
        strict=True,
    )  # fmt: skip
    for depth, (pages, hosts, load, share, trees) in enumerate(rows):
        depths.add_row(
            str(depth), f"{pages:,}", f"{hosts:,}", f"{load:.1%}", f"{share:.2%}", f"{trees:,}"
        )
    console.print(f"Web {first.seed} by depth (Fig. 1 to 3)", style="bold")
    console.print(depths)
    cut, policy = reproduction.mean_loads()
    loads = Table("load for a share of the hosts", *(f"{m:.0%}" for m in MARKS), box=None)
    loads.add_row("cut at a depth", *(f"{load:.1%}" for load in cut))
    loads.add_row("most promising first", *(f"{load:.1%}" for load in policy), style="green")
    console.print(f"\nMeans of {len(reproduction.results)} webs", style="bold")
    console.print(loads)
    claims = Table("where", "claim", "", "here", box=None)
    for claim in reproduction.claims:
        claims.add_row(
            claim.where, claim.text, "holds" if claim.holds else "does not hold", claim.numbers
        )
    console.print()
    console.print(claims)
