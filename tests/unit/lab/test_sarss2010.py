"""The overlay's reproduction: golden values of one draw, page and document."""

from __future__ import annotations

import pytest

from headgate.lab.papers.sarss2010.report import report_html
from headgate.lab.papers.sarss2010.reproduction import Reproduction, as_json, reproduce
from headgate.lab.papers.sarss2010.round_trips import round_trips


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce(1, 1, map)


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
    page = report_html(found)
    assert "12 measured + load" in page
    assert "0.098" in page
    document = as_json(found)
    assert len(document["overlays"]) == 2
    assert len(document["overlays"][0]["assignments"]) == 7
