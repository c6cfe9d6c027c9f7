"""Disks that refuse, under the whole command: one clear line, nothing corrupt, and it goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .small_web import SmallWeb, serving
from .test_crawl_command import COMMAND, archived, headgate, stored_pages

NOISY = SmallWeb(150, random_bytes=6_000)


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def one_line(said: str) -> str:
    (line,) = said.splitlines()
    return line


@pytest.mark.parametrize("processes", [1, 2])
def test_a_disk_that_fills_up(tmp_path: Path, processes: int) -> None:
    with mounted(tmp_path / "disk", "size=600k") as disk, serving(NOISY) as web:
        words = ("crawl", web.seed, "--out", disk / "data", "--quiet", "--processes", processes)
        done = headgate(*words, code=1)
        assert "No space left on device (free some space" in one_line(done.stderr)
        assert done.stdout == ""
        subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
        headgate("crawl", "--resume", "--out", disk / "data", "--quiet")
        assert set(stored_pages(disk / "data")) == web.urls
        responses = [url for kind, url in archived(disk / "data") if kind == "response"]
        assert sorted(url for url in responses if "robots" not in url) == sorted(web.urls)


def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=16k") as disk, serving(SmallWeb(3)) as web:
        done = headgate("crawl", web.seed, "--out", disk / "data", "--quiet", code=1)
    assert "No space left" in one_line(done.stderr)


def test_a_disk_that_may_only_be_read(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "ro") as disk:
        done = headgate("crawl", "http://127.0.0.1:1/", "--out", disk / "data", code=2)
    assert "Read-only file system; name another folder" in one_line(done.stderr)


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"mine")
    done = headgate("crawl", "http://127.0.0.1:1/", "--out", tmp_path / "data", code=2)
    assert "it is not a folder; name another folder" in one_line(done.stderr)
    assert (tmp_path / "data").read_bytes() == b"mine"


def test_a_picture_for_which_there_is_no_room(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=4k") as disk:
        words = ("plan", "--example", "six-sites", "--plot", disk / "plan.svg")
        done = headgate(*words, code=1)
        assert f"cannot write {disk / 'plan.svg'}: No space left" in one_line(done.stderr)


def test_a_limit_on_files(tmp_path: Path) -> None:
    with serving(NOISY) as web:
        words = [*COMMAND, "crawl", web.seed, "--out", str(tmp_path), "--quiet"]
        limited = ["sh", "-c", 'ulimit -f 600; exec "$@"', "sh", *words]
        done = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert "File too large" in one_line(done.stderr)
        headgate("crawl", "--resume", "--out", tmp_path, "--quiet")
        assert set(stored_pages(tmp_path)) == web.urls
