"""The reproduction in virtual time: hand-made worlds, and what the paper's world comes to."""

from __future__ import annotations

import numpy as np
import pytest

from headgate_lab.papers.diligenti2004.forms import FORMS, Form, form_named
from headgate_lab.papers.diligenti2004.simulation import simulate
from headgate_lab.papers.diligenti2004.trace import Summary, Trace, summary
from headgate_lab.papers.diligenti2004.world import LIMIT, Document, Server, World, make_world

LEARNING, SECONDS = 60.0, 240.0


@pytest.fixture(scope="module")
def found() -> dict[str, Summary]:
    world = make_world(1)
    return {form.name: summary(simulate(form, world, SECONDS), LEARNING) for form in FORMS}


class TestTrace:
    def test_rates_are_bytes_of_whole_seconds(self) -> None:
        trace = Trace(3.0, np.repeat([1.0, 2.0, 3.0], 100))
        assert trace.rates(1.0, 3.0).tolist() == [200.0, 300.0]

    def test_predictions_hold_until_the_next(self) -> None:
        trace = Trace(3.0, np.zeros(300), predicted=[(0.5, 10.0), (2.0, 40.0)])
        assert trace.predictions(0.0, 3.0) == pytest.approx([5.0, 10.0, 40.0])

    def test_order(self) -> None:
        starts = [(0.0, 0, 0), (1.0, 3, 2), (2.0, 1, 0), (3.0, 2, 0)]
        got = summary(Trace(1.0, np.zeros(100), starts=starts))
        assert got.passed_over == 0.5
        assert got.displacement == 1.0  # 3 came two places early, 1 and 2 one place late each

    def test_the_worst_second_may_begin_anywhere(self) -> None:
        bins = np.zeros(300)
        bins[[150, 249]] = LIMIT
        assert summary(Trace(3.0, bins, starts=[(0.0, 0, 0)])).worst_second == 2.0


class TestSimulation:
    def test_a_wait_and_a_stream(self) -> None:
        world = World([Server(10_000.0, 0.5)], [Document(0, 20_000, 1.0)])
        trace = simulate(form_named("maxd6"), world, 5.0)
        assert trace.rates(0.0, 5.0) == pytest.approx([0, 10_000, 10_000, 0, 0])

    def test_a_share_holds_a_stream(self) -> None:
        world = World([Server(1e6, 0.0)], [Document(0, 42_000, 1.0)])
        trace = simulate(form_named("shares"), world, 4.0)
        assert trace.rates(0.0, 4.0) == pytest.approx([21_000, 21_000, 0, 0])  # 1.5 L / 10

    def test_everything_that_ended_arrived(self) -> None:
        world = World(make_world(7).servers, make_world(7).documents[:100])
        trace = simulate(form_named("on-off"), world, 400.0)
        assert trace.ended == 100
        assert trace.received.sum() == pytest.approx(sum(d.bytes for d in world.documents))

    def test_the_same_seed_is_the_same_run(self) -> None:
        first, second = (simulate(form_named("ratio"), make_world(3), 20.0) for _ in range(2))
        assert first.starts == second.starts
        assert (first.received == second.received).all()


class TestTheQueue:
    def test_is_sorted_and_has_servers_faster_than_the_limit(self) -> None:
        world = make_world(1)
        scores = [document.score for document in world.documents]
        assert scores == sorted(scores, reverse=True)
        assert max(server.bytes_per_second for server in world.servers) > LIMIT


class TestWhatIsFound:
    def test_predictions_stay_below_the_limit(self, found: dict[str, Summary]) -> None:
        for form in FORMS:
            assert found[form.name].predicted_most <= 1.0 + 1e-9

    def test_the_papers_estimates_are_too_low(self, found: dict[str, Summary]) -> None:
        """Length bias: the sum of estimates is below L and the rate is not."""
        assert 1.05 < found["maxd6"].mean < 1.30
        assert 0.6 < found["maxd6"].seconds_above < 0.95

    def test_unbiased_estimates_mend_the_mean(self, found: dict[str, Summary]) -> None:
        assert 0.90 < found["ratio"].mean < 1.05
        assert found["ratio"].error < found["maxd6"].error

    def test_a_deeper_look_uses_more_and_passes_over_more(self, found: dict[str, Summary]) -> None:
        assert found["maxd6"].mean > found["maxd2"].mean
        assert found["maxd6"].passed_over > 2 * found["maxd2"].passed_over

    def test_on_off_swings(self, found: dict[str, Summary]) -> None:
        assert found["on-off"].scatter > found["maxd6"].scatter
        assert found["on-off"].worst_second > 1.5

    def test_shares_fill_the_limit_and_never_pass_it(self, found: dict[str, Summary]) -> None:
        assert found["shares"].mean >= 0.93
        assert found["shares"].worst_second <= 1.0 + 1e-9
        assert found["shares"].passed_over < found["maxd2"].passed_over

    def test_one_bucket_loses_nothing(self, found: dict[str, Summary]) -> None:
        assert found["headgate"].mean == pytest.approx(0.95, abs=0.01)
        assert found["headgate"].worst_second <= 0.95 + 1e-9
        assert found["headgate"].passed_over < found["maxd2"].passed_over


def test_forms_differ_in_name() -> None:
    names = [form.name for form in FORMS]
    assert len(set(names)) == len(names)
    assert all(isinstance(form_named(name), Form) for name in names)
