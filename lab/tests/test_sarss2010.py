"""The reproduction: golden values of one draw of the overlay, page and document."""

from __future__ import annotations

import pytest

from headgate_lab.papers.page import lab_page
from headgate_lab.papers.sarss2010.report import chapter
from headgate_lab.papers.sarss2010.reproduction import Reproduction, as_json, reproduce
from headgate_lab.papers.sarss2010.round_trips import round_trips
from headgate_lab.papers.sarss2010.simulation import DELTAS, STRATEGIES, Extent


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce(Extent(50, 2_000), 1, 1, map)


def test_round_trips_are_symmetric_and_positive() -> None:
    for net, machines in (("planetlab490", 490), ("seattle99", 99)):
        times = round_trips(net)
        assert times.shape == (machines, machines)
        assert (times == times.T).all()
        assert ((times > 0).sum(axis=1) == machines - 1).all()


def test_golden_errors(found: Reproduction) -> None:
    errors = [round(one.with_height, 3) for (one,) in found.fits]
    assert errors == pytest.approx([0.098, 0.184], abs=0.002)


def test_all_bounds_are_held(found: Reproduction) -> None:
    assert [aim.holds for aim in found.aims] == [True] * 4


def test_page_and_document_carry_all(found: Reproduction) -> None:
    page = lab_page([(chapter(found), 1.0)])
    assert "12 measured + load" in page
    assert "0.098" in page
    for part in ("Fig. 3", "Table 1", "Table 3", "Tables 2 and 4", "Fig. 4", "Fig. 5", "ratchet"):
        assert part in page
    document = as_json(found)
    assert len(document["simulation"]["runs"]) == 2 * len(STRATEGIES) + 3 * len(DELTAS) - 2
    assert len(document["simulation"]["runs"][0]["series"]["queued"]) == 50
    assert len(document["overlays"]) == 2
    assert len(document["overlays"][0]["assignments"]) == 7
