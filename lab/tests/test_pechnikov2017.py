"""The reproduction on few instances: golden values, all its parts."""

from __future__ import annotations

import pytest

from headgate_lab.papers.page import lab_page
from headgate_lab.papers.pechnikov2017.instances import CELLS, Cell, instance
from headgate_lab.papers.pechnikov2017.report import chapter
from headgate_lab.papers.pechnikov2017.reproduction import Reproduction, as_json, reproduce
from headgate_lab.papers.pechnikov2017.rivals import BATCH, PULL, RIVALS
from headgate_lab.papers.pechnikov2017.table1 import largest_share
from headgate_lab.papers.pechnikov2017.text import hours


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce(6, 1, map)


def test_the_largest_site_is_a_third_of_the_work() -> None:
    """10,071 s on the fastest of five clients, of 12,239 s on three."""
    assert largest_share() == pytest.approx(0.322, abs=0.001)


def test_batches_by_times_take_what_the_paper_measured(found: Reproduction) -> None:
    rows = {(row.clients, row.experiment): row for row in found.table}
    for clients in (3, 5):
        row = rows[clients, "Batch 2"]
        assert row.ours == pytest.approx(row.paper, rel=0.01)
        assert rows[clients, "RR2"].ours > rows[clients, "RR1"].ours
    assert hours(rows[3, "RR1"].paper) == "3:30:01"


def test_golden_means(found: Reproduction) -> None:
    exact, noisy = Cell(5, 2.2), Cell(5, 2.2, 0.6, 0.3)
    ways = ("paper, cyclic", BATCH, PULL, "pull, parts at once")
    assert [round(found.ratios[exact][way].mean, 4) for way in ways] == GOLDEN_EXACT
    assert [round(found.ratios[noisy][way].mean, 4) for way in ways] == GOLDEN_NOISY


GOLDEN_EXACT = [1.0737, 1.0, 1.0073, 1.0041]
GOLDEN_NOISY = [1.5533, 1.6489, 1.0236, 1.0144]


def test_only_ways_that_split_a_site_beat_the_bound() -> None:
    for cell in CELLS:
        for number in range(3):
            played = instance(cell, 7, number)
            for name, way in RIVALS.items():
                if name != "pull, parts at once":
                    assert way(played) >= played.bound * (1 - 1e-9), name


def test_a_copy_of_the_sites_in_every_cell_of_one_alpha() -> None:
    first, second = (instance(Cell(m, 2.2, 0.6, 0.3), 1, 4) for m in (3, 5))
    assert first.estimates.tolist() == second.estimates.tolist()
    assert first.work.tolist() == second.work.tolist()


def test_page_and_json_carry_all(found: Reproduction) -> None:
    page = lab_page([(chapter(found), 1.0)])
    assert "3:30:01" in page
    assert all(way in page for way in RIVALS)
    document = as_json(found)
    assert len(document["table_1"]) == 8
    assert len(document["ratios"]) == len(CELLS)
    assert {aim["holds"] for aim in document["aims"]} <= {True, False}
