"""Content codings: whole, stacked, cut off, damaged, and made to burst."""

from __future__ import annotations

import gzip
import time
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from headgate.reading.content_coding import Content, decode_content

TEXT = b"".join(b"%d bottles of beer on the wall\n" % k for k in range(5_000))
PLENTY = 100_000_000


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def brotlied(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=5))


Coder = Callable[[bytes], bytes]
CODERS: dict[str, tuple[str, Coder]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("deflate", bare_deflate),
    "br": ("br", brotlied),
    "zstd": ("zstd", zstd.compress),
}
every_coding = pytest.mark.parametrize(("name", "coder"), CODERS.values(), ids=CODERS.keys())


@every_coding
def test_whole(name: str, coder: Coder) -> None:
    for data in (b"", b"a", TEXT):
        assert decode_content(coder(data), name, PLENTY) == Content(data, whole=True)


@every_coding
@pytest.mark.parametrize("limit", [0, 1, 65_536, len(TEXT) - 1, len(TEXT)])
def test_stops_at_the_limit(name: str, coder: Coder, limit: int) -> None:
    whole = limit == len(TEXT)
    assert decode_content(coder(TEXT), name, limit) == Content(TEXT[:limit], whole)


@every_coding
def test_broken_off(name: str, coder: Coder) -> None:
    coded = coder(TEXT)
    for length in (0, 1, 7, len(coded) // 2, len(coded) - 1):
        content = decode_content(coded[:length], name, PLENTY)
        assert not content.whole
        assert TEXT.startswith(content.data)


@pytest.mark.parametrize(("name", "coder"), [CODERS["gzip"], CODERS["deflate"], CODERS["br"]])
def test_damaged_gives_what_stands_before(name: str, coder: Coder) -> None:
    coded = coder(TEXT)
    half = len(coded) // 2
    content = decode_content(coded[:half] + b"\xff" * (len(coded) - half), name, PLENTY)
    assert not content.whole
    assert content.data.startswith(TEXT[: len(TEXT) // 4])


def test_wrong_checksum_loses_no_more_than_the_tail() -> None:
    coded = gzip.compress(TEXT)
    content = decode_content(coded[:-8] + bytes(8), "gzip", PLENTY)
    assert not content.whole
    assert len(content.data) > len(TEXT) - 1_000


def test_stacked_in_the_order_of_the_header() -> None:
    coded = brotlied(gzip.compress(TEXT))
    assert decode_content(coded, "gzip, identity, br", PLENTY) == Content(TEXT, whole=True)
    assert decode_content(gzip.compress(TEXT[:-1] + b"x")[:99], "gzip,", PLENTY).whole is False


@pytest.mark.parametrize("coding", ["", "identity", " , "])
def test_not_coded(coding: str) -> None:
    assert decode_content(TEXT, coding, PLENTY) == Content(TEXT, whole=True)
    assert decode_content(TEXT, coding, 3) == Content(TEXT[:3], whole=False)


@pytest.mark.parametrize("coding", ["compress", "gzip, sdch", "gzip, gzip, gzip, gzip"])
def test_unknown_codings_and_towers_are_left_as_they_are(coding: str) -> None:
    assert decode_content(TEXT, coding, 10) == Content(TEXT[:10], whole=False)


def test_members_and_frames_follow_each_other() -> None:
    members = gzip.compress(b"a") + gzip.compress(b"b")
    assert decode_content(members + b"\0\0 padding", "gzip", 9) == Content(b"ab", whole=True)
    frames = zstd.compress(b"a") + zstd.compress(b"b")
    assert decode_content(frames, "zstd", 9) == Content(b"ab", whole=True)


@pytest.mark.parametrize(("window_log", "whole"), [(23, True), (24, False)])
def test_zstd_windows_beyond_eight_megabytes_are_refused(window_log: int, whole: bool) -> None:
    parameters = {int(zstd.CompressionParameter.window_log): window_log}
    stream = zstd.ZstdCompressor(options=parameters)
    coded = stream.compress(bytes(20_000_000)) + stream.flush()
    assert decode_content(coded, "zstd", 30_000_000).whole is whole


ZEROS = bytes(200_000_000)
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(ZEROS),
    "deflate": lambda: bare_deflate(ZEROS),
    "br": lambda: brotlied(ZEROS),
    "zstd": lambda: zstd.compress(ZEROS),
    "gzip, gzip": lambda: gzip.compress(gzip.compress(ZEROS)),
    "gzip,gzip,gzip": lambda: gzip.compress(b"") * 400_000,
}


@pytest.mark.parametrize("coding", BOMBS)
def test_bombs_cost_what_the_limit_allows(coding: str) -> None:
    limit = 5_000_000
    bomb = BOMBS[coding]()
    tracemalloc.start()
    start = time.process_time()
    content = decode_content(bomb, coding, limit)
    seconds = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not content.whole
    assert len(content.data) <= limit
    assert peak < 8 * limit + 3 * len(bomb)
    assert seconds < 5


@given(st.binary(), st.sampled_from(["gzip", "deflate", "br", "zstd", "br, gzip"]))
def test_any_bytes_do(payload: bytes, coding: str) -> None:
    assert len(decode_content(payload, coding, 1_000).data) <= 1_000
