"""Stalls of the machine: noticed by late beats, named by what the clocks show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.stall_detection import BEAT_SECONDS, Clocks, StallWatch
from headgate.model.run_report import Stall

START = Clocks(10.0, 500.0, 3.0)


def after(seconds: float, asleep: float = 0.0, cpu: float = 0.0) -> Clocks:
    return Clocks(START.now + seconds, START.asleep + asleep, START.cpu + cpu)


@pytest.mark.parametrize(
    ("clocks", "stalls"),
    [
        (after(BEAT_SECONDS), []),
        (after(BEAT_SECONDS + 0.2, cpu=0.4), []),
        (after(3.25, cpu=0.1), [Stall(10.0, 13.25, 3.0, "starved")]),
        (after(3.25, cpu=3.1), [Stall(10.0, 13.25, 3.0, "busy")]),
        (after(3600.25, asleep=3600.0), [Stall(10.0, 3610.25, 3600.0, "suspended")]),
        (
            after(62.25, asleep=60.0, cpu=0.1),
            [Stall(10.0, 72.25, 60.0, "suspended"), Stall(10.0, 72.25, 2.0, "starved")],
        ),
    ],
)
def test_a_late_beat_is_named_by_its_cause(clocks: Clocks, stalls: list[Stall]) -> None:
    watch = StallWatch(START)
    watch.beat(clocks)
    assert watch.stalls == stalls


def test_one_stall_after_the_other_is_one() -> None:
    watch = StallWatch(START)
    for seconds in (1.0, 2.0, 3.0):
        watch.beat(after(seconds))
    assert watch.stalls == [Stall(10.0, 13.0, 3 * 0.75, "starved")]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.25, 0.3, 0.8, 3.0]),
            st.sampled_from([0.0, 0.1, 1.0]),
            st.floats(0, 5.0),
        )
    )
)
def test_every_second_of_a_stall_is_kept_however_many_there_are(
    beats: list[tuple[float, float, float]],
) -> None:
    watch = StallWatch(START)
    now, asleep, cpu, late = START.now, START.asleep, START.cpu, 0.0
    for awake, slept, used in beats * 20:
        now, asleep, cpu = now + awake + slept, asleep + slept, cpu + used
        watch.beat(Clocks(now, asleep, cpu))
        late += sum(lost for lost in (slept, awake - BEAT_SECONDS) if lost >= 0.25)
    assert len(watch.stalls) <= 100
    assert sum(stall.seconds for stall in watch.stalls) == pytest.approx(late, rel=1e-6, abs=1e-3)
