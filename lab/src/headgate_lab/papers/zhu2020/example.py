"""The paper's fifty sites as a site file: family P, seed 1, at 530 kbit/s."""

from __future__ import annotations

from headgate_lab.papers.zhu2020.families import CRITICAL_KBIT, KBIT, fifty_sites

__all__ = ["fifty_sites_toml"]

_HEAD = f"""\
# Fifty sites, five crawlers (Zhu et al. 2020, section 5.3; docs/lab.md, family P, seed 1). The
# paper prints no deadlines; these are critical at {CRITICAL_KBIT:.0f} kbit/s.
#
# Made by: headgate lab zhu2020 --write-example fifty-sites.toml
#
#   headgate plan --example fifty-sites --compare

[budget]
bandwidth = "{CRITICAL_KBIT:.0f} kbit/s"
crawlers = 5
"""


def fifty_sites_toml() -> str:
    problem = fifty_sites("P", "no caps", CRITICAL_KBIT, seed=1)
    sites = zip(problem.work / KBIT, problem.deadlines, strict=True)
    return _HEAD + "".join(
        f'\n[site.site-{number:02d}]\nexpect = "{size:.3f} kbit"\ndeadline = "{deadline:.3f}s"\n'
        for number, (size, deadline) in enumerate(sites, start=1)
    )
