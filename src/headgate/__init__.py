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
    from headgate.jobs.exporting.opened import open  # noqa: A004
    from headgate.jobs.from_python import crawl, crawl_async, stream
    from headgate.jobs.site_files import read_site_file
    from headgate.jobs.surveys.from_python import survey
    from headgate.model.budget import Budget, Objective
    from headgate.model.errors import UserMistake, WorldFault
    from headgate.model.plan import Plan
    from headgate.model.quota import Quota
    from headgate.model.run_report import RunReport
    from headgate.model.site import OnDeadline, Site, SiteStatistics
    from headgate.model.survey_report import SurveyReport
    from headgate.model.timetable import Timetable
    from headgate.planning.maxt import m_maxt
    from headgate.planning.planner import compare, plan
    from headgate.planning.stet import m_stet
    from headgate.planning.sumt import m_sumt
    from headgate.surveying.rules import SurveyRules
    from headgate.surveying.scope import SurveyScope

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
    "Quota": "model.quota",
    "RunReport": "model.run_report",
    "Site": "model.site",
    "SiteStatistics": "model.site",
    "SurveyReport": "model.survey_report",
    "SurveyRules": "surveying.rules",
    "SurveyScope": "surveying.scope",
    "Timetable": "model.timetable",
    "UserMistake": "model.errors",
    "WorldFault": "model.errors",
    "compare": "planning.planner",
    "crawl": "jobs.from_python",
    "crawl_async": "jobs.from_python",
    "m_maxt": "planning.maxt",
    "m_stet": "planning.stet",
    "m_sumt": "planning.sumt",
    "open": "jobs.exporting.opened",
    "plan": "planning.planner",
    "read_site_file": "jobs.site_files",
    "stream": "jobs.from_python",
    "survey": "jobs.surveys.from_python",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
