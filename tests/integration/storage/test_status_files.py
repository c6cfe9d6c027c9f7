"""What a keeper tells of itself, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.features.keep import status_files
from headgate.features.keep.status import KeepCounts, KeepHour, KeepStatus, Trouble
from headgate.features.keep.status_files import add_hours, load_hours, load_status, save_status
from headgate.model.errors import WorldFault


def test_the_state_comes_back(tmp_path: Path) -> None:
    assert load_status(tmp_path) is None
    trouble = Trouble("the disk is full", 5.0, "free 1 GB")
    status = KeepStatus(1.0, 2.0, True, 3, 4, troubles=(trouble,), hour=KeepHour(0.0))
    save_status(tmp_path, status)
    assert load_status(tmp_path) == status
    (tmp_path / "keep.json").write_bytes(b'{"since":')
    assert load_status(tmp_path) is None


def test_a_full_disk_keeps_no_state_from_being_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = KeepStatus(1.0, 2.0, True, 3, 4)
    save_status(tmp_path, before)

    def refuse(path: Path, _: bytes) -> None:
        raise WorldFault(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(status_files, "write_soon", refuse)
    told = replace(before, troubles=(Trouble("the disk is full", 5.0, "free 1 GB"),))
    save_status(tmp_path, told)
    assert load_status(tmp_path) == told
    save_status(tmp_path, before)
    assert load_status(tmp_path) == before, "nothing is left of the longer one"
    too_long = replace(before, troubles=(Trouble("x" * 5000, 5.0, ""),))
    with pytest.raises(WorldFault):
        save_status(tmp_path, too_long)
    assert load_status(tmp_path) == before


def test_hours_are_added_and_a_torn_line_costs_itself_only(tmp_path: Path) -> None:
    assert load_hours(tmp_path) == []
    first, second, third = (
        KeepHour(3600.0 * number, KeepCounts(visits=number)) for number in range(3)
    )
    add_hours(tmp_path, [first])
    with (tmp_path / "keep-hours.jsonl").open("ab") as file:
        file.write(b'{"start": 36')  # killed while it wrote
    add_hours(tmp_path, [second])
    add_hours(tmp_path, [third])
    add_hours(tmp_path, [])
    assert load_hours(tmp_path) == [first, second, third]


def test_what_is_older_than_the_bound_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_files, "_MOST_HOURS", 10)
    add_hours(tmp_path, [KeepHour(3600.0 * number) for number in range(15)])
    assert [hour.start for hour in load_hours(tmp_path)] == [3600.0 * n for n in range(5, 15)]
    assert len((tmp_path / "keep-hours.jsonl").read_bytes().splitlines()) == 15
    load_hours(tmp_path, trim=True)
    assert len((tmp_path / "keep-hours.jsonl").read_bytes().splitlines()) == 10
