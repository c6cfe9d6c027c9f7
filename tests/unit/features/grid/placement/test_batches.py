"""What a site costs a machine."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.features.grid.placement.batches import ScanCost, reference_speeds, scan_seconds


def test_requests_outweigh_bytes_in_the_paper_s_own_figures() -> None:
    """A site of a thousand pages took it 200 to 300 s, and a request 0.2 to 0.3 s."""
    site = ScanCost(1000, size_bytes=20e6, answer_seconds=0.25, web_bytes_per_second=2e6)
    assert scan_seconds(site, 20e6) == pytest.approx(250 + 10 + 1)


def test_a_polite_delay_takes_the_place_of_a_quicker_answer() -> None:
    site = ScanCost(100, 0.0, 0.25, 1e6, delay_seconds=1.0)
    assert scan_seconds(site, 1e6) == pytest.approx(100)


def test_twice_the_speed_takes_half_of_the_time_for_bytes() -> None:
    """As printed, the paper's term would take twice as long."""
    site = ScanCost(0, 1e6, 0.0, 1e9)
    assert scan_seconds(site, 2e6) == pytest.approx(scan_seconds(site, 1e6) / 2, rel=1e-2)


def test_only_ratios_of_reference_times_count() -> None:
    times = np.array([95.0, 84.6, 105.7])
    assert reference_speeds(times) == pytest.approx(reference_speeds(3 * times))
    assert reference_speeds(times).mean() == pytest.approx(1)
