"""What Chromium makes of a letter in the query of a link, in pages of each encoding."""

from __future__ import annotations

import pytest
import webencodings

from headgate.reading.links import page_links
from headgate.reading.urls import query_in


@pytest.mark.parametrize(
    ("label", "letter", "written"),
    [
        ("windows-1252", "ü", "%FC"),
        ("windows-1252", "€", "%80"),
        ("windows-1252", "日", "%26%2326085%3B"),
        ("shift_jis", "表", "%95\\"),
        ("shift_jis", "ソ", "%83\\"),
        ("shift_jis", "髙", "%FB%FC"),
        ("shift_jis", "ü", "%26%23252%3B"),
        ("shift_jis", "¥", "\\"),
        ("shift_jis", "−", "%81|"),
        ("shift_jis", "¢", "%26%23162%3B"),
        ("euc-jp", "表", "%C9%BD"),
        ("euc-jp", "©", "%26%23169%3B"),
        ("gbk", "丂", "%81@"),
        ("gbk", "€", "%80"),
        ("gbk", "é", "%A8%A6"),
        ("gbk", "»", "%26%23187%3B"),
        ("gb18030", "»", "%810%863"),
        ("big5", "功", "%A5\\"),
        ("big5", "€", "%A3%E1"),
        ("big5", "ソ", "%C7%B9"),
        ("big5", "ü", "%26%23252%3B"),
        ("euc-kr", "가", "%B0%A1"),
        ("koi8-r", "Я", "%F1"),
    ],
)
def test_letters_are_written_as_a_browser_does(label: str, letter: str, written: str) -> None:
    encoding = webencodings.lookup(label)
    assert encoding is not None
    assert query_in(encoding.codec_info.name, f"/?{letter}#{letter}") == f"/?{written}#{letter}"


def test_links_of_a_page_have_them() -> None:
    body = '<a href="?q=表">'.encode("shift_jis")
    page = page_links(body, "http://a/", "text/html; charset=shift_jis")
    assert page.urls == ("http://a/?q=%95\\",)
