from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.unit.storage.making import NOON, make_url
from tests.unit.storage.test_index import make_row

from headgate.model.errors import WorldFault
from headgate.model.page import Earlier
from headgate.storage.page import PageRow
from headgate.storage.validators import Validators, write_validators


def make_tagged(number: int, etag: str, at: float = NOON) -> PageRow:
    row = make_row(make_url(number), at)
    return msgspec.structs.replace(row, etag=etag, digest=number.to_bytes(20, "big"))


def test_every_page_is_found_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "validators.bin"
    write_validators(path, (make_tagged(number, f'"{number}"') for number in range(2000)))
    assert list(tmp_path.iterdir()) == [path]
    with Validators([path]) as known:
        for number in range(2000):
            digest = number.to_bytes(20, "big")
            assert known.find(make_url(number)) == Earlier(
                make_url(number), NOON, digest, f'"{number}"'
            )
        assert [known.find(make_url(number)) for number in range(2000, 2100)] == [None] * 100


def test_the_newest_run_answers_first_and_older_ones_fill_in(tmp_path: Path) -> None:
    new, old, missing = (tmp_path / name for name in ("new", "old", "missing"))
    write_validators(old, [make_tagged(1, '"old"'), make_tagged(2, '"old"')])
    write_validators(new, [make_tagged(1, '"new"')])
    with Validators([missing, new, old]) as known:
        found = [known.find(make_url(number)) for number in (1, 2, 3)]
    assert [earlier and earlier.etag for earlier in found] == ['"new"', '"old"', None]


def test_of_a_url_fetched_twice_the_later_answer_holds(tmp_path: Path) -> None:
    path = tmp_path / "validators.bin"
    write_validators(path, [make_tagged(1, '"a"'), make_tagged(2, '"b"'), make_tagged(1, '"c"')])
    with Validators([path]) as known:
        found = known.find(make_url(1))
    assert found is not None
    assert found.etag == '"c"'


def test_a_revisit_leads_to_the_record_with_the_payload(tmp_path: Path) -> None:
    path = tmp_path / "validators.bin"
    other = msgspec.structs.replace(
        make_tagged(1, '"a"', NOON + 100), original_url=make_url(7), original_at=NOON
    )
    same = msgspec.structs.replace(
        make_tagged(2, '"b"', NOON + 100), status=304, original_url=make_url(2), original_at=NOON
    )
    write_validators(path, [other, same])
    with Validators([path]) as known:
        first, second = known.find(make_url(1)), known.find(make_url(2))
    assert first is not None
    assert second is not None
    assert (first.url, first.wall_time) == (make_url(7), NOON)
    assert (second.url, second.wall_time) == (make_url(2), NOON)


@pytest.mark.parametrize(
    "change",
    [{"status": 404}, {"status": 0}, {"status": 304}, {"truncated": "length"}, {"digest": b""}],
)
def test_what_cannot_be_revalidated_is_left_out(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "validators.bin"
    write_validators(path, [msgspec.structs.replace(make_tagged(1, '"a"'), **change)])
    with Validators([path]) as known:
        assert known.find(make_url(1)) is None


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "validators.bin"
    path.write_bytes(b"something else entirely, and long enough")
    with pytest.raises(WorldFault, match="not a file of this version"):
        Validators([path])
