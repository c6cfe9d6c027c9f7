"""One colour for each site, the same in every chart and table of a page.

The style sheet has the colours, for light and for dark; here is only their number. None of them is
the colour of lateness.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model.run_report import SiteReport

__all__ = ["COLOURS", "colour_class", "site_numbers"]

COLOURS = 10


def site_numbers(sites: Sequence[SiteReport]) -> dict[str, int]:
    """Each site's number, in order of their starts, so that neighbours differ in colour."""
    never = float("inf")
    ordered = sorted(
        sites,
        key=lambda site: (
            never if site.started is None else site.started,
            never if site.planned_start is None else site.planned_start,
            site.name,
        ),
    )
    return {site.name: number for number, site in enumerate(ordered)}


def colour_class(number: int | None) -> str:
    return "c-other" if number is None else f"c{number % COLOURS}"
