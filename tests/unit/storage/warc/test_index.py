""""""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.unit.storage.warc.making import NOON, make_url

from headgate.storage.page import PageRow
from headgate.storage.warc.index import index_lines, surt_key, writing_index


def make_row(url: str, at: float = NOON, status: int = 200) -> PageRow:
    return PageRow(
        url,
        "page",
        status=status,
        content_type="text/html; charset=x",
        depth=0,
        payload_bytes=10,
        wire_bytes=20,
        first_byte_seconds=0.1,
        seconds=0.2,
        fetched_at=at,
        digest=bytes(20),
        warc_file="s-00001.warc.gz",
        warc_offset=5,
        warc_length=7,
    )


def test_a_line_holds_what_pywb_asks_for() -> None:
    (line,) = index_lines([make_row("http://www.a.example/X")], "runs/r/warc")
    key, stamp, fields = line.split(" ", 2)
    assert (key, stamp) == ("example,a)/x", "20261115120000")
    assert json.loads(fields) == {
        "url": "http://www.a.example/X",
        "mime": "text/html",
        "status": "200",
        "digest": "sha1:" + "A" * 32,
        "length": "7",
        "offset": "5",
        "filename": "runs/r/warc/s-00001.warc.gz",
    }


def test_a_revisit_says_so() -> None:
    revisit = msgspec.structs.replace(make_row(make_url(1)), original_url=make_url(2))
    (line,) = index_lines([revisit], "warc")
    assert '"mime":"warc/revisit"' in line


def test_failures_and_not_modified_are_left_out() -> None:
    rows = [make_row(make_url(3), status=0), make_row(make_url(4), status=304)]
    assert list(index_lines(rows, "warc")) == []


def test_any_number_of_lines_is_sorted_in_pieces(tmp_path: Path) -> None:
    order = np.random.default_rng(7).permutation(1000)
    rows = [make_row(make_url(int(number), f"h{number % 7}.example")) for number in order]
    path = tmp_path / "index.cdxj"
    with writing_index(path, piece_lines=64) as add:
        add(index_lines(rows, "warc"))
    lines = path.read_bytes().splitlines()
    assert len(lines) == 1000
    assert lines == sorted(lines)
    assert list(tmp_path.iterdir()) == [path]


def test_each_fetch_has_one_line_however_often_it_is_told_of(tmp_path: Path) -> None:
    same_key = ["http://a.example/X", "http://a.example/x", "https://www.a.example/x/"]
    rows = [make_row(url, NOON + k) for k in range(3) for url in same_key]
    path = tmp_path / "index.cdxj"
    with writing_index(path, piece_lines=2) as add:
        add(index_lines([*rows, *rows], "warc"))
    lines = path.read_text().splitlines()
    stamps = [f"2026111512000{k}" for k in range(3)]
    assert [line.split(" ")[1] for line in lines] == [stamp for stamp in stamps for _ in same_key]
    told = [json.loads(line.split(" ", 2)[2])["url"] for line in lines]
    assert sorted(told) == sorted(same_key * 3)


def test_a_run_without_pages_has_an_empty_index(tmp_path: Path) -> None:
    with writing_index(tmp_path / "index.cdxj") as add:
        add([])
    assert (tmp_path / "index.cdxj").read_bytes() == b""


KEYS = {
    "http://example.org/": "org,example)/",
    "https://www.example.org/A/B/": "org,example)/a/b",
    "https://www3.example.org:443/": "org,example)/",
    "https://example.org:80/": "org,example:80)/",
    "http://www.com/": "com)/",
    "http://user:word@example.org:8080/x": "org,example:8080)/x",
    "http://127.0.0.1:8081/p.html": "1,0,0,127:8081)/p.html",
    "http://[::1]:8080/a": "::1:8080)/a",
    "http://example.org/a//b/./c/../d#part": "org,example)/a/b/d",
    "http://example.org/%2541%42": "org,example)/ab",
    "http://example.org/%E4%BD%A0%20b": "org,example)/%e4%bd%a0%20b",
    "http://example.org/?": "org,example)/",
    "http://example.org/?b=2&a&a=1&A=0": "org,example)/?a&a=0&a=1&b=2",
    "http://example.org/?a-b=1&a=2": "org,example)/?a=2&a-b=1",
    "http://example.org/x?q=1&PHPSESSID=0123456789abcdef0123456789abcdef&r=2": (
        "org,example)/x?q=1&r=2"
    ),
    "http://example.org/(S(0123456789abcdef01234567))/page.aspx": "org,example)/page.aspx",
}


@pytest.mark.parametrize("url", KEYS)
def test_keys_are_those_of_replay_tools(url: str) -> None:
    assert surt_key(url) == KEYS[url]
