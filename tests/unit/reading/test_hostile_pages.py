"""The time to read a page grows as its length does, whatever is in it.

The bench measures to 16 MB (bench/hostile_pages.py). Here pages are short and the bound is wide: it
tells what grows as the length (16 times) from what grows as its square (256 times). Words are left
out: they are looked for in the first half megabyte only.
"""

from __future__ import annotations

import pytest
from bench.hostile_pages import READERS, SHAPES, Read, seconds_to_read

SHORT, LONG = 32_000, 512_000
MOST_TIMES = 16 * 6
LEAST_SECONDS = 0.001
"""Shorter ones are taken for as long: a clock's tick is not a growth."""
TRIES = 4
"""What is quadratic is so each time; a machine that others use is slow once."""


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_as_length_does(shape: str) -> None:
    short, long = SHAPES[shape](SHORT), SHAPES[shape](LONG)
    for name in READERS.keys() - {"words"}:
        assert any(grows_as_length(READERS[name], short, long) for _ in range(TRIES)), name


def grows_as_length(read: Read, short: bytes, long: bytes) -> bool:
    few = max(seconds_to_read(read, short), LEAST_SECONDS)
    return seconds_to_read(read, long, rounds=1) < MOST_TIMES * few
