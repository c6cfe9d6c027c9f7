"""``headgate survey LIST --serve-nats``: a survey by many machines."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from headgate.cli.manager_progress import grid_parts
from headgate.cli.survey_progress import SurveyWatch
from headgate.cli.terminal import on_interrupt, say
from headgate.features.grid.coordinator.catalog import only_manager
from headgate.features.grid.coordinator.endpoint import DoorPlace
from headgate.features.grid.coordinator.survey import survey_by_nodes
from headgate.features.survey.job import SurveyJob
from headgate.features.survey.report import SurveyReport
from headgate.model.errors import WorldFault
from headgate.model.grid import GridTerms

__all__ = ["survey_with_nodes"]

_MOST_WAIT_SECONDS = 60.0


async def survey_with_nodes(
    job: SurveyJob, terms: GridTerms, place: DoorPlace, catalog: str, *, quiet: bool
) -> SurveyReport:
    """If a catalog in PostgreSQL fails, wait for it: nodes keep their results."""
    watch = SurveyWatch(quiet=quiet)
    on_interrupt(asyncio.get_running_loop(), watch.interrupt)
    wait = 1.0
    try:
        while True:
            try:
                async with only_manager(catalog, say) as waited:
                    parts = await grid_parts(place, job.out, catalog, took_over=waited)
                    return await survey_by_nodes(job, terms, parts, watch)
            except WorldFault as fault:
                if not (catalog and watch.goes_on):
                    raise
                say(f"{fault}; trying again in {wait:g} s")
            await asyncio.sleep(wait)
            wait = min(2 * wait, _MOST_WAIT_SECONDS)
            job = replace(job, resume=True)
    finally:
        watch.close()
