"""The time of a run on disk: whatever a torn write leaves, none of it is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.errors import DamagedFile
from headgate.storage.elapsed import Elapsed, ElapsedFile, decode_elapsed

SLOT_BYTES = 20


def written(path: Path, *times: Elapsed) -> bytes:
    file = ElapsedFile(path)
    for elapsed in times:
        file.write(elapsed)
    return path.read_bytes()


def test_the_last_time_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "elapsed.state"
    for count in range(1, 6):
        data = written(path, *(Elapsed(float(second), 1.0) for second in range(count)))
        assert decode_elapsed(data, path, 10.0) == count, "and the second since then"
        ended = written(path, Elapsed(1.0, 1.0), *[Elapsed(float(count) + 1, 0.0)] * count)
        assert decode_elapsed(ended, path, 10.0) == count + 1


def test_a_leg_that_ends_right_after_a_write_has_no_more_time(tmp_path: Path) -> None:
    path = tmp_path / "elapsed.state"
    data = written(path, Elapsed(1.0, 1.0), Elapsed(2.0, 1.0), Elapsed(2.0, 0.0))
    assert decode_elapsed(data, path, 10.0) == 2.0


def test_a_leg_killed_in_a_pause_may_have_lasted_until_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "elapsed.state"
    data = written(path, Elapsed(1.0, 1.0), Elapsed(2.0, 10.0))
    assert decode_elapsed(data, path, 10.0) == 12.0


@settings(deadline=None)  # it waits for the disk
@given(
    gaps=st.lists(st.sampled_from([1.0, 10.0]), min_size=1, max_size=9),
    torn_at=st.integers(0, SLOT_BYTES - 1),
    before=st.integers(0, 10**9),
)
def test_a_torn_write_loses_no_time(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[float], torn_at: int, before: int
) -> None:
    """A machine dies while the time is written: at any byte, as any run may stand."""
    path = tmp_path_factory.mktemp("run") / "elapsed.state"
    *times, last = [
        Elapsed(before + sum(gaps[:number]), gap) for number, gap in enumerate([*gaps, 10.0])
    ]
    old = written(path, *times)
    new = written(path, *times, last)
    place = next((k for k in range(len(old)) if old[k] != new[k]), 0) // SLOT_BYTES * SLOT_BYTES
    torn = new[: place + torn_at] + old[place + torn_at :]
    found = decode_elapsed(torn, path, 10.0)
    assert last.seconds <= found <= last.seconds + 10.0


@pytest.mark.parametrize("data", [b"x", bytes(40), b'{"seconds":3.5,"ended":false}', bytes(20)])
def test_what_holds_no_time_is_named(data: bytes) -> None:
    with pytest.raises(DamagedFile, match=r"elapsed\.state.*delete it"):
        decode_elapsed(data, Path("elapsed.state"), 10.0)
