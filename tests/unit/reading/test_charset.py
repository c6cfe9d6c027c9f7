"""Encodings by the HTML standard's order of evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

from headgate.reading.charset import decode, decoded, header_charset

HTML = "text/html; charset="


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"\xef\xbb\xbfgr\xc3\xbcn", HTML + "latin1", "grün"),
        (b"\xff\xfeg\0r\0", HTML + "utf-8", "gr"),
        (b"\xfe\xff\0g\0r", "", "gr"),
        (b"gr\xfcn", HTML + "ISO-8859-1", "grün"),
        (b"\x80", HTML + "us-ascii", "€"),
        (b"<meta charset=koi8-r>\xc1", HTML + "windows-1251", "<meta charset=koi8-r>Б"),
        (b"<meta charset=koi8-r>\xc1", HTML + "nonsense", "<meta charset=koi8-r>а"),
        (b"gr\xc3\xbcn", "", "grün"),
        (b"gr\xfcn", "text/html", "grün"),
        (b"gr\xc3\xbcn\xc3", "", "grün\ufffd"),
        (b"\xfc\xc3", HTML + "utf-8", "\ufffd\ufffd"),
        (b"", "", ""),
        (b"\x82\xa0", HTML + "sjis", "あ"),
        (b"x", HTML + "iso-2022-kr", "\ufffd"),
    ],
)
def test_text(body: bytes, content_type: str, text: str) -> None:
    assert decode(body, content_type) == text


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        (b"<meta charset=windows-1251>", "cp1251"),
        (b"<META CharSet = 'Windows-1251' >", "cp1251"),
        (b"<meta/charset=windows-1251>", "cp1251"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        (b"<meta content=\"a; charset = 'koi8-r'\" http-equiv=content-type>", "koi8-r"),
        (b"<meta name=x content='text/html; charset=koi8-r'>", "utf-8"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=utf-16le>", "utf-8"),
        (b"<meta charset=x-user-defined>", "cp1252"),
        (b"<!-- <meta charset=koi8-r> -->", "utf-8"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<!doctype html><html><head><title>x</title><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=koi8-r>'>", "utf-8"),
        (b"</p title='<meta charset=koi8-r>'>", "utf-8"),
        (b"<?x <meta charset=koi8-r>", "utf-8"),
        (b"<metal charset=koi8-r>", "utf-8"),
        (b"a".ljust(1000) + b"<meta charset=koi8-r>", "koi8-r"),
        (b"a".ljust(1024) + b"<meta charset=koi8-r>", "utf-8"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=windows-1251>", "cp1251"),
    ],
)
def test_prescan(head: bytes, codec: str) -> None:
    assert decoded(head).codec == codec


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html", None),
        ("text/html;charset=utf-8", "utf-8"),
        ('text/html; Charset = "utf-8"; x=y', "utf-8"),
        ("text/html; charset=a; charset=b", "a"),
        ("text/html; xcharset=a", None),
        ("charset=a", None),
    ],
)
def test_header_charset(content_type: str, charset: str | None) -> None:
    assert header_charset(content_type) == charset


def test_all_labels_are_known() -> None:
    assert len(LABELS) == 228
    for label in LABELS:
        assert decode(b"", HTML + label.upper()) == ""


@given(st.binary(), st.one_of(st.sampled_from(sorted(LABELS)).map(HTML.__add__), st.text()))
def test_any_bytes_do(body: bytes, content_type: str) -> None:
    text, codec = decode(body, content_type), decoded(body, content_type).codec
    assert isinstance(text, str)
    assert codec


@given(st.text())
def test_valid_utf8_needs_no_label(text: str) -> None:
    scalar = "".join(char for char in text if not 0xD800 <= ord(char) < 0xE000)
    if not scalar.startswith("\ufeff") and "<" not in scalar:
        assert decode(scalar.encode()) == scalar
