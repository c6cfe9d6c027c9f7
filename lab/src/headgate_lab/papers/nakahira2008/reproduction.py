"""The paper's figures on virtual webs, and Headgate's own order beside the depth cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from statistics import fmean
from typing import Any

import numpy as np

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.nakahira2008.playing import play
from headgate_lab.worlds.virtual_web import DEEPEST, make_web

__all__ = [
    "CUT",
    "MARKS",
    "SITES",
    "UNTIL",
    "Reproduction",
    "WebResult",
    "as_json",
    "reproduce",
    "survey_web",
]

MARKS = (0.8, 0.9, 0.95, 0.97, 0.99)
"""Shares of the external hosts at which loads are compared."""
CUT = 8
"""The paper's depth."""
UNTIL = 0.9
SITES = 3400
"""Trees of a web, as many as the paper had."""
_CURVE_POINTS = 60


@dataclass(frozen=True, slots=True)
class WebResult:
    """One web. Loads are parts of all its pages, shares parts of all its external hosts."""

    seed: int
    pages: list[int]
    """At each depth."""
    hosts: list[int]
    """By the least depth at which they are linked to."""
    trees: list[int]
    """Site trees by their greatest depth."""
    cut_loads: list[float]
    """What the depth cut costs at each mark, between depths interpolated."""
    policy_loads: list[float]
    policy_curve: list[tuple[float, float]]
    """(load, share)."""
    stopped_share: float
    """Of the hosts, the part found by a survey that stopped at ``UNTIL`` by its own estimate."""
    stopped_load: float

    @property
    def load_by_depth(self) -> list[float]:
        return _running_share(self.pages)

    @property
    def share_by_depth(self) -> list[float]:
        return _running_share(self.hosts)


@dataclass(frozen=True, slots=True)
class Reproduction:
    sites: int
    results: list[WebResult]
    claims: list[Claim]

    def mean_loads(self) -> tuple[list[float], list[float]]:
        """At each mark: of the depth cut, of the policy."""
        return _mean_loads(self.results)


def survey_web(seed: int, sites: int = SITES) -> WebResult:
    """Make a web, look at its depths, and let the surveyor loose on it."""
    web = make_web(seed, sites, hosts=60_000 * sites // SITES)
    pages, hosts = web.pages_by_depth(), web.hosts_by_depth()
    load, share = np.cumsum(pages) / web.pages, np.cumsum(hosts) / hosts.sum()
    whole = play(web)
    stopped = play(web, until=UNTIL)
    points = np.linspace(0, len(whole.pages) - 1, _CURVE_POINTS).astype(int)
    return WebResult(
        seed,
        pages.tolist(),
        hosts=hosts.tolist(),
        trees=np.bincount(web.deepest_by_site(), minlength=DEEPEST + 1).tolist(),
        cut_loads=[float(np.interp(mark, share, load)) for mark in MARKS],
        policy_loads=[whole.load_at(mark, web) for mark in MARKS],
        policy_curve=[
            (float(whole.pages[k] / web.pages), float(whole.hosts[k] / hosts.sum())) for k in points
        ],
        stopped_share=float(stopped.hosts[-1] / hosts.sum()),
        stopped_load=float(stopped.pages[-1] / web.pages),
    )


def reproduce(
    webs: int,
    seed: int,
    mapper: Mapper,
    say: Callable[[str], object] = lambda _: None,
    sites: int = SITES,
) -> Reproduction:
    """Survey ``webs`` webs, seeded ``seed``, ``seed + 1`` ..."""
    say(f"{webs} virtual webs of {sites:,} sites, each surveyed whole and until {UNTIL:.0%}")
    results = list(mapper(partial(survey_web, sites=sites), range(seed, seed + webs)))
    return Reproduction(sites, results, _claims(results))


def as_json(reproduction: Reproduction) -> dict[str, Any]:
    cut, policy = reproduction.mean_loads()
    return {
        "paper": "nakahira2008",
        "sites": reproduction.sites,
        "marks": list(MARKS),
        "depth_cut_loads": cut,
        "policy_loads": policy,
        "claims": [asdict(claim) for claim in reproduction.claims],
        "webs": [asdict(result) for result in reproduction.results],
    }


def _running_share(counts: list[int]) -> list[float]:
    whole = sum(counts)
    return [done / whole for done in accumulate(counts)]


def _mean_loads(results: list[WebResult]) -> tuple[list[float], list[float]]:
    cut = [fmean(loads) for loads in zip(*(r.cut_loads for r in results), strict=True)]
    policy = [fmean(loads) for loads in zip(*(r.policy_loads for r in results), strict=True)]
    return cut, policy


def _claims(results: list[WebResult]) -> list[Claim]:
    loads = [result.load_by_depth[CUT] for result in results]
    losses = [1 - result.share_by_depth[CUT] for result in results]
    growth = [result.pages[10] / max(result.hosts[10], 1) for result in results]
    cut, policy = _mean_loads(results)
    shares = [result.stopped_share for result in results]
    return [
        Claim(
            "3.1, Fig. 1",
            "hosts level off at depth 9; pages keep growing to 20",
            min(growth) > 10 and max(losses) < 0.02,
            f"at depth 10 there are {min(growth):.0f} pages or more per new host",
        ),
        Claim(
            "3.3, Fig. 3",
            "depth 8 costs 80 % of the load (here: 80 ± 3 %)",
            0.77 <= fmean(loads) <= 0.83,
            f"{fmean(loads):.1%} ({min(loads):.1%} to {max(loads):.1%})",
        ),
        Claim(
            "3.3, Fig. 3",
            "at no loss of external hosts (here: < 1 %)",
            fmean(losses) < 0.01,
            f"{fmean(losses):.2%} lost ({min(losses):.2%} to {max(losses):.2%})",
        ),
        Claim(
            "3.3, Fig. 3",
            "80 % of the hosts at nearly half the load (here: 47 ± 4 %)",
            0.43 <= cut[0] <= 0.51,
            f"{cut[0]:.1%}",
        ),
        Claim(
            "ours",
            "most promising first: 80 % of the hosts at 37 % of the load or less",
            policy[0] <= 0.37,
            f"{policy[0]:.1%} (depth cut: {cut[0]:.1%})",
        ),
        Claim(
            "ours",
            "and 90 % at 52 % or less",
            policy[1] <= 0.52,
            f"{policy[1]:.1%} (depth cut: {cut[1]:.1%})",
        ),
        Claim(
            "ours",
            "a survey told to stop at 90 % has found 85 to 95 % of the hosts",
            min(shares) >= 0.85 and max(shares) <= 0.95,
            f"{fmean(shares):.1%} ({min(shares):.1%} to {max(shares):.1%})",
        ),
    ]
