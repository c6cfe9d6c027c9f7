"""Records a run's visits of its sites in the catalog."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.control.catalog import Catalog, Visit
from headgate.model.run_report import RunReport, SiteReport

__all__ = ["record_visits", "visit_of"]


def record_visits(
    catalog: Catalog, report: RunReport, wall: float, fresh: Mapping[str, Visit]
) -> None:
    """Record each site that was begun: the ``fresh`` visits, and those of earlier legs that were
    not recorded then."""
    catalog.record_visits(
        fresh[site.name] if site.name in fresh else visit_of(report, site, wall)
        for site in report.sites
        if site.name in fresh or (site.fetches and not _recorded(catalog, site.name, report.stamp))
    )


def _recorded(catalog: Catalog, site: str, run: str) -> bool:
    return any(visit.run == run for visit in catalog.history(site, 1))


def visit_of(report: RunReport, site: SiteReport, wall: float) -> Visit:
    began = site.started or 0.0
    ended = report.seconds if site.finished is None else site.finished
    return Visit(
        site=site.name,
        run=report.stamp,
        started=report.started_at + began,
        finished=min(report.started_at + ended, wall),
        seconds=max(ended - began, 0.0),
        pages=site.pages,
        payload_bytes=site.bytes,
        wire_bytes=site.wire_bytes,
        complete=site.state == "done" and not site.given_up,
        errors=site.errors,
    )
