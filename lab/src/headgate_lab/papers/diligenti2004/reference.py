"""What the paper prints and what its re-examination found, beside ours.

The re-examination was made independently of this project, by simulation of heavy-tailed downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate_lab.papers.diligenti2004.trace import Summary

__all__ = ["Reference", "references"]

_HALF_USED = "the paper's own world is not known, and leaves half of L unused; ours never runs dry"
_FEW_FAST = "how much it helps depends on how many estimates are large beside L"


@dataclass(frozen=True, slots=True)
class Reference:
    what: str
    paper: str
    """Empty: it does not say."""
    examined: str
    virtual_time: str
    bed: str
    """Empty: not run."""
    reason: str
    """Why ours differs; empty: it does not."""


Figures = Mapping[str, Summary]
_Row = tuple[str, str, str, Callable[[Figures], str], str]

_ROWS: tuple[_Row, ...] = (
    ("mean, maxd 6", "51 %", "109–116 %", lambda by: f"{by['maxd6'].mean:.0%}", _HALF_USED),
    ("mean, maxd 2", "46 %", "", lambda by: f"{by['maxd2'].mean:.0%}", _HALF_USED),
    (
        "maxd 6 against 2",
        "+11 %",
        "+2 to 4 %",
        lambda by: f"{by['maxd6'].mean / by['maxd2'].mean - 1:+.1%}",
        _FEW_FAST,
    ),
    (
        "predicted, at most, maxd 6",
        "below L",
        "100 %",
        lambda by: f"{by['maxd6'].predicted_most:.0%}",
        "",
    ),
    (
        "seconds above L, maxd 6",
        "0 %",
        "60–80 %",
        lambda by: f"{by['maxd6'].seconds_above:.0%}",
        "estimates are means over downloads, the line sees time: long documents are faster",
    ),
    (
        "mean, unbiased estimates",
        "",
        "91–97 %",
        lambda by: f"{by['ratio'].mean:.0%}",
        "it learns three times slower, and starts from the first measures, which are short",
    ),
    (
        "mean, shares, a bucket each",
        "",
        "93–94 %",
        lambda by: f"{by['shares'].mean:.0%}",
        "what a share does not use while its server is asked is lost: it depends on distances",
    ),
    ("mean, shares under one bucket", "", "", lambda by: f"{by['headgate'].mean:.0%}", ""),
    (
        "worst second, shares, a bucket each",
        "",
        "100 %",
        lambda by: f"{by['shares'].worst_second:.0%}",
        "on the bed a window that was paid for arrives at once",
    ),
    (
        "worst second, shares under one bucket",
        "",
        "",
        lambda by: f"{by['headgate'].worst_second:.0%}",
        "",
    ),
    (
        "passed over per start, maxd 6",
        "",
        "5–7",
        lambda by: f"{by['maxd6'].passed_over:.1f}",
        "ours counts only those that lacked room, not those whose server was busy",
    ),
    (
        "passed over per start, shares",
        "",
        "0.1",
        lambda by: f"{by['shares'].passed_over:.2f}",
        "",
    ),
)


def references(simulated: Figures, bed: Figures | None) -> list[Reference]:
    """All rows; rates are parts of L."""
    return [
        Reference(
            what,
            paper,
            examined=examined,
            virtual_time=ours(simulated),
            bed=ours(bed) if bed else "",
            reason=reason,
        )
        for what, paper, examined, ours, reason in _ROWS
    ]
