"""The time of a run on disk: whatever a torn write leaves, none of it is lost but a second."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.errors import DamagedFile
from headgate.storage.run_state import Elapsed, ElapsedFile, decode_elapsed


def written(path: Path, *times: Elapsed) -> bytes:
    file = ElapsedFile(path)
    for elapsed in times:
        file.write(elapsed)
    return path.read_bytes()


def test_the_last_time_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "elapsed.state"
    for count in range(1, 6):
        data = written(path, *(Elapsed(float(second), False) for second in range(count)))
        assert decode_elapsed(data, path, 1.0) == count, "and the second since then"
        ended = written(path, Elapsed(1.0, False), *[Elapsed(float(count) + 1, True)] * count)
        assert decode_elapsed(ended, path, 1.0) == count + 1


@settings(deadline=None)  # it waits for the disk
@given(seconds=st.integers(1, 9), torn_at=st.integers(0, 12), before=st.integers(0, 10**9))
def test_a_torn_write_loses_no_time(
    tmp_path_factory: pytest.TempPathFactory, seconds: int, torn_at: int, before: int
) -> None:
    """A machine dies while the time is written: at any byte, as any run may stand."""
    path = tmp_path_factory.mktemp("run") / "elapsed.state"
    times = [Elapsed(float(before + second), False) for second in range(seconds)]
    old = written(path, *times)
    new = written(path, *times, Elapsed(float(before + seconds), False))
    place = next((k for k in range(len(old)) if old[k] != new[k]), 0) // 13 * 13
    torn = new[: place + torn_at] + old[place + torn_at :]
    found = decode_elapsed(torn, path, 1.0)
    assert before + seconds <= found <= before + seconds + 1.0


@pytest.mark.parametrize("data", [b"x", bytes(26), b'{"seconds":3.5,"ended":false}', bytes(13)])
def test_what_holds_no_time_is_named(data: bytes) -> None:
    with pytest.raises(DamagedFile, match=r"elapsed\.state.*delete it"):
        decode_elapsed(data, Path("elapsed.state"), 1.0)
