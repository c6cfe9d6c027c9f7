"""``headgate report`` and ``headgate export`` from outside, on the folder of a finished run."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.acceptance.running import headgate
from tests.integration.storage.crawled import crawl_once
from tests.unit.report.reports import make_run_report

STAMP = "2026-11-15T12-00-00"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """With one finished run."""
    run = crawl_once(tmp_path / "kept")
    report = make_run_report(6, 180)
    (run.path / "report.json").write_bytes(msgspec.json.encode(report))
    return tmp_path / "kept"


def test_the_report_is_printed_and_written(collection: Path) -> None:
    done = headgate("report", collection)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    page = collection / "runs" / STAMP / "report.html"
    assert "deadlines met; " in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[-1] == f"Report: {page}"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(page.parent.glob(".*")) == []


def test_a_run_goes_by_its_stamp_and_by_its_folder(collection: Path) -> None:
    by_stamp = headgate("report", collection, "--run", STAMP)
    by_folder = headgate("report", collection / "runs" / STAMP)
    assert by_stamp.stdout == by_folder.stdout == headgate("report", collection).stdout


def test_the_json_is_the_whole_report(collection: Path) -> None:
    done = headgate("report", collection, "--json")
    document = json.loads(done.stdout)
    assert document == json.loads((collection / "runs" / STAMP / "report.json").read_bytes())
    assert {"budget", "mean_rate", "peak_rate_1s", "utilisation", "policy"} <= document.keys()


def refused(*arguments: str | Path) -> str:
    done = headgate(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("headgate: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_wrong_place_is_named(command: str, collection: Path, tmp_path: Path) -> None:
    assert "there is no such folder" in refused(command, tmp_path / "nowhere")
    assert "no run in there" in refused(command, tmp_path)
    assert f"there are {STAMP}" in refused(command, collection, "--run", "../..")
    folder = collection / "runs" / STAMP
    assert "leave --run out" in refused(command, folder, "--run", "2020-01-01T00-00-00")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"stamp": 7}', b"\xff\xfe", b"[" * 9999])
def test_a_damaged_report_is_told(damage: bytes, collection: Path) -> None:
    path = collection / "runs" / STAMP / "report.json"
    path.write_bytes(damage)
    assert f"{path} is damaged or of another version" in refused("report", collection)


def test_an_unfinished_run_has_no_report_yet(tmp_path: Path) -> None:
    run = crawl_once(tmp_path)
    run.spool.mkdir()
    assert "--resume" in refused("report", tmp_path)
    run.spool.rmdir()
    assert "report.json: there is no such file" in refused("report", tmp_path)


def test_csv(collection: Path) -> None:
    done = headgate("export", collection, "--as", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    table = pq.read_table(collection / "runs" / STAMP / "pages.parquet").to_pylist()
    assert [row["url"] for row in rows] == [row["url"] for row in table]
    assert rows[0]["fetched_at"] == "2026-11-15T12:00:00.000Z"
    assert rows[0]["digest"].startswith("sha1:")
    assert rows[0]["bytes"] == str(table[0]["bytes"])
    assert rows[0]["error"] == ""


def test_lines_of_json(collection: Path) -> None:
    done = headgate("export", collection, "--as", "jsonl", "--table", "links")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == pq.read_table(collection / "runs" / STAMP / "links.parquet").to_pylist()


def test_the_ending_of_a_file_tells_the_format(collection: Path, tmp_path: Path) -> None:
    for name in ("pages.parquet", "pages.jsonl", "pages.csv"):
        done = headgate("export", collection, "--to", tmp_path / name)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    source = collection / "runs" / STAMP / "pages.parquet"
    assert pq.read_table(tmp_path / "pages.parquet").equals(pq.read_table(source))
    first = json.loads((tmp_path / "pages.jsonl").read_text().splitlines()[0])
    assert first["fetched_at"] == "2026-11-15T12:00:00.000Z"
    assert (tmp_path / "pages.csv").read_text().startswith('"site","url",')


def test_bad_exports_are_refused(collection: Path, tmp_path: Path) -> None:
    source = collection / "runs" / STAMP / "pages.parquet"
    assert "no such folder" in refused("export", collection, "--to", tmp_path / "no" / "x.csv")
    assert "is a folder" in refused("export", collection, "--to", tmp_path)
    assert "the run's own folder" in refused("export", collection, "--to", source)
    source.write_bytes(b"PAR1 is not enough")
    target = tmp_path / "pages.csv"
    assert "is damaged" in refused("export", collection, "--to", target)
    assert not target.exists()


def test_a_reader_may_stop_reading(collection: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "headgate", "export", str(collection), "--as", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (0, 141)
