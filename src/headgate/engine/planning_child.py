"""Makes the plan in a process of its own, so that a running crawl neither waits for it nor shares
its interpreter, and its memory is freed when it is done.

The process has a lower priority than the crawl: a plan a little later does no harm.

The question is read from standard input and the plan written to standard output, both pickled:
parent and child are the same program.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from headgate.control.forecast import Forecast
from headgate.crawling.child_process import die_with_parent, leave_signals_to_parent
from headgate.model.budget import Budget
from headgate.model.errors import WorldFault
from headgate.model.plan import Plan
from headgate.model.site import Site

__all__ = ["give_way", "plan_in_child"]

_NICE = 10


async def plan_in_child(
    sites: Sequence[Site],
    budget: Budget,
    forecasts: Mapping[str, Forecast],
    start: datetime,
    seconds: float,
    quota_used: float,
) -> Plan:
    """`plan_the_rest` in another process, which is killed on cancellation."""
    question = pickle.dumps((tuple(sites), budget, dict(forecasts), start, seconds, quota_used))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headgate.engine.planning_child", str(os.getpid()),
        stdin=PIPE, stdout=PIPE,
    )  # fmt: skip
    try:
        answer, _ = await process.communicate(question)
    finally:
        if process.returncode is None:
            process.kill()
    if not answer:
        raise WorldFault("the process that makes it ended without an answer")
    made = pickle.loads(answer)
    if isinstance(made, Exception):
        raise made
    return cast(Plan, made)


def give_way() -> None:
    """Lower the priority of this process, also from a real-time class, where nice has no effect."""
    if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(_NICE)


def main() -> None:
    """Signals are the parent's to hear."""
    give_way()
    from headgate.control.completion_forecast import plan_the_rest  # here: the parent does not plan

    leave_signals_to_parent()
    die_with_parent(int(sys.argv[1]))
    try:
        made: Plan | Exception = plan_the_rest(*pickle.load(sys.stdin.buffer))
    except Exception as error:
        made = error
    sys.stdout.buffer.write(pickle.dumps(made))


if __name__ == "__main__":
    main()
