"""Makes the plan in a process of its own, so that a running crawl neither waits for it nor shares
its interpreter, and its memory is freed when it is done.

The process has a lower priority than the crawl: a plan a little later does no harm.

Question and plan are pickled: parent and child are the same program. A plan of thousands of sites
takes as long as it takes, during which the crawl goes on by the one before: there is no limit.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from headgate.control.forecast import Forecast
from headgate.crawling.child_process import Pipe, answer_of
from headgate.model.budget import Budget
from headgate.model.errors import WorldFault
from headgate.model.plan import Plan
from headgate.model.site import Site

__all__ = ["give_way", "main", "plan_in_child"]

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
    try:
        answer = await answer_of("headgate.engine.planning_child", question)
    except EOFError:
        raise WorldFault("the process that makes it ended without an answer") from None
    made = pickle.loads(answer)
    if isinstance(made, Exception):
        raise made
    return cast(Plan, made)


def give_way() -> None:
    """Lower the priority of this process, also from a real-time class, where nice has no effect."""
    if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(_NICE)


def main(pipe: Pipe) -> None:
    give_way()
    from headgate.control.completion_forecast import plan_the_rest  # here: the parent does not plan

    for question in pipe:
        try:
            made: Plan | Exception = plan_the_rest(*pickle.loads(question))
        except Exception as error:
            made = error
        pipe.send(pickle.dumps(made))
