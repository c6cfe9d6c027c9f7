"""Everything about the paper in one run, as plain values.

Two worlds: virtual time, three queues of five minutes each, which any machine can do in seconds;
and the bed, one queue in real time, where bytes are counted at the interface. Without the bed the
figures show virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, astuple, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.diligenti2004.claims import claims, promises
from headgate_lab.papers.diligenti2004.forms import FORMS, Form
from headgate_lab.papers.diligenti2004.on_the_bed import run_on_the_bed
from headgate_lab.papers.diligenti2004.reference import Reference, references
from headgate_lab.papers.diligenti2004.simulation import simulate
from headgate_lab.papers.diligenti2004.trace import Summary, Trace, summary
from headgate_lab.papers.diligenti2004.world import make_world

__all__ = ["Reproduction", "as_json", "reproduce"]

FIGURE_SECONDS = 40.0
"""As in the paper's Fig. 1."""
_SECONDS = 120.0
"""Of a run; what comes before the figure's part is for learning the servers' speeds."""
_QUEUES = 3
_SIMULATED_SECONDS = 300.0
_SIMULATED_LEARNING = 60.0


@dataclass(frozen=True, slots=True)
class Reproduction:
    seed: int
    simulated: dict[str, Summary]
    """By name of the form: means over the queues; of what is a worst, the worst."""
    bed: dict[str, Summary]
    """Empty: not run."""
    traces: dict[str, Trace]
    """Of the bed or, without it, of the first queue in virtual time: `_SECONDS` from the start."""
    claims: list[Claim]
    promises: list[Claim]
    references: list[Reference]


def reproduce(
    seed: int, *, on_the_bed: bool, say: Callable[[str], object] = lambda _: None
) -> Reproduction:
    """Run it all; ``say`` hears what is being done."""
    say(f"virtual time: {len(FORMS)} forms, {_QUEUES} queues of {_SIMULATED_SECONDS:.0f} s")
    simulated = {form.name: _simulated(form, seed) for form in FORMS}
    if on_the_bed:
        say(f"on the bed: {len(FORMS)} forms side by side for {_SECONDS:.0f} s")
        traces = _on_the_bed(seed)
        bed = {name: _figures_part(trace) for name, trace in traces.items()}
    else:
        world = make_world(seed)
        traces = {form.name: simulate(form, world, _SECONDS) for form in FORMS}
        bed = {}
    found = bed or simulated
    beside = references(simulated, bed or None)
    return Reproduction(
        seed,
        simulated,
        bed=bed,
        traces=traces,
        claims=claims(found),
        promises=promises(found),
        references=beside,
    )


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    """Names and numbers only; rates as parts of the limit, series in bytes per second."""
    return {
        "paper": "diligenti2004",
        "seed": reproduction.seed,
        "virtual_time": {name: asdict(found) for name, found in reproduction.simulated.items()},
        "bed": {name: asdict(found) for name, found in reproduction.bed.items()},
        "series": {
            name: {
                "measured": trace.rates(0.0, trace.seconds).tolist(),
                "predicted": trace.predictions(0.0, trace.seconds).tolist(),
            }
            for name, trace in reproduction.traces.items()
        },
        "references": [asdict(reference) for reference in reproduction.references],
        "claims": [asdict(claim) for claim in reproduction.claims],
        "promises": [asdict(promise) for promise in reproduction.promises],
    }


def _simulated(form: Form, seed: int) -> Summary:
    queues = (make_world(seed + number) for number in range(_QUEUES))
    return _mean(
        summary(simulate(form, queue, _SIMULATED_SECONDS), _SIMULATED_LEARNING) for queue in queues
    )


def _mean(summaries: Iterable[Summary]) -> Summary:
    values = np.array([astuple(found) for found in summaries])
    mean = Summary(*values.mean(axis=0).tolist())
    worst = Summary(*values.max(axis=0).tolist())
    return Summary(
        **asdict(mean)
        | {"worst_second": worst.worst_second, "predicted_most": worst.predicted_most}
    )


def _on_the_bed(seed: int) -> dict[str, Trace]:
    with ProcessPoolExecutor(len(FORMS), mp_context=get_context("spawn")) as pool:
        jobs = {form.name: pool.submit(run_on_the_bed, form, seed, _SECONDS) for form in FORMS}
        return {name: job.result() for name, job in jobs.items()}


def _figures_part(trace: Trace) -> Summary:
    return summary(trace, trace.seconds - FIGURE_SECONDS)
