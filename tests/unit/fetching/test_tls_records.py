"""How much of a TLS record is still to come, however the bytes are cut."""

from __future__ import annotations

import ssl

from hypothesis import given
from hypothesis import strategies as st

from headgate.fetching.tls import TlsStream

_CONTEXT = ssl.create_default_context()


@given(
    lengths=st.lists(st.integers(0, 16_640), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 70_000), max_size=8),
)
def test_the_record_under_way_is_counted(lengths: list[int], cuts: list[int]) -> None:
    stream = TlsStream(_CONTEXT, "example.org", None)
    records = b"".join(b"\x17\x03\x03" + n.to_bytes(2) + bytes(n) for n in lengths)
    ends = [sum(lengths[: k + 1]) + 5 * (k + 1) for k in range(len(lengths))]
    at = 0
    for end in [*sorted(cut for cut in cuts if cut < len(records)), len(records)]:
        stream.feed(memoryview(records)[at:end])
        at = end
        record = next(k for k, last in enumerate(ends) if at <= last)
        head_is_there = at - (ends[record] - lengths[record]) >= 0
        assert stream.awaited == (ends[record] - at if head_is_there else 0)
        if head_is_there and stream.awaited:
            assert stream.is_short_record == (lengths[record] < 16_384)
    assert stream.awaited == 0
