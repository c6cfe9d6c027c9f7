"""The paper's simulation of recrawl strategies, and its overlay on measured round trips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.sarss2010.overlay import MEASURED, Fit, Overlay, fit, overlay
from headgate_lab.papers.sarss2010.printed import impossible
from headgate_lab.papers.sarss2010.round_trips import NETS
from headgate_lab.papers.sarss2010.simulation import Extent, Simulation, simulated
from headgate_lab.papers.sarss2010.verdicts import verdicts

__all__ = ["Reproduction", "as_json", "reproduce"]

_MOST_ERROR = {"planetlab490": 0.10, "seattle99": 0.19}
_MOST_MILLISECONDS, _MOST_LOAD = 50.0, 3.0
_DRAWS = 3


@dataclass(frozen=True, slots=True)
class Reproduction:
    seed: int
    fits: list[list[Fit]]
    """By net, of each seed."""
    overlays: list[list[Overlay]]
    aims: list[Claim]
    simulation: Simulation
    verdicts: list[Claim]
    impossible: list[Claim]


def reproduce(
    extent: Extent,
    seed: int,
    seeds: int,
    mapper: Mapper,
    say: Callable[[str], object] = lambda _: None,
) -> Reproduction:
    """``seeds`` of the pulls, and draws of crawlers and hosts from each net (three at the most),
    from ``seed`` on."""
    draws = min(seeds, _DRAWS)
    say(f"the overlay, {draws} draws of {len(NETS)} nets")
    tasks = [(net, seed + k) for net in NETS for k in range(draws)]
    found = list(mapper(_of_task, tasks))
    by_net = [found[k : k + draws] for k in range(0, len(found), draws)]
    fits = [[one for one, _ in rows] for rows in by_net]
    overlays = [[one for _, one in rows] for rows in by_net]
    simulation = simulated(extent, seed, seeds, mapper, say)
    return Reproduction(
        seed,
        fits,
        overlays=overlays,
        aims=_aims(fits, overlays),
        simulation=simulation,
        verdicts=verdicts(simulation),
        impossible=impossible(),
    )


def _of_task(task: tuple[str, int]) -> tuple[Fit, Overlay]:
    return fit(*task), overlay(*task)


def _aims(fits: list[list[Fit]], overlays: list[list[Overlay]]) -> list[Claim]:
    found = []
    for rows in fits:
        most, net = max(row.with_height for row in rows), rows[0].net
        text = f"median relative error with height at most {_MOST_ERROR[net]:.2f}"
        numbers = f"{most:.3f} at the most, {max(row.without for row in rows):.3f} without height"
        found.append(Claim(net, text, most <= _MOST_ERROR[net], numbers))
    planetlab = overlays[0]
    measured = [one for row in planetlab for one in row.assignments if one.way == MEASURED]
    times = max(one.mean_milliseconds for one in measured)
    load = max(one.most_over_mean for one in measured)
    found.append(
        Claim(
            planetlab[0].net,
            f"12 connect times and load: at most {_MOST_MILLISECONDS:g} ms in the mean, at most"
            f" {_MOST_LOAD:g} times the mean load",
            times <= _MOST_MILLISECONDS and load <= _MOST_LOAD,
            f"{times:.1f} ms and {load:.1f} times at the most",
        )
    )
    hops = [row.can.mean_hops / row.can.theory_hops for row in planetlab]
    found.append(
        Claim(
            planetlab[0].net,
            "CAN takes as many hops as theory says, (d/4)·n^(1/d), within 30 %",
            all(abs(ratio - 1) <= 0.3 for ratio in hops),
            f"{min(hops):.2f} to {max(hops):.2f} of {planetlab[0].can.theory_hops:.1f}",
        )
    )
    return found


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    return {
        "paper": "sarss2010",
        "seed": reproduction.seed,
        "fits": [asdict(one) for rows in reproduction.fits for one in rows],
        "overlays": [asdict(one) for rows in reproduction.overlays for one in rows],
        "aims": [asdict(aim) for aim in reproduction.aims],
        "simulation": {
            "channels": 16_000 // reproduction.simulation.extent.scale,
            "minutes": reproduction.simulation.extent.minutes,
            "runs": [
                {**asdict(run), **asdict(figures)}
                for run, figures in reproduction.simulation.runs.items()
            ],
        },
        "claims": [asdict(claim) for claim in reproduction.verdicts],
        "impossible": [asdict(claim) for claim in reproduction.impossible],
    }
