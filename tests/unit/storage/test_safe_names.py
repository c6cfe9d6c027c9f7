"""Names that a collection has for its files: a stranger's leads nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import UserMistake
from headgate.storage.collection import RunFolder, visit_stem
from headgate.storage.safe_files import NameOf, archived_file, is_name, own_files

STRANGE = (
    "", ".", "..", "/etc/passwd", "../a-00001.warc.gz", "a/../b-00001.warc.gz", "-00001.warc.gz",
    "a/b-00001.warc.gz", "a-00001.warc.gz\n", "a\0-00001.warc.gz", ".a-00001.warc.gz",
    "a-00001.warc.gz/", "\\a-00001.warc.gz", "a-00001.warc", "a-0001.warc.gz", "a" * 5000,
    "a" * 5000 + "-00001.warc.gz", "ä-00001.warc.gz", "-a-00001.warc.gz",
)  # fmt: skip


@given(site=st.text(max_size=200), visit=st.integers(0, 10**6), number=st.integers(1, 10**7))
def test_every_name_of_our_own_is_known(site: str, visit: int, number: int) -> None:
    run = RunFolder(Path("collection"), "2026-11-15T19-20-03-2")
    own = run.place(site, visit=visit).warc.path(number)
    assert is_name(NameOf.WARC, own.name)
    assert is_name(NameOf.ARCHIVED, f"{run.shelf}/{own.name}")
    assert is_name(NameOf.OF_VISIT, f"{visit_stem(site, visit)}.json")
    assert is_name(NameOf.WISH, f"{number}.json")


def test_shared_files_are_known() -> None:
    name = RunFolder(Path("x"), "y").shared_place(3).warc.path(1).name
    assert is_name(NameOf.WARC, name)


@pytest.mark.parametrize("name", STRANGE)
def test_no_other_name_is(name: str) -> None:
    assert not any(is_name(kind, name) for kind in NameOf)
    for prefix in (
        "runs/../warc/",
        "runs/./warc/",
        "runs/a/b/warc/",
        "runs//warc/",
        "/runs/a/warc/",
    ):
        assert not is_name(NameOf.ARCHIVED, f"{prefix}a-00001.warc.gz")
    assert not is_name(NameOf.ARCHIVED, f"runs/2026/warc/{name}")


@given(name=st.text(st.sampled_from("ab./-_~01\0\n")), kind=st.sampled_from(NameOf))
def test_a_name_never_leaves_its_folder(name: str, kind: NameOf) -> None:
    if is_name(kind, name):
        assert os.path.normpath(name) == name
        assert name.count("/") == (3 if kind is NameOf.ARCHIVED else 0)


def test_only_plain_files_with_such_names_are_ones_own(tmp_path: Path) -> None:
    for name in ("10.json", "9.json", "x.json", ".9.json", "9.json.part"):
        (tmp_path / name).touch()
    (tmp_path / "1.json").mkdir()
    (tmp_path / "2.json").symlink_to(tmp_path / "x.json")
    os.mkfifo(tmp_path / "3.json")
    assert [path.name for path in own_files(tmp_path, NameOf.WISH)] == ["10.json", "9.json"]
    assert own_files(tmp_path / "missing", NameOf.WISH) == []
    assert own_files(tmp_path / "x.json", NameOf.WISH) == []
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UserMistake, match="is a symbolic link"):
        own_files(tmp_path / "link", NameOf.WISH)


def test_an_archived_file_is_in_the_collection(tmp_path: Path) -> None:
    collection = tmp_path / "collection"
    warc = collection / "runs" / "a" / "warc"
    warc.mkdir(parents=True)
    outside = tmp_path / "x-00001.warc.gz"
    outside.touch()
    name = "runs/a/warc/x-00001.warc.gz"
    assert archived_file(collection, name) == collection / name
    (collection / name).symlink_to(outside)
    assert archived_file(collection, name) is None
    (tmp_path / "link").symlink_to(collection)
    (collection / name).unlink()
    assert archived_file(tmp_path / "link", name) == tmp_path / "link" / name, "the user named it"
