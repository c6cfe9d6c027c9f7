"""The reproduction as a chapter of the report."""

from __future__ import annotations

from headgate.report.markup import Markup, joined
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.page import claims_list, row, rows_table
from headgate_lab.papers.sarss2010.overlay import MEASURED, Overlay
from headgate_lab.papers.sarss2010.pictures import (
    assignments_chart,
    distributions,
    freshness_chart,
    intervals_chart,
    quality_charts,
    ratchet_chart,
    series_charts,
)
from headgate_lab.papers.sarss2010.printed import CASES
from headgate_lab.papers.sarss2010.reproduction import Reproduction, as_json
from headgate_lab.papers.sarss2010.simulation import PULL_FRESH, seeds_of
from headgate_lab.papers.sarss2010.tables import QUALITY_COLUMNS, quality_rows, task_rows
from headgate_lab.papers.sarss2010.text import COLUMNS, assignment_rows, can_words

__all__ = ["chapter"]

_INTRODUCTION = (
    "Volunteers' machines recrawl channels of the web; strategies set how often. The paper's world"
    " is built again: fixed intervals (FIXED), IIR and ICR by the code that headgate keep uses, and"
    " machines that ask for what is worth most (pull). Then who fetches what: machines placed by"
    " round-trip times, on measured nets of 490 and 99 machines, since the paper's is not at hand."
    " δ, σ and μ of the strategies and bytes per page are not printed."
)


def chapter(reproduction: Reproduction) -> Chapter:
    simulation, seed = reproduction.simulation, reproduction.seed
    extent = simulation.extent
    return Chapter(
        "sarss2010",
        "SARSS 2010: recrawl by volunteers' machines",
        introduction=_INTRODUCTION,
        lots=f"{16_000 // extent.scale:,} channels, {extent.minutes:,} minutes, seed {seed};"
        f" pulls and FIXED up to seed {max(seeds_of(simulation))}",
        claims=[*reproduction.verdicts, *reproduction.aims],
        parts=[
            Part("What is found again", claims_list(reproduction.verdicts)),
            Part(
                "Numbers of the paper that cannot be",
                claims_list(reproduction.impossible),
                "By its other numbers; they are not among the claims counted.",
            ),
            Part("Fig. 3: what was drawn", distributions(simulation, seed)),
            *(
                Part(
                    f"{table}: tasks and intervals, {case}",
                    joined((intervals_chart(simulation, seed, case), _tasks(reproduction, case))),
                )
                for table, case in zip(("Table 1", "Table 3"), CASES, strict=True)
            ),
            Part(
                "Tables 2 and 4: update quality",
                joined((quality_charts(simulation, seed), _quality(reproduction))),
            ),
            Part(
                "Freshness of the copies",
                freshness_chart(simulation, seed),
                "Pages are fetched one by one while a task runs. The independent results take all"
                " of them to be as old as the task; bounds on pulls are held against that.",
            ),
            *(
                Part(f"{figure}: over time, {case}", series_charts(simulation, seed, case))
                for figure, case in zip(("Fig. 4", "Fig. 5"), CASES, strict=True)
            ),
            Part(
                "The ratchet: success against δ",
                ratchet_chart(simulation, seed),
                "A new interval is the old one over the success seen, lowered by δ about every"
                " other time: so all rest where success is √(1 − δ), whatever the capacity. The"
                " paper's IIR rests above: it takes the mean of its channels' intervals.",
            ),
            Part("Coordinates: bounds set before", claims_list(reproduction.aims)),
            *(_assigned(draws) for draws in reproduction.overlays),
            _fits(reproduction),
        ],
        document=as_json(reproduction),
    )


def _tasks(reproduction: Reproduction, case: str) -> Markup:
    heads, lines = task_rows(reproduction.simulation, reproduction.seed, case)
    return rows_table(heads, [row(*line) for line in lines])


def _quality(reproduction: Reproduction) -> Markup:
    lines = quality_rows(reproduction.simulation, reproduction.seed)
    rows = [row(*line, ours=line[0].endswith(PULL_FRESH)) for line in lines]
    return rows_table(QUALITY_COLUMNS, rows)


def _fits(reproduction: Reproduction) -> Part:
    rows = [
        row(f"{one.net}, draw {k + 1}", f"{one.with_height:.3f}", f"{one.without:.3f}")
        for fits in reproduction.fits
        for k, one in enumerate(fits)
    ]
    heading = "Vivaldi: median relative error of pairs that were not sampled"
    return Part(heading, rows_table(("net", "with height", "without"), rows))


def _assigned(draws: list[Overlay]) -> Part:
    rows = [row(*line, ours=line[0] == MEASURED) for line in assignment_rows(draws)]
    content = joined((assignments_chart(draws), rows_table(COLUMNS, rows)))
    return Part(f"Who fetches what: {draws[0].net}", content, can_words(draws))
