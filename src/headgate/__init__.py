"""Headgate: a web crawler that keeps its promises about bandwidth and deadlines.

The few names most people need are here; everything else is reached by its room. They are loaded
when first used, so that ``import headgate`` and the command line start at once.

>>> import headgate
>>> sites = [headgate.Site("docs", expect=8e6, deadline=60), headgate.Site("news", expect=2e6)]
>>> headgate.plan(sites, headgate.Budget(200_000)).feasible
True
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to load than all that is here

if TYPE_CHECKING:
    from headgate.features.crawl.from_python import crawl, crawl_async, stream
    from headgate.features.crawl.request import read_site_file
    from headgate.features.export.opened import open  # noqa: A004
    from headgate.features.survey.report import SurveyReport
    from headgate.features.survey.request import survey
    from headgate.features.survey.strategy.rules import SurveyRules, SurveyScope
    from headgate.model.budget import Budget, Objective, Quota
    from headgate.model.errors import UserMistake, WorldFault
    from headgate.model.plan import Plan
    from headgate.model.run_report import RunReport
    from headgate.model.site import OnDeadline, Site, SiteStatistics
    from headgate.model.timetable import Timetable
    from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt
    from headgate.scheduling.planner import compare, plan

__all__ = [
    "Budget",
    "Objective",
    "OnDeadline",
    "Plan",
    "Quota",
    "RunReport",
    "Site",
    "SiteStatistics",
    "SurveyReport",
    "SurveyRules",
    "SurveyScope",
    "Timetable",
    "UserMistake",
    "WorldFault",
    "compare",
    "crawl",
    "crawl_async",
    "m_maxt",
    "m_stet",
    "m_sumt",
    "open",
    "plan",
    "read_site_file",
    "stream",
    "survey",
]

_HOMES = {
    "Budget": "model.budget",
    "Objective": "model.budget",
    "OnDeadline": "model.site",
    "Plan": "model.plan",
    "Quota": "model.budget",
    "RunReport": "model.run_report",
    "Site": "model.site",
    "SiteStatistics": "model.site",
    "SurveyReport": "features.survey.report",
    "SurveyRules": "features.survey.strategy.rules",
    "SurveyScope": "features.survey.strategy.rules",
    "Timetable": "model.timetable",
    "UserMistake": "model.errors",
    "WorldFault": "model.errors",
    "compare": "scheduling.planner",
    "crawl": "features.crawl.from_python",
    "crawl_async": "features.crawl.from_python",
    "m_maxt": "scheduling.allocation",
    "m_stet": "scheduling.allocation",
    "m_sumt": "scheduling.allocation",
    "open": "features.export.opened",
    "plan": "scheduling.planner",
    "read_site_file": "features.crawl.request",
    "stream": "features.crawl.from_python",
    "survey": "features.survey.request",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
