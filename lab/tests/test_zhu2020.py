"""The golden results of Zhu et al. 2020: six-site values, orderings of the fifty sites, claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headgate.cli.plan import example_file
from headgate.scheduling.allocation import required_rate
from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.claim import Claim
from headgate_lab.papers.page import lab_page
from headgate_lab.papers.zhu2020.claims import claims
from headgate_lab.papers.zhu2020.comparison import (
    BANDWIDTHS,
    PAPER_POLICIES,
    Cell,
    Comparison,
    Task,
    compare,
    comparison_tasks,
    mean_outcome,
    never_worse,
)
from headgate_lab.papers.zhu2020.example import fifty_sites_toml
from headgate_lab.papers.zhu2020.families import CAP_SHARES, FAMILIES, KBIT, fifty_sites, six_sites
from headgate_lab.papers.zhu2020.figures import Figure, instant_figures, scheduling_figures
from headgate_lab.papers.zhu2020.instant import InstantResult, run_instant
from headgate_lab.papers.zhu2020.plots import panel_chart
from headgate_lab.papers.zhu2020.random_six import random_six
from headgate_lab.papers.zhu2020.real_crawls import CRAWLS, alpha
from headgate_lab.papers.zhu2020.reference import references
from headgate_lab.papers.zhu2020.report import chapter
from headgate_lab.papers.zhu2020.reproduction import Reproduction, as_json, tenths

SEED = 1
FEW = 8
DO_NOT_HOLD = {
    "Below the bandwidth of Eq. 1 one or more sites cannot meet their time constraints",
    "Sites with loose time constraints should be crawled before those with tight ones",
    "Both times of all approaches increase with the tightness of the time constraints",
    "GA and DE are caught in local optima and do not reach the least times",
    "The approach for many sites is optimal",
    "The lateness of all approaches decreases as bandwidth increases",
}


@pytest.fixture(scope="module")
def uncapped() -> Comparison:
    tasks = [task for task in comparison_tasks(FEW, SEED) if task.cell.caps == "no caps"]
    return compare(tasks, map)


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    return instant_figures(SEED) + scheduling_figures(40, SEED, map)


@pytest.fixture(scope="module")
def found(figures: list[Figure]) -> list[Claim]:
    return claims(figures, SEED)


@pytest.mark.parametrize(
    ("policy", "latest", "total"),
    [("M-MAXT", 183.6, 863.8), ("M-SUMT", 205.6, 853.5), ("PROBandwidth", 239.4, 922.4)],
)
def test_six_sites_with_enough_bandwidth(policy: str, latest: float, total: float) -> None:
    result = run_instant(policy, six_sites(), SEED)
    assert result.max_time == pytest.approx(latest, abs=0.05)
    assert result.total_time == pytest.approx(total, abs=0.05)
    assert result.lateness == 0


@pytest.mark.parametrize(
    ("policy", "late"),
    [("M-STET", 86.0), ("PRODataAmount", 152.9), ("PROBandwidth", 223.2), (DEFAULT_POLICY, 0.0)],
)
def test_six_sites_with_too_little_by_equation_1(policy: str, late: float) -> None:
    problem = six_sites(tightness=1300.0, sufficient=False)
    assert run_instant(policy, problem, SEED).lateness == pytest.approx(late, abs=0.05)


def test_searches_come_near_the_optimum() -> None:
    for policy in ("GA", "DE"):
        enough = run_instant(policy, six_sites(), SEED)
        assert 183.6 <= enough.max_time <= 186
        assert 853.5 <= enough.total_time <= 855
        too_little = run_instant(policy, six_sites(tightness=1300.0, sufficient=False), SEED)
        assert 85.9 <= too_little.lateness <= 88


def test_random_lies_between_the_optimum_and_pro_bandwidth() -> None:
    result = run_instant("Random", six_sites(), SEED)
    assert 183.6 < result.max_time < 239.4
    assert 853.5 < result.total_time < 922.4


def test_six_sites_are_the_papers() -> None:
    problem = six_sites()
    assert problem.work.sum() / KBIT == pytest.approx(125_000)
    assert problem.work / problem.work[0] == pytest.approx([1, 1.3, 1.6, 1.9, 2.2, 2.5])
    assert required_rate(problem.work, problem.deadlines) / KBIT == pytest.approx(950)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("caps", CAP_SHARES)
def test_an_instance_keeps_its_sites_at_every_bandwidth(family: str, caps: str) -> None:
    narrow, wide = (fifty_sites(family, caps, rate, seed=SEED, instance=3) for rate in (520, 540))
    assert (narrow.work == wide.work).all()
    assert (narrow.deadlines == wide.deadlines).all()
    other = fifty_sites(family, caps, 520, seed=SEED, instance=4)
    assert (narrow.work != other.work).any()
    shares = CAP_SHARES[caps]
    if shares is not None:
        assert set((narrow.caps / (520 * KBIT)).round(9)) <= set(shares)
        assert narrow.caps / 520 == pytest.approx(wide.caps / 540)


def test_family_p_is_far_less_late_with_the_default(uncapped: Comparison) -> None:
    checks = tenths(uncapped)
    assert [check.bandwidth for check in checks] == list(BANDWIDTHS)
    assert all(check.holds for check in checks)


def test_without_caps_the_default_is_best_at_everything(uncapped: Comparison) -> None:
    (count,) = never_worse(uncapped)
    assert count.kept == count.instances == FEW * 9
    for by_policy in uncapped.values():
        for k, ours in enumerate(by_policy[DEFAULT_POLICY]):
            for policy in PAPER_POLICIES:
                theirs = by_policy[policy][k]
                assert ours.makespan <= theirs.makespan * (1 + 1e-9)
                assert ours.total_time <= theirs.total_time * (1 + 1e-9)
                assert ours.obj1 <= theirs.obj1 + 1e-9
                assert ours.obj2 <= theirs.obj2 + 1e-9


@pytest.mark.parametrize("caps", ["caps .15-.7", "caps .1-.3"])
def test_with_caps_the_default_is_never_later(caps: str) -> None:
    tasks = [Task(Cell(family, caps, 530.0), SEED, 0) for family in FAMILIES]
    (count,) = never_worse(compare(tasks, map))
    assert count.kept == count.instances == len(FAMILIES), count.broken_by


def test_orderings_of_the_reference(uncapped: Comparison) -> None:
    """Who is less late than whom, and by about how much."""
    late = {
        policy: mean_outcome(outcomes).lateness
        for policy, outcomes in uncapped[Cell("P", "no caps", 520.0)].items()
    }
    assert late["ReAlloc-MAXT"] == pytest.approx(late["ReAlloc-SUMT"], rel=0.05)
    assert late["ReAlloc-MAXT"] < late["ReAlloc-PRODataAmount"] < late["AllocOnce"]
    assert late["AllocOnce"] < late["ReAlloc-PROBandwidth"] / 2
    assert late["ReAlloc-MAXT"] == pytest.approx(1108, rel=0.3)
    assert late["AllocOnce"] == pytest.approx(1961, rel=0.3)
    assert late["ReAlloc-PRODataAmount"] == pytest.approx(1723, rel=0.3)


def test_pro_data_amount_has_the_least_makespan(uncapped: Comparison) -> None:
    for by_policy in uncapped.values():
        theirs = [outcome.makespan for outcome in by_policy["ReAlloc-PRODataAmount"]]
        assert theirs == pytest.approx([outcome.makespan for outcome in by_policy[DEFAULT_POLICY]])


def test_claims_that_hold_and_those_that_do_not(found: list[Claim]) -> None:
    assert {claim.text for claim in found if not claim.holds} == DO_NOT_HOLD
    assert sum(claim.holds for claim in found) == 16
    assert all(claim.where and claim.numbers for claim in found)


def test_figures_have_a_value_for_each_policy_everywhere(figures: list[Figure]) -> None:
    assert [figure.number for figure in figures] == list(range(2, 11))
    for figure in figures:
        for panel in figure.panels:
            assert DEFAULT_POLICY in panel.series
            for values in panel.series.values():
                assert len(values) == len(figure.x)
                assert np.isfinite(values).all()


@pytest.fixture(scope="module")
def reproduction(uncapped: Comparison, figures: list[Figure], found: list[Claim]) -> Reproduction:
    enough = [InstantResult("M-MAXT", 183.6, 863.8, 0.0)]
    too_little = [InstantResult("M-STET", 271.9, 830.0, 86.0)]
    beside = references(enough, too_little, uncapped)
    drawn = random_six(2, SEED, map)
    return Reproduction(
        FEW,
        SEED,
        sufficient=enough,
        insufficient=too_little,
        random_six=drawn,
        comparison=uncapped,
        figures=figures,
        claims=found,
        references=beside,
    )


def test_the_report_is_one_page_that_needs_nothing_else(reproduction: Reproduction) -> None:
    page = lab_page([(chapter(reproduction), 1.0)])
    panels = sum(len(figure.panels) for figure in reproduction.figures)
    marks = 3 + 2  # the six sites beside results obtained independently; Fig. 11 and 12
    assert page.count('plane wide"') == page.count('plane narrow"') == panels + marks
    assert "default-src 'none'" in page
    assert 'src="http' not in page
    for claim in reproduction.claims:
        assert claim.where in page


def test_random_deadlines_of_six_sites(reproduction: Reproduction) -> None:
    """Each policy is best at what it is made for, whatever the deadlines."""
    drawn = {(found.asked, found.policy): found.mean for found in reproduction.random_six}
    enough = [drawn[950, policy] for policy in ("PROBandwidth", "Random", "GA", "DE")]
    assert all(drawn[950, "M-MAXT"].max_time <= other.max_time * 1.001 for other in enough)
    assert all(drawn[950, "M-SUMT"].total_time <= other.total_time * 1.001 for other in enough)
    late = [drawn[1300, policy] for policy in ("PROBandwidth", "PRODataAmount", "GA", "DE")]
    assert all(drawn[1300, "M-STET"].lateness <= other.lateness * 1.001 for other in late)
    page = lab_page([(chapter(reproduction), 1.0)], quick=True)
    assert "Six sites, random deadlines" in page
    assert "This is a first look" in page


def test_real_crawls_take_a_little_longer_than_their_payload() -> None:
    """Eq. 17: t = α D / v. What was measured, and α as docs/lab.md has it."""
    words = Path(__file__).parents[2].joinpath("docs/lab.md").read_text(encoding="utf-8")
    for kind in dict.fromkeys(one.kind for one in CRAWLS):
        mine = [one for one in CRAWLS if one.kind == kind]
        assert len({one.rate for one in mine}) == 5
        assert all(one.seconds > one.payload / one.rate for one in mine)
        assert f"{alpha(kind):.3f}" in words


def test_the_same_numbers_draw_the_same_bytes(figures: list[Figure]) -> None:
    figure = figures[0]
    assert panel_chart(figure, figure.panels[0]) == panel_chart(figure, figure.panels[0])


def test_the_json_has_plain_keys(reproduction: Reproduction) -> None:
    document = as_json(reproduction)
    assert {"family", "caps", "bandwidth", "policy", "lateness"} <= set(document["fifty_sites"][0])
    assert all(check["holds"] for check in document["checks"]["tenth_of_re_alloc"])


def test_the_example_is_what_the_command_writes() -> None:
    example = Path(example_file("fifty-sites"))
    assert example.read_text(encoding="utf-8") == fifty_sites_toml()
