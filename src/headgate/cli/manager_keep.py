"""``headgate manager FILE --keep``: a collection kept fresh by many machines."""

from __future__ import annotations

import argparse
from pathlib import Path

from msgspec.structs import replace

from headgate.cli.keep_progress import KeepWatch, heeding_signals
from headgate.cli.manager_progress import grid_parts, managed
from headgate.engine.site_inputs import read_text
from headgate.features.grid.coordinator.endpoint import DoorPlace
from headgate.features.grid.coordinator.keep import keep_by_nodes
from headgate.features.keep.job import KeepJob, KeepRequest
from headgate.features.keep.status import KeepStatus
from headgate.model.budget import Budget
from headgate.model.grid import GridTerms
from headgate.site_file.parsing import SiteFile

__all__ = ["keep_request", "keep_with_nodes"]


def keep_request(args: argparse.Namespace) -> KeepRequest:
    return KeepRequest(
        Path(args.what), lambda path: read_text(str(path)), args.bandwidth, args.quota,
        objective=args.objective, policy=args.policy, contact=args.contact,
        duration=args.duration, once=args.once,
    )  # fmt: skip


async def keep_with_nodes(
    job: KeepJob, terms: GridTerms, place: DoorPlace, catalog: str, *, quiet: bool
) -> KeepStatus:
    watch = heeding_signals(KeepWatch(quiet=quiet))
    job = _without_making_way(job)

    async def once(waited: bool) -> KeepStatus:
        parts = await grid_parts(place, job.out, catalog, took_over=waited)
        return await keep_by_nodes(job, terms, parts, watch)

    return await managed(catalog, once, lambda: not watch.stopped)


def _without_making_way(job: KeepJob) -> KeepJob:
    """Nodes make way on their own lines if their owners want it; no pages pass over the
    manager's."""

    def reread(anyway: bool) -> SiteFile | None:
        contents = job.reread(anyway)
        return None if contents is None else replace(contents, budget=_alone(contents.budget))

    return replace(job, budget=_alone(job.budget), reread=reread)


def _alone(budget: Budget) -> Budget:
    return replace(budget, make_way=False)
