"""Everything about the paper in one run, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.claim import Claim
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.zhu2020.claims import claims
from headgate_lab.papers.zhu2020.comparison import (
    BANDWIDTHS,
    Cell,
    Comparison,
    NeverWorse,
    compare,
    comparison_tasks,
    mean_outcome,
    never_worse,
)
from headgate_lab.papers.zhu2020.families import six_sites
from headgate_lab.papers.zhu2020.figures import Figure, instant_figures, scheduling_figures
from headgate_lab.papers.zhu2020.instant import (
    INSUFFICIENT_POLICIES,
    SUFFICIENT_POLICIES,
    InstantResult,
    run_instant,
)
from headgate_lab.papers.zhu2020.random_six import RandomSix, random_six
from headgate_lab.papers.zhu2020.real_crawls import CRAWLS
from headgate_lab.papers.zhu2020.reference import Reference, references

__all__ = ["Reproduction", "TenthOfReAlloc", "as_json", "reproduce", "tenths"]


@dataclass(frozen=True, slots=True)
class TenthOfReAlloc:
    """Family P without caps: is the default's mean lateness below a tenth of ReAlloc-MAXT's?"""

    bandwidth: float
    default: float
    re_alloc: float

    @property
    def holds(self) -> bool:
        return self.default < self.re_alloc / 10


@dataclass(frozen=True, slots=True)
class Reproduction:
    instances: int
    seed: int
    sufficient: list[InstantResult]
    insufficient: list[InstantResult]
    random_six: list[RandomSix]
    comparison: Comparison
    figures: list[Figure]
    claims: list[Claim]
    references: list[Reference]

    @property
    def tenths(self) -> list[TenthOfReAlloc]:
        return tenths(self.comparison)

    @property
    def never_worse(self) -> list[NeverWorse]:
        return never_worse(self.comparison)


def reproduce(
    instances: int, seed: int, mapper: Mapper, say: Callable[[str], object] = lambda _: None
) -> Reproduction:
    """Run it all; ``say`` hears what is being done."""
    say("six sites: Fig. 2 to 7")
    sufficient = [run_instant(policy, six_sites(), seed) for policy in SUFFICIENT_POLICIES]
    tight = six_sites(tightness=1300.0, sufficient=False)
    insufficient = [run_instant(policy, tight, seed) for policy in INSUFFICIENT_POLICIES]
    drawn = random_six(instances, seed, mapper)
    figures = instant_figures(seed)
    say(f"fifty sites, {instances} instances: Fig. 8 to 10")
    figures += scheduling_figures(instances, seed, mapper)
    tasks = comparison_tasks(instances, seed)
    say(f"fifty sites, families P, Q, R with and without caps: {len(tasks)} instances")
    comparison = compare(tasks, mapper)
    return Reproduction(
        instances,
        seed,
        sufficient=sufficient,
        insufficient=insufficient,
        random_six=drawn,
        comparison=comparison,
        figures=figures,
        claims=claims(figures, seed),
        references=references(sufficient, insufficient, comparison),
    )


def tenths(comparison: Comparison) -> list[TenthOfReAlloc]:
    found = []
    for bandwidth in BANDWIDTHS:
        by_policy = comparison.get(Cell("P", "no caps", bandwidth))
        if by_policy is not None:
            default = mean_outcome(by_policy[DEFAULT_POLICY]).lateness
            paper = mean_outcome(by_policy["ReAlloc-MAXT"]).lateness
            found.append(TenthOfReAlloc(bandwidth, default, paper))
    return found


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    """Names and numbers only; rates in kbit/s, times in seconds."""
    return {
        "paper": "zhu2020",
        "instances": reproduction.instances,
        "seed": reproduction.seed,
        "six_sites": {
            "950": [asdict(result) for result in reproduction.sufficient],
            "1300": [asdict(result) for result in reproduction.insufficient],
        },
        "random_six_sites": [asdict(found) for found in reproduction.random_six],
        "fifty_sites": [
            {
                **asdict(cell),
                "policy": policy,
                "instances": len(outcomes),
                **asdict(mean_outcome(outcomes)),
            }
            for cell, by_policy in reproduction.comparison.items()
            for policy, outcomes in by_policy.items()
        ],
        "checks": {
            "tenth_of_re_alloc": [
                {**asdict(tenth), "holds": tenth.holds} for tenth in reproduction.tenths
            ],
            "never_worse": [asdict(count) for count in reproduction.never_worse],
        },
        "figures": [asdict(figure) for figure in reproduction.figures],
        "real_crawls": [asdict(crawl) for crawl in CRAWLS],
        "claims": [asdict(claim) for claim in reproduction.claims],
        "references": [asdict(reference) for reference in reproduction.references],
    }
