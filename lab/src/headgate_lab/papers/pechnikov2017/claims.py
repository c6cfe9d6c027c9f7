"""What the paper says of its eight runs, and what Headgate's own ways must reach."""

from __future__ import annotations

import math

from headgate.features.grid.placement.batches import ScanCost, scan_seconds
from headgate_lab.papers.claim import Claim
from headgate_lab.papers.pechnikov2017.instances import Cell
from headgate_lab.papers.pechnikov2017.rivals import BATCH, PULL
from headgate_lab.papers.pechnikov2017.table1 import TableRow, largest_share
from headgate_lab.papers.pechnikov2017.verdicts import REFERENCE, Ratios

__all__ = ["aims", "claims"]

_NEAR = 0.02
_LITTLE = 0.1
_PAPER_SITE = ScanCost(
    pages=1000, size_bytes=0.0, answer_seconds=0.25, web_bytes_per_second=math.inf
)
_PAPER_SITE_SECONDS = 250.0
"""The middles of what the paper measured: 0.2 to 0.3 s, 200 to 300 s."""


def claims(table: list[TableRow], ratios: Ratios) -> list[Claim]:
    seconds = {(row.clients, row.experiment): row.ours for row in table}
    both = (3, 5)
    gains = [seconds[m, "RR2"] / seconds[m, "RR1"] for m in both]
    pages = [seconds[m, "Batch 1"] / seconds[m, "Batch 2"] for m in both]
    batch_1 = [seconds[m, "Batch 1"] / seconds[m, "RR1"] for m in both]
    batch_2 = [seconds[m, "Batch 2"] / seconds[m, "RR1"] for m in both]
    noisy = ratios[Cell(5, 2.2, 0.6, 0.3)]
    return [
        Claim(
            "6",
            "large sites first (RR1) beats small ones first (RR2)",
            min(gains) > 1,
            f"RR2 takes {gains[0]:.2f} and {gains[1]:.2f} times as long with 3 and 5 clients",
        ),
        Claim(
            "6",
            "pages are a rough measure: batches by scan times end sooner",
            min(pages) > 1,
            f"by pages they take {pages[0]:.2f} and {pages[1]:.2f} times as long",
        ),
        Claim(
            "6",
            "batches by pages end later than RR1, with 3 and with 5 clients",
            min(batch_1) > 1,
            f"{batch_1[0]:.2f} and {batch_1[1]:.2f} times as long",
        ),
        Claim(
            "6",
            "batches by scan times are the fastest of all",
            max(batch_2) < 1,
            f"{batch_2[0]:.3f} and {batch_2[1]:.3f} of RR1; with 5 clients the largest site, "
            f"{largest_share():.0%} of all work, bounds every way that does not split it",
        ),
        Claim(
            "abstract",
            "the batch mode has advantages over round robin once sizes are known but for errors",
            noisy["paper, cyclic"].mean < noisy["pull, largest first (RR1)"].mean,
            f"5 clients, σ 0.6 and 0.3: batches end {noisy['paper, cyclic'].mean:.2f} times the"
            f" bound, the pull {noisy['pull, largest first (RR1)'].mean:.2f} times",
        ),
        Claim(
            "5",
            "what a request takes can be left out beside the bytes",
            _request_share() < _LITTLE,
            "0.2 to 0.3 s are taken per request, not per site: of the 200 to 300 s that it measured"
            f" for a thousand pages they are {_request_share():.0%}",
        ),
    ]


def _request_share() -> float:
    return scan_seconds(_PAPER_SITE, math.inf) / _PAPER_SITE_SECONDS


def aims(ratios: Ratios) -> list[Claim]:
    """Bounds that were set before."""
    found = []
    for (cell, way), values in REFERENCE.items():
        if not way.startswith("paper") or not cell.exact:
            continue
        ratio = ratios[cell][way]
        apart = min(abs(ratio.mean - value) for value in values)
        known = " and ".join(f"{value:g}" for value in values)
        found.append(
            Claim(
                cell.name,
                f"{way}: within {_NEAR} of results obtained independently ({known})",
                apart <= _NEAR,
                f"{ratio.mean:.3f} ± {ratio.standard_error:.3f}, {apart:.3f} apart",
            )
        )
    bounds = [
        (Cell(3, 2.2), BATCH, 1.001),
        (Cell(5, 2.2), BATCH, 1.001),
        (Cell(3, 2.2, 0.6, 0.3), PULL, 1.05),
        (Cell(5, 2.2, 0.6, 0.3), PULL, 1.20),
    ]
    for cell, way, most in bounds:
        mean = ratios[cell][way].mean
        text = f"{way}: at most {most:g} times the bound"
        found.append(Claim(cell.name, text, mean <= most, f"{mean:.4f}"))
    return found
