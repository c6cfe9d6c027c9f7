"""The reproduction as one HTML page."""

from __future__ import annotations

from headgate.lab.papers.nakahira2008.figures import FIGURES, figure_svg
from headgate.lab.papers.nakahira2008.reproduction import MARKS, Reproduction
from headgate.lab.papers.page import claims_table, page, table

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    first = reproduction.results[0]
    introduction = (
        f"<p>A low load server crawler. {len(reproduction.results)} virtual webs of"
        f" {reproduction.sites:,} site trees; figures of the web with seed {first.seed}. The paper"
        " prints curves without numbers: what its text says of them is checked.</p>"
    )
    parts = [
        introduction,
        "<h2>What the paper says, and what is found</h2>",
        claims_table("the claim", reproduction.claims),
        "<h2>Load for a share of the external hosts</h2>",
        _loads_table(reproduction),
    ]
    parts += [
        f"<figure><figcaption>Fig. {number}: {title}</figcaption>{figure_svg(number, first)}"
        "</figure>"
        for number, (title, _) in FIGURES.items()
    ]
    return page("Nakahira et al. 2008, reproduced", "\n".join(parts))


def _loads_table(reproduction: Reproduction) -> str:
    cut, policy = reproduction.mean_loads()
    rows = []
    for mark, name, loads in (
        ("", "cut at a depth", cut),
        ("ours", "most promising first", policy),
    ):
        cells = "".join(f"<td>{load:.1%}</td>" for load in loads)
        rows.append(f'<tr class="{mark}"><td>{name}</td>{cells}</tr>')
    return table(("", *(f"{mark:.0%}" for mark in MARKS)), rows)
