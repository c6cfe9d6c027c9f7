"""The timeline: no byte lost, however long the run, and none counted of a run before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.control.run_report import RunLog, make_report
from headgate.control.timeline import Samples
from headgate.crawling.progress import Progress, TaskState
from headgate.model.site import Site
from headgate.model.units import Seconds


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=6000))
def test_the_timeline_is_bounded_and_keeps_every_byte(amounts: list[int]) -> None:
    samples = Samples()
    total = 0
    for second, amount in enumerate(amounts, start=1):
        total += amount
        samples.add(float(second), [Progress("a", wire_bytes=total)])
    assert len(samples.timeline) < 2000
    assert sum(sum(point.bytes.values()) for point in samples.timeline) == total
    assert samples.peak_rate == max(amounts)


def test_bytes_on_their_way_count_when_they_come() -> None:
    samples = Samples()
    assert samples.add(1.0, [Progress("a", under_way_bytes=500)]) == {"a": 500}
    assert samples.add(2.0, [Progress("a", wire_bytes=900)]) == {"a": 400}


def test_a_part_of_a_second_is_no_worst_second() -> None:
    samples = Samples()
    samples.add(0.2, [Progress("a", wire_bytes=300)])
    assert samples.peak_rate == 0
    samples.add(1.2, [Progress("a", wire_bytes=400)])
    assert samples.peak_rate == 100, "the second from 0.2 s on"
    samples.add(1.3, [Progress("a", wire_bytes=500)])
    assert samples.peak_rate == 200 / 1.1


def test_what_a_resumed_run_had_moved_is_no_part_of_this_one() -> None:
    samples = Samples()
    assert samples.add(0.1, [Progress("a")]) == {}, "it has not been taken up yet"
    assert samples.add(1.1, [Progress("a", wire_bytes=800, earlier_wire_bytes=700)]) == {"a": 100}
    assert samples.peak_rate == 100


def test_a_report_says_what_was_kept() -> None:
    log = RunLog.start_leg("2026", 0.0, None, 0.0)
    log.budget_is(0.0, 100.0)
    done = Progress("a", TaskState.DONE, started=0.5, ended=4.0, wire_bytes=380, pages=1)
    late = Progress("b", TaskState.DONE, started=0.5, ended=5.5, wire_bytes=120, pages=1)
    log.observe(5.5, [done, late], {"a": 0.0, "b": 0.0})
    sites = [Site("a", deadline=Seconds(5.0)), Site("b", deadline=Seconds(5.0)), Site("c")]
    report = make_report(sites, 5, None, log)
    assert [site.met for site in report.sites] == [True, False, None]
    assert [site.finished for site in report.sites] == [4.0, 5.5, None]
    assert report.utilisation == 500 / 550
