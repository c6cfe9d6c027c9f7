"""A few seconds of the repaired form on network namespaces, where they can be had."""

from __future__ import annotations

import pytest

from headgate_lab.bed.network import missing
from headgate_lab.papers.diligenti2004.forms import form_named
from headgate_lab.papers.diligenti2004.on_the_bed import run_on_the_bed
from headgate_lab.papers.diligenti2004.trace import summary

_REASON = missing()


@pytest.mark.skipif(_REASON is not None, reason=f"no bed: {_REASON}")
def test_downloads_come_within_their_shares() -> None:
    trace = run_on_the_bed(form_named("headgate"), seed=1, seconds=6.0)
    found = summary(trace, begin=1.0)
    assert trace.failures == []
    assert trace.ended > 5
    assert found.predicted_most <= 1.0 + 1e-9
    assert 0.3 < found.mean < 1.1
    assert found.worst_second < 1.5  # a loaded machine delivers late, and then at once
