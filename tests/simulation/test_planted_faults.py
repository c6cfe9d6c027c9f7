"""That the fault simulation finds what is wrong: faults planted in the code that it must not miss.

Each is played seed by seed until one fails: most faults are found by the first dozen, and those
that take longer begin some seeds before the one that finds them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from tests.simulation.faults import play

from headgate.control.allowance import Arrivals, LineUse
from headgate.crawling.page_requests import SiteRequests
from headgate.crawling.progress import Progress
from headgate.engine.process_messages import Start
from headgate.engine.workers import RunningTask, WorkerProcess
from headgate.fetching.meter import Meter
from headgate.frontier.frontier import Frontier
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.storage.append_file import AppendFile
from headgate.storage.run_state import Elapsed, ElapsedFile
from headgate.testing.simulated_web import SimulatedWeb

MOST_SEEDS = 150
Plant = Callable[[pytest.MonkeyPatch], None]


def tries_that_failed_are_not_counted(planting: pytest.MonkeyPatch) -> None:
    async def request(requests: SiteRequests, request: FetchRequest) -> Fetched | FetchFailure:
        outcome = await requests._fetcher.fetch(request)
        if isinstance(outcome, Fetched):
            requests._progress.wire_bytes += outcome.wire_bytes
        return outcome

    planting.setattr(SiteRequests, "request", request)


def what_is_cut_off_is_not_counted(planting: pytest.MonkeyPatch) -> None:
    planting.setattr(SimulatedWeb, "take_cut_off", lambda *_: 0)


def line_use_is_not_added(planting: pytest.MonkeyPatch) -> None:
    planting.setattr(LineUse, "add", lambda *_: None)


def line_use_is_saved_twice(planting: pytest.MonkeyPatch) -> None:
    planting.setattr(LineUse, "unsaved", lambda use: dict(use._fresh))


def time_is_not_saved(planting: pytest.MonkeyPatch) -> None:
    write = ElapsedFile.write
    planting.setattr(ElapsedFile, "write", lambda file, _: write(file, Elapsed(0.0, ended=True)))


def pages_are_named_before_they_are_durable(planting: pytest.MonkeyPatch) -> None:
    sync = AppendFile.sync

    def sync_journals_only(file: AppendFile) -> None:
        if file.path.suffix == ".gz":
            file.flush()
        else:
            sync(file)

    planting.setattr(AppendFile, "sync", sync_journals_only)


def a_resumed_site_forgets_what_it_has(planting: pytest.MonkeyPatch) -> None:
    planting.setattr(Frontier, "replay", lambda *_: None)


def a_third_more_than_the_budget_may_pass(planting: pytest.MonkeyPatch) -> None:
    set_total = Meter.set_total
    planting.setattr(Meter, "set_total", lambda meter, rate: set_total(meter, 1.33 * rate))


def what_came_after_a_restart_is_not_counted(planting: pytest.MonkeyPatch) -> None:
    fresh = Arrivals.fresh

    def of_one_life(arrivals: Arrivals, report: Progress) -> int:
        return fresh(arrivals, msgspec.structs.replace(report, restarts=0))

    planting.setattr(Arrivals, "fresh", of_one_life)


def what_came_before_a_move_is_not_counted(planting: pytest.MonkeyPatch) -> None:
    def update(running: RunningTask, report: Progress) -> None:
        running.progress = report

    planting.setattr(RunningTask, "update", update)


def a_restarted_task_begins_anew(planting: pytest.MonkeyPatch) -> None:
    planting.setattr(RunningTask, "order", lambda running, now: Start(running.task, now))


def what_servers_did_dies_with_the_worker(planting: pytest.MonkeyPatch) -> None:
    planting.setattr(WorkerProcess, "bury", lambda worker: worker.servers.clear())


@pytest.mark.parametrize(
    ("plant", "first"),
    [
        (tries_that_failed_are_not_counted, 0),
        (what_is_cut_off_is_not_counted, 70),
        (line_use_is_not_added, 0),
        (line_use_is_saved_twice, 0),
        (time_is_not_saved, 0),
        (pages_are_named_before_they_are_durable, 0),
        (a_resumed_site_forgets_what_it_has, 0),
        (a_third_more_than_the_budget_may_pass, 0),
        (what_came_after_a_restart_is_not_counted, 0),
        (what_came_before_a_move_is_not_counted, 0),
        (a_restarted_task_begins_anew, 0),
        (what_servers_did_dies_with_the_worker, 0),
    ],
)
def test_the_simulation_finds(plant: Plant, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(play(seed) for seed in range(first, first + MOST_SEEDS))
