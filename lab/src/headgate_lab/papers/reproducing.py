"""Reproductions by name of the paper, and their durations. A paper's modules are imported on
demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from headgate.model.errors import UserMistake
from headgate_lab.papers import PAPERS
from headgate_lab.papers.chapter import Chapter
from headgate_lab.papers.mapping import Mapper

__all__ = ["Reproduced", "Trial", "expected_seconds", "known_paper", "reproduced"]

Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Trial:
    """How much is done."""

    seed: int = 1
    instances: int | None = None
    """None: as many as the paper is usually given."""
    simulated: bool = False
    quick: bool = False

    def instances_of(self, usual: int, few: int) -> int:
        return self.instances or (few if self.quick else usual)

    def as_key(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Reproduced:
    chapter: Chapter
    print_tables: Callable[[], None]


def known_paper(name: str) -> str:
    if name in PAPERS:
        return name
    near = get_close_matches(name.lower(), PAPERS, n=1, cutoff=0.4)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(PAPERS)}"
    raise UserMistake(f"there is no paper {name!r}; {remedy}")


def reproduced(paper: str, trial: Trial, mapper: Mapper, say: Say) -> Reproduced:
    return _REPRODUCED[paper](trial, mapper, say)


def expected_seconds(paper: str, trial: Trial, jobs: int) -> float:
    """About how long it takes here, if this machine is like ours and has so many processors."""
    once, each, usual, few, alone = _COSTS[paper]
    instances = trial.instances_of(usual, few)
    seconds = (once + each * instances) * (_QUICKER.get(paper, 1.0) if trial.quick else 1.0)
    on_the_bed = _BED_SECONDS if paper == "diligenti2004" and not trial.simulated else 0.0
    return on_the_bed + seconds / (1 if alone else jobs)


_COSTS = {
    "zhu2020": (20.0, 13.0, 40, 1, False),
    "diligenti2004": (10.0, 0.0, 1, 1, True),
    "nakahira2008": (2.0, 75.0, 10, 1, False),
    "pechnikov2017": (2.0, 0.13, 200, 20, False),
    "sarss2010": (450.0, 150.0, 5, 1, False),
    "freshness": (200.0, 130.0, 3, 1, False),
}
"""Processor seconds once and for each instance, how many instances usually and for a quick look,
whether they are done one after the other."""
_QUICKER = {"nakahira2008": 0.1, "freshness": 0.06, "sarss2010": 0.02}
_BED_SECONDS = 140.0


def _zhu2020(trial: Trial, mapper: Mapper, say: Say) -> Reproduced:
    from headgate_lab.papers.zhu2020.report import chapter
    from headgate_lab.papers.zhu2020.reproduction import reproduce
    from headgate_lab.papers.zhu2020.text import print_reproduction

    found = reproduce(trial.instances_of(40, 1), trial.seed, mapper, say)
    return Reproduced(chapter(found), lambda: print_reproduction(found))


def _diligenti2004(trial: Trial, mapper: Mapper, say: Say) -> Reproduced:  # noqa: ARG001
    from headgate_lab.papers.diligenti2004.report import chapter
    from headgate_lab.papers.diligenti2004.reproduction import reproduce
    from headgate_lab.papers.diligenti2004.text import print_reproduction

    found = reproduce(trial.seed, on_the_bed=not (trial.simulated or trial.quick), say=say)
    return Reproduced(chapter(found), lambda: print_reproduction(found))


def _nakahira2008(trial: Trial, mapper: Mapper, say: Say) -> Reproduced:
    from headgate_lab.papers.nakahira2008.report import chapter
    from headgate_lab.papers.nakahira2008.reproduction import SITES, reproduce
    from headgate_lab.papers.nakahira2008.text import print_reproduction

    sites = SITES // 10 if trial.quick else SITES
    found = reproduce(trial.instances_of(10, 1), trial.seed, mapper, say, sites)
    return Reproduced(chapter(found), lambda: print_reproduction(found))


def _pechnikov2017(trial: Trial, mapper: Mapper, say: Say) -> Reproduced:
    from headgate_lab.papers.pechnikov2017.report import chapter
    from headgate_lab.papers.pechnikov2017.reproduction import reproduce
    from headgate_lab.papers.pechnikov2017.text import print_reproduction

    found = reproduce(trial.instances_of(200, 20), trial.seed, mapper, say)
    return Reproduced(chapter(found), lambda: print_reproduction(found))


def _sarss2010(trial: Trial, mapper: Mapper, say: Say) -> Reproduced:
    from headgate_lab.papers.sarss2010.report import chapter
    from headgate_lab.papers.sarss2010.reproduction import reproduce
    from headgate_lab.papers.sarss2010.simulation import FULL, TENTH
    from headgate_lab.papers.sarss2010.text import print_reproduction

    extent = TENTH if trial.quick else FULL
    found = reproduce(extent, trial.seed, trial.instances_of(5, 1), mapper, say)
    return Reproduced(chapter(found), lambda: print_reproduction(found))


def _freshness(trial: Trial, mapper: Mapper, say: Say) -> Reproduced:
    from headgate_lab.papers.freshness.report import chapter
    from headgate_lab.papers.freshness.reproduction import reproduce
    from headgate_lab.papers.freshness.text import print_reproduction

    webs, every = (trial.instances or 0, 4) if trial.quick else (trial.instances or 3, 1)
    found = reproduce(webs, trial.seed, mapper, say, every)
    return Reproduced(chapter(found), lambda: print_reproduction(found))


_REPRODUCED: dict[str, Callable[[Trial, Mapper, Say], Reproduced]] = {
    "zhu2020": _zhu2020,
    "diligenti2004": _diligenti2004,
    "nakahira2008": _nakahira2008,
    "pechnikov2017": _pechnikov2017,
    "sarss2010": _sarss2010,
    "freshness": _freshness,
}
