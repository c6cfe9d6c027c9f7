"""A keeper over days of virtual time: what it keeps, and what it lives through."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from msgspec.structs import replace
from tests.simulation.kept_web import (
    BEGIN,
    DAY,
    HOUR,
    ChangingPages,
    Onlooker,
    keep_job,
    keep_virtually,
    site,
)

from headgate.features.keep import keeper, visit_memory, volumes
from headgate.features.keep.notices import ChangeNotices
from headgate.model.errors import UserMistake, WorldFault
from headgate.model.keeping import VolumeBounds
from headgate.model.units import Seconds
from headgate.storage import sealing
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.memory.site import SiteMemory
from headgate.testing.virtual_time import VirtualClock

HOST = "a.example"


def page_of(url: str) -> int:
    path = urlsplit(url).path
    return 0 if path == "/" else int(path.strip("/p"))


def indexed(out: Path) -> Counter[str]:
    """Lines of pages in all indexes, by URL; none twice."""
    lines = [
        line for index in (out / "runs").glob("*/index.cdxj")
        for line in index.read_text().splitlines()
    ]  # fmt: skip
    assert len(lines) == len(set(lines))
    urls = Counter(json.loads(line.split(" ", 2)[2])["url"] for line in lines)
    return Counter({url: n for url, n in urls.items() if not url.endswith((".txt", ".xml"))})


def test_every_version_that_was_sent_is_archived_once(tmp_path: Path) -> None:
    web = ChangingPages(["a.example", "b.example"])
    status, _, line = keep_virtually(keep_job(tmp_path, [site(h) for h in web.hosts], 6.0), web)
    assert indexed(tmp_path) == {url: len(sent) for url, sent in web.sent.items()}
    assert not Collection(tmp_path).unfinished_run(), "all volumes are sealed"
    assert status.last_day.wire_bytes <= line.wire_bytes
    assert (status.running, status.pages, status.visiting) == (False, 16, ())
    with SqliteCatalog(Collection(tmp_path).catalog) as catalog:
        for host in web.hosts:
            visits = catalog.history(host, 1000)
            looks = sum(len(at) for url, at in web.asked.items() if host in url)
            assert sum(visit.asked for visit in visits) == looks
            assert len({visit.visit for visit in visits}) == len(visits)


def test_pages_that_change_often_are_looked_at_more_often(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=6, rates=(0.02, 3.0))
    keep_virtually(keep_job(tmp_path, [site(HOST)], 14.0), web)
    looks = {page_of(url): len(at) for url, at in web.asked.items()}
    seldom = [n for page, n in looks.items() if page % 2 == 0]
    often = [n for page, n in looks.items() if page % 2]
    assert min(often) > 2 * max(seldom)


def test_all_is_the_same_again(tmp_path: Path) -> None:
    found = []
    for name in ("first", "second"):
        web = ChangingPages(["a.example", "b.example"])
        job = keep_job(tmp_path / name, [site(host) for host in web.hosts], 2.0, rate=2e3)
        status, _, line = keep_virtually(job, web)
        found.append((status, line.wire_bytes, dict(web.asked)))
    assert found[0] == found[1]


def test_a_promise_is_kept_and_told(tmp_path: Path) -> None:
    web = ChangingPages([HOST])
    promised = site(HOST, fresh_within=Seconds(2 * HOUR))
    status, _, _ = keep_virtually(keep_job(tmp_path, [promised], 1.0), web)
    assert status.promises.late == 0
    assert status.promises.kept >= 10
    for moments in web.asked.values():
        gaps = [after - before for before, after in pairwise(moments)]
        assert max(gaps) <= 2 * HOUR


def test_old_promises_are_forgotten_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_FORGET_DAYS", 2)
    promised = site(HOST, fresh_within=Seconds(2 * HOUR))
    job = keep_job(tmp_path, [promised], 5.0)
    daily = replace(job.budget, volume=VolumeBounds(Seconds(DAY)))
    keep_virtually(replace(job, budget=daily), ChangingPages([HOST]))
    with SqliteCatalog(Collection(tmp_path).catalog) as catalog:
        settled = [promise.settled for promise in catalog.promises(0.0)]
    assert BEGIN + 1.5 * DAY < min(settled) < BEGIN + 4 * DAY


def test_a_site_that_is_down_is_left_alone_for_longer_and_longer(tmp_path: Path) -> None:
    back = BEGIN + 4 * DAY
    web = ChangingPages([HOST], down=lambda _, now: BEGIN + 0.5 * DAY < now < back)
    status, onlooker, _ = keep_virtually(keep_job(tmp_path, [site(HOST)], 6.0), web)
    with SqliteCatalog(Collection(tmp_path).catalog) as catalog:
        visits = [visit for visit in catalog.history(HOST, 100) if not visit.pages]
    starts = sorted(visit.started for visit in visits)
    gaps = [round((after - before) / HOUR) for before, after in pairwise(starts)]
    assert gaps[:3] == [1, 4, 16]
    assert not status.troubles
    assert any(trouble.site == HOST for state in onlooker.states for trouble in state.troubles)
    assert max(max(at) for at in web.asked.values()) > back
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert all(page.failing == 0 for page in memory)


def test_one_text_for_all_is_doubted_twice_and_then_believed(tmp_path: Path) -> None:
    web = ChangingPages([HOST], rates=(0.0,))
    hour = [BEGIN + 2.5 * DAY, BEGIN + 2.5 * DAY + 0.5 * HOUR]
    web.sorry = lambda _, now: hour[0] < now < hour[1]
    job = keep_job(tmp_path / "hour", [site(HOST)], 5.0)
    keep_virtually(job, web)
    with SiteMemory(Collection(tmp_path / "hour").memory(HOST), HOST) as memory:
        assert {page.changes for page in memory} == {0}
    web = ChangingPages([HOST], rates=(0.0,), sorry=lambda _, now: now > BEGIN + 1.5 * DAY)
    keep_virtually(keep_job(tmp_path / "ever", [site(HOST)], 5.0), web)
    with SiteMemory(Collection(tmp_path / "ever").memory(HOST), HOST) as memory:
        assert {page.changes for page in memory} == {1}


def test_a_server_that_ignores_conditions_costs_whole_pages(tmp_path: Path) -> None:
    web = ChangingPages([HOST], rates=(0.0,), heeds=False)
    status, _, _ = keep_virtually(keep_job(tmp_path, [site(HOST)], 4.0), web)
    assert status.last_day.changed == 0
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert not any(page.heeds_conditions for page in memory)


@pytest.mark.parametrize("by_seconds", [-365 * DAY, -DAY, 30 * DAY])
def test_a_clock_that_is_set_does_not_stop_it(tmp_path: Path, by_seconds: float) -> None:
    web = ChangingPages([HOST])
    seen: list[int] = []

    async def set_clock(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(2 * DAY)
        seen.append(sum(map(len, web.asked.values())))
        clock.set_wall(by_seconds)

    status, _, _ = keep_virtually(keep_job(tmp_path, [site(HOST)], 5.0), web, meanwhile=set_clock)
    looks = sum(map(len, web.asked.values()))
    assert looks > seen[0] + 8, "each page was looked at since"
    assert not status.troubles
    assert indexed(tmp_path)


def test_a_machine_that_sleeps_for_a_week_goes_on(tmp_path: Path) -> None:
    web = ChangingPages([HOST])
    promised = site(HOST, fresh_within=Seconds(6 * HOUR))

    async def sleep(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(DAY)
        clock.sleep(7 * DAY)

    job = keep_job(tmp_path, [promised], 9.0)
    status, _, _ = keep_virtually(job, web, meanwhile=sleep)
    assert status.promises.late == 1, "told of once"
    assert status.promises.worst_late_seconds == pytest.approx(6.75 * DAY, rel=0.1)


def test_after_a_sleep_the_budget_is_what_it_was(tmp_path: Path) -> None:
    """Neither a day's bytes at once nor twice the rate, with visits under way and pages due."""
    rate, window, asleep_at = 5e3, 20.0, 60.0
    web = ChangingPages(["a.example", "b.example", "c.example"], pages=60)

    async def sleep(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(asleep_at)
        clock.sleep(DAY)

    job = keep_job(tmp_path, [site(h) for h in web.hosts], 1 + 200 / DAY, rate=rate)
    _, _, line = keep_virtually(job, web, meanwhile=sleep)
    came = np.array([at for at, _ in line.arrivals])
    amounts = np.array([amount for _, amount in line.arrivals])
    most = max(amounts[(came >= at) & (came < at + window)].sum() for at in came)
    assert most <= 1.05 * rate * window + 2 * 1514
    after = (came >= asleep_at) & (came < asleep_at + 3 * window)
    assert amounts[after].sum() > 0.8 * rate * 3 * window, "and it went on at once"


def test_a_volume_that_cannot_be_sealed_waits_and_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = ChangingPages([HOST])
    tries: list[str] = []
    seal = sealing.seal_volume

    def failing(run: object) -> None:
        tries.append(str(run))
        if len(tries) <= 3:
            raise WorldFault("the disk is full")
        seal(run)  # type: ignore[arg-type]

    monkeypatch.setattr(sealing, "seal_volume", failing)
    status, onlooker, _ = keep_virtually(keep_job(tmp_path, [site(HOST)], 4.0), web)
    told = [state for state in onlooker.states if state.troubles]
    assert "cannot be sealed: the disk is full" in told[0].troubles[0].what
    assert told[0].troubles[0].remedy
    assert not status.troubles
    assert indexed(tmp_path) == {url: len(sent) for url, sent in web.sent.items()}


def test_a_clock_that_is_set_back_keeps_no_volume_from_being_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []
    counted: list[int] = []

    def failing(run: object) -> None:
        tries.append(str(run))
        raise WorldFault("the disk is full")

    async def set_clock(clock: VirtualClock, _: Onlooker) -> None:
        await asyncio.sleep(1.02 * DAY)
        clock.set_wall(-30 * DAY)
        await asyncio.sleep(3 * HOUR)
        counted.append(tries.count(tries[0]))

    monkeypatch.setattr(sealing, "seal_volume", failing)
    job = keep_job(tmp_path, [site(HOST)], 1.2)
    keep_virtually(job, ChangingPages([HOST], pages=2), meanwhile=set_clock)
    assert counted[0] >= 3, "every hour"


def test_a_full_disk_is_lived_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be made durable for an hour in the second day."""
    web = ChangingPages([HOST], rates=(4.0,))
    full = [False]
    sync = os.fdatasync

    def failing(fd: int) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(fd)

    monkeypatch.setattr(os, "fdatasync", failing)

    async def fill(_: VirtualClock, __: Onlooker) -> None:
        await asyncio.sleep(0.9 * DAY)
        full[0] = True
        await asyncio.sleep(0.3 * DAY)
        full[0] = False

    status, onlooker, _ = keep_virtually(keep_job(tmp_path, [site(HOST)], 4.0), web, meanwhile=fill)
    assert any("No space left" in word for word in onlooker.words)
    troubled = [bool(state.troubles) for state in onlooker.states]
    assert "No space left" in onlooker.states[troubled.index(True)].troubles[0].what
    assert sum(before != now for before, now in pairwise(troubled)) == 2, "until it was over"
    assert not status.troubles
    assert max(max(at) for at in web.asked.values()) > BEGIN + 3 * DAY
    assert indexed(tmp_path)


def test_no_site_is_left_out_if_recovery_from_a_fault_fails_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The visit that the fault ended counted as running for ever."""
    web = ChangingPages([HOST], rates=(4.0,))
    faults = ["while a visit is stored", "while its journal is recovered"]
    sync, recover = os.fdatasync, volumes.recover_volume
    began = asyncio.Event()

    def failing(fd: int) -> None:
        if began.is_set() and len(faults) == 2:
            raise OSError(errno.EIO, faults.pop(0))
        sync(fd)

    def unreadable(run: RunFolder) -> None:
        if len(faults) == 1:
            raise WorldFault(faults.pop())
        recover(run)

    monkeypatch.setattr(os, "fdatasync", failing)
    monkeypatch.setattr("headgate.features.keep.volumes.recover_volume", unreadable)

    async def begin(_: VirtualClock, __: Onlooker) -> None:
        await asyncio.sleep(1.0 * DAY)
        began.set()

    status, onlooker, _ = keep_virtually(
        keep_job(tmp_path, [site(HOST)], 4.0), web, meanwhile=begin
    )
    assert not faults
    assert any("its journal is recovered" in word for word in onlooker.words)
    assert not status.troubles
    assert max(max(at) for at in web.asked.values()) > BEGIN + 3 * DAY
    assert indexed(tmp_path)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("step", ["_one_for_all", "merge"])
def test_what_a_visit_found_that_a_fault_ended_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, restarted: bool
) -> None:
    """Before its news are left, or when they are left and not yet in the memory."""
    web = ChangingPages([HOST], rates=(4.0,))
    told: Counter[str] = Counter()
    monkeypatch.setattr(ChangeNotices, "enqueue", lambda _, one: told.update([one.change.url]))
    works = getattr(visit_memory, step)
    full = [False]

    def failing(*args: Any, **kwargs: Any) -> Any:
        if full[0]:
            full[0] = restarted
            raise WorldFault("No space left on device")
        return works(*args, **kwargs)

    monkeypatch.setattr(visit_memory, step, failing)

    async def fill(_: VirtualClock, __: Onlooker) -> None:
        await asyncio.sleep(0.5 * DAY)
        full[0] = True

    often = site(HOST, on_change="true", fresh_within=Seconds(3 * HOUR))
    job = keep_job(tmp_path, [often], 1.0)
    _, onlooker, _ = keep_virtually(job, web, meanwhile=fill)
    assert any("No space left" in word for word in onlooker.words)
    if restarted:
        full[0] = False
        keep_virtually(job, web, begin=BEGIN + 1.1 * DAY)
    with SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory:
        assert told == {page.url: page.changes for page in memory if page.changes}
    assert sum(told.values()) > 8


def test_volumes_are_many_and_no_file_is_held_for_each(tmp_path: Path) -> None:
    web = ChangingPages([HOST], pages=2, rates=(20.0,))
    job = keep_job(
        tmp_path, [site(HOST, min_interval=Seconds(60.0))], 1.0,
        volume=VolumeBounds(Seconds(300.0), None),
    )  # fmt: skip
    before = len(list(Path("/proc/self/fd").iterdir()))
    most: list[int] = []

    async def count(_: VirtualClock, __: Onlooker) -> None:
        while True:
            await asyncio.sleep(HOUR)
            most.append(len(list(Path("/proc/self/fd").iterdir())))

    status, _, _ = keep_virtually(job, web, meanwhile=count)
    assert status.volumes.sealed > 30
    assert max(most) <= before + 16
    assert indexed(tmp_path) == {url: len(sent) for url, sent in web.sent.items()}


def test_a_second_start_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    web = ChangingPages([HOST])
    keep_virtually(keep_job(tmp_path, [site(HOST)], 1.5), web)
    looks = {url: len(at) for url, at in web.asked.items()}
    job = keep_job(tmp_path, [site(HOST)], 0.01)
    status, _, _ = keep_virtually(job, web, begin=BEGIN + 1.5 * DAY + 60)
    assert {url: len(at) for url, at in web.asked.items()} == looks, "nothing was due"
    assert (status.pages, status.since) == (8, BEGIN)


def test_a_catalog_that_is_behind_a_memory_is_told_what_it_missed(tmp_path: Path) -> None:
    """As after a power cut between the two: the memory is written first."""
    web = ChangingPages([HOST])
    catalog = Collection(tmp_path).catalog
    keep_virtually(keep_job(tmp_path, [site(HOST)], 0.5), web)
    before = catalog.read_bytes()
    keep_virtually(keep_job(tmp_path, [site(HOST)], 1.0), web, begin=BEGIN + 0.5 * DAY)
    looks = {url: len(at) for url, at in web.asked.items()}
    catalog.write_bytes(before)
    job = keep_job(tmp_path, [site(HOST)], 0.01)
    keep_virtually(job, web, begin=BEGIN + 1.5 * DAY + 60)
    assert {url: len(at) for url, at in web.asked.items()} == looks, "nothing was due"
    with (
        SqliteCatalog(catalog) as opened,
        SiteMemory(Collection(tmp_path).memory(HOST), HOST) as memory,
    ):
        assert opened.site_states()[HOST].visit == memory.summary.visit


def test_sites_and_a_file_that_come_and_go(tmp_path: Path) -> None:
    web = ChangingPages(["a.example", "b.example"])
    sites = [site(host) for host in web.hosts]
    job = keep_job(tmp_path, sites[:1], 3.0)
    files = iter([None] * 200 + [UserMistake("sites.toml:3: no good")] * 30 + [sites[1:]])

    def reread(_: bool) -> object:
        found = next(files, None)
        if isinstance(found, Exception):
            raise found
        return found if found is None else _file(job.budget, found)

    _, onlooker, _ = keep_virtually(replace(job, reread=reread), web)
    assert any("no good; the sites stay as they were" in word for word in onlooker.words)
    a, b = ([at for url, ats in web.asked.items() if host in url for at in ats]
            for host in web.hosts)  # fmt: skip
    assert max(a) < min(b)
    assert any(state.troubles for state in onlooker.states)
    assert not onlooker.states[-1].troubles


def _file(budget: object, sites: object) -> object:
    from headgate.site_file.parsing import SiteFile

    return SiteFile(budget, tuple(sites))  # type: ignore[arg-type]
