"""A keeper's state and hours, made up by a seed."""

from __future__ import annotations

import numpy as np

from headgate.features.keep.status import (
    AtRisk,
    Fresh,
    KeepBudget,
    KeepCounts,
    KeepHour,
    KeepPromises,
    KeepStatus,
    NoticeCounts,
    RunningVisit,
    Trouble,
    Volumes,
)
from headgate.features.keep.status_log import HOUR, KeepLog

BEGAN = 1_794_744_000.0 // HOUR * HOUR
"""2026-11-15 12:00:00 UTC."""
SITES = ("docs", "wiki", "rules", "news & <b>more</b>", *(f"site-{n}" for n in range(20)))


def made_up(hours: int, seed: int = 1) -> tuple[KeepStatus, list[KeepHour]]:
    """After so many hours, the last of them open."""
    chance = np.random.default_rng(seed)
    log = KeepLog(BEGAN)
    past: list[KeepHour] = []
    now = BEGAN
    for hour in range(hours):
        fresh = 0.93 - 0.4 * np.exp(-hour / 30) + 0.01 * chance.normal()
        for site in SITES:
            asked, changed = int(chance.poisson(20)), int(chance.poisson(2))
            same = asked - changed
            wire, spared = 600 * asked + 15_000 * changed, 20_000 * same
            counts = KeepCounts(
                1,
                asked,
                changed=changed,
                not_modified=same,
                new=int(hour % 24 == 3),
                gone=0,
                wire_bytes=wire,
                saved_bytes=spared,
            )
            log.record_visit(site, counts)
        for probability in chance.beta(0.5, 3, 60):
            log.record_fetch(float(probability), changed=bool(chance.random() < probability))
        age = float(3600.0 * 5 * (1.05 - fresh) * 10)
        log.record_estimate(Fresh(float(fresh), float(min(fresh + 0.02, 1)), age, 5 * age))
        log.record_promise(kept=bool(chance.random() < 0.95))
        now = BEGAN + (hour + 1) * HOUR - 20
        past += log.turn(BEGAN + (hour + 1) * HOUR)
    kept = sum(hour.kept for hour in past)
    status = KeepStatus(
        since=BEGAN,
        now=now,
        running=True,
        sites=len(SITES),
        pages=12_345,
        due_now=3,
        visiting=(
            RunningVisit("docs", now - 65, 12, 40),
            RunningVisit("wiki", now - 5, 0, 0, "first"),
        ),
        budget=KeepBudget(200e3, 12e9),
        last_day=log.last_day(now),
        fresh=past[-1].fresh,
        checked=log.checked(),
        promises=KeepPromises(kept, len(past) - kept, 754.0, (AtRisk("rules", now + 300, 12.0),)),
        volumes=Volumes("2026-11-17T00-00-00", ("2026-11-16T00-00-00",), 12),
        notices=NoticeCounts(told=34, waiting=2),
        troubles=(
            Trouble("the host did not answer", now - 7000, "nothing; asked again in 4 h", SITES[3]),
            Trouble("the disk is full", now - 60, "free 1 GB on /data"),
        ),
        hour=log.open_hour(),
    )
    return status, [*past, log.open_hour()]
