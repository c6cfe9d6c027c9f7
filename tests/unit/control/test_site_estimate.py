"""How fast a server is thought to be, by what came of what it was granted."""

from __future__ import annotations

import math

import pytest

from headgate.control.site_estimate import GrantUse, SpeedWatch
from headgate.crawling.progress import Progress


@pytest.mark.parametrize(("rate", "is_slow"), [(300.0, False), (100e3, True)])
def test_a_server_is_slow_if_it_brings_no_page_that_it_was_given_room_for(
    rate: float, is_slow: bool
) -> None:
    """Of a trickle only robots.txt can come in time."""
    use = GrantUse(SpeedWatch(math.inf))
    report = Progress("site", to_do=1, fetches=1, wire_bytes=200)
    for half_second in range(20):
        use.observe(report, rate, half_second / 2, first_look=False, held_back=False, lent=False)
    assert (use.speed.cap < math.inf) is is_slow
