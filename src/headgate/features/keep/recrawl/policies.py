"""Recrawl policies by name.

Each has two parts: among the pages of a site (`page_policies.PagePolicy`), and among sites
(`site_order.SiteOrder`). The lab and the keeper use the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.features.keep.recrawl.page_policies import (
    ByIndex,
    ByNutch,
    PagePolicy,
    Uniform,
    WholeChannel,
)
from headgate.features.keep.recrawl.priority_groups import ChannelGroups, fixed, icr, iir
from headgate.features.keep.recrawl.site_order import ByWorth, SiteOrder
from headgate.model.errors import UserMistake
from headgate.model.keeping import Staleness

__all__ = ["DEFAULT_POLICY", "POLICY_NAMES", "KeepPolicy", "keep_policy"]

DEFAULT_POLICY = "index"
_BY_GROUPS = {"fixed": fixed, "iir": iir, "icr": icr}
POLICY_NAMES = (DEFAULT_POLICY, *_BY_GROUPS, "nutch", "uniform")


@dataclass(frozen=True, slots=True)
class KeepPolicy:
    name: str
    pages: PagePolicy
    order: SiteOrder


def keep_policy(name: str, staleness: Staleness = Staleness.AGE) -> KeepPolicy:
    """``staleness`` is what the index minimises.

    >>> keep_policy("uniform").pages
    Uniform(riding=0.9)
    """
    if name in _BY_GROUPS:
        return KeepPolicy(name, WholeChannel(), ChannelGroups(_BY_GROUPS[name]))
    pages: dict[str, PagePolicy] = {
        DEFAULT_POLICY: ByIndex(staleness),
        "nutch": ByNutch(),
        "uniform": Uniform(),
    }
    if name not in pages:
        raise UserMistake(f"{name!r} is no policy to keep by; choose {', '.join(POLICY_NAMES)}")
    return KeepPolicy(name, pages[name], ByWorth())
