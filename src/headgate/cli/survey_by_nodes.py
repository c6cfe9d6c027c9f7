"""``headgate survey LIST --serve-nats``: a survey by many machines."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from headgate.cli.manager_progress import grid_parts, managed
from headgate.cli.survey_progress import SurveyWatch
from headgate.cli.terminal import on_interrupt
from headgate.features.grid.coordinator.endpoint import DoorPlace
from headgate.features.grid.coordinator.survey import survey_by_nodes
from headgate.features.survey.job import SurveyJob
from headgate.features.survey.report import SurveyReport
from headgate.model.grid import GridTerms

__all__ = ["survey_with_nodes"]


async def survey_with_nodes(
    job: SurveyJob, terms: GridTerms, place: DoorPlace, catalog: str, *, quiet: bool
) -> SurveyReport:
    watch = SurveyWatch(quiet=quiet)
    on_interrupt(asyncio.get_running_loop(), watch.interrupt)

    async def once(waited: bool) -> SurveyReport:
        parts = await grid_parts(place, job.out, catalog, took_over=waited)
        resumed = replace(job, resume=job.resume or watch.begun)
        return await survey_by_nodes(resumed, terms, parts, watch)

    try:
        return await managed(catalog, once, lambda: watch.goes_on)
    finally:
        watch.close()
