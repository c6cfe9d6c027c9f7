"""Cookies, as far as a crawler needs them."""

from __future__ import annotations

import pytest

from headgate.fetching.cookies import LONGEST_HEADER, MOST_COOKIES, CookieJar


def _jar(*lines: str, host: str = "www.example.org", target: str = "/a/b") -> CookieJar:
    jar = CookieJar()
    for line in lines:
        jar.store(host, target, line, now=1000.0)
    return jar


def _header(
    jar: CookieJar, host: str = "www.example.org", target: str = "/a/c", *, secure: bool = False
) -> str:
    return jar.header(host, target, secure=secure, now=1000.0)


def test_a_cookie_goes_back_to_its_host_and_folder() -> None:
    jar = _jar("a=1")
    assert _header(jar) == "a=1"
    assert _header(jar, target="/a?x=/") == "a=1"
    assert _header(jar, target="/other") == ""
    assert _header(jar, target="/ab") == ""
    assert _header(jar, host="example.org") == ""
    assert _header(jar, host="sub.www.example.org") == ""


def test_public_suffixes_are_refused() -> None:
    jar = _jar("a=1; Domain=co.uk; Path=/", "b=2; Domain=.shop.co.uk; Path=/", host="shop.co.uk")
    assert _header(jar, host="other.co.uk") == ""
    assert _header(jar, host="www.shop.co.uk") == "b=2"
    jar = _jar("a=1; Domain=github.io; Path=/", host="someone.github.io")
    assert len(jar) == 0
    jar = _jar("a=1; Domain=github.io; Path=/", host="github.io")
    assert _header(jar, host="github.io") == "a=1"
    assert _header(jar, host="someone.github.io") == "", "for its own host alone"


def test_domains_match_by_labels_and_only_upwards() -> None:
    jar = _jar("a=1; Domain=.example.org; Path=/", "b=2; Domain=other.org", "c=3; Domain=org")
    assert _header(jar, host="example.org") == "a=1"
    assert _header(jar, host="deep.www.example.org") == "a=1"
    assert _header(jar, host="badexample.org") == ""
    assert len(jar) == 1


def test_addresses_are_not_domains() -> None:
    jar = _jar("a=1; Domain=0.0.1; Path=/", host="127.0.0.1")
    assert len(jar) == 0


def test_longer_paths_come_first() -> None:
    jar = _jar("root=1; Path=/", "folder=2; Path=/a", "empty=; Path=")
    assert _header(jar) == "folder=2; empty=; root=1"


def test_secure_cookies_keep_to_https() -> None:
    jar = _jar("a=1; Secure")
    assert _header(jar) == ""
    assert _header(jar, secure=True) == "a=1"


def test_cookies_end() -> None:
    jar = _jar("a=1; Max-Age=10", "b=2; Expires=Thu, 01 Jan 1970 01:00:00 GMT", "c=3; expires=junk")
    assert jar.header("www.example.org", "/a/c", secure=False, now=1005.0) == "a=1; b=2; c=3"
    assert jar.header("www.example.org", "/a/c", secure=False, now=4000.0) == "c=3"


def test_a_cookie_is_replaced_and_deleted() -> None:
    jar = _jar("a=1", "a=2")
    assert _header(jar) == "a=2"
    jar.store("www.example.org", "/a/b", "a=; Max-Age=0", now=1000.0)
    assert len(jar) == 0


def test_junk_is_ignored() -> None:
    assert len(_jar("", "=x", "novalue", "a\x00=1", "a=1\r\nX: y", "x=" + "y" * 5000)) == 0


@pytest.mark.parametrize("age", ["--5", "-", "", "1" * 5000, "1e9", "٣", "5x"])
def test_ages_that_are_none(age: str) -> None:
    assert _header(_jar(f"a=1; Max-Age={age}")) in ("a=1", "")


def test_a_jar_is_bounded() -> None:
    jar = _jar(*(f"c{number}={'x' * 900}; Path=/" for number in range(3 * MOST_COOKIES)))
    assert len(jar) == MOST_COOKIES
    assert 0 < len(_header(jar)) <= LONGEST_HEADER
