"""Every byte of a site is counted once, however often it is begun anew."""

from __future__ import annotations

from headgate.control.arrivals import Arrivals
from headgate.control.line_use import LineUse
from headgate.control.samples import Samples
from headgate.crawling.progress import Progress, TaskState


def test_what_comes_after_a_restart_is_counted_from_its_beginning() -> None:
    """The first report of the new process may tell of less than the last of the old, or of more."""
    for after in (40, 400):
        arrivals = Arrivals()
        assert arrivals.fresh(Progress("a", wire_bytes=100)) == 100
        anew = Progress("a", wire_bytes=80 + after, earlier_wire_bytes=80, restarts=1)
        assert arrivals.fresh(anew) == after
        assert arrivals.fresh(anew) == 0


def test_the_next_visit_of_a_site_is_counted_whole() -> None:
    """A quota counts each of a thousand visits, although none brings more than the last."""
    use = LineUse.of({})
    for visit in range(1, 1001):
        use.look([Progress("a", wire_bytes=60, visit=visit)], 0.0)
        done = Progress("a", TaskState.DONE, 0.0, 1.0, wire_bytes=100, visit=visit)
        use.look([done], 0.0)
    assert use.unsaved() == {0: 100_000}
    assert not use._counted._counted, "and nothing is kept of what has ended"


def test_samples_count_a_restarted_site_on() -> None:
    samples = Samples()
    samples.take(1.0, [Progress("a", wire_bytes=100)])
    samples.take(2.0, [Progress("a", wire_bytes=95, earlier_wire_bytes=80, restarts=1)])
    samples.take(3.0, [Progress("a", wire_bytes=120, earlier_wire_bytes=80, restarts=1)])
    assert samples.bytes_by_site["a"] == 140
