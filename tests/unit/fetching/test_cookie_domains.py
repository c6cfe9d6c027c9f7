"""Whose cookies are sent where."""

from __future__ import annotations

from headgate.fetching.cookies import CookieJar


def sent(
    line: str, to: str, *, by: str = "www.example.org", path: str = "/a/b", secure: bool = True
) -> str:
    jar = CookieJar()
    jar.store(by, "/a/b", line, 0.0)
    return jar.header(to, path, secure=secure, now=1.0)


def test_without_a_domain_a_cookie_is_its_hosts_alone() -> None:
    assert sent("k=1", "www.example.org") == "k=1"
    assert sent("k=1", "a.www.example.org") == ""
    assert sent("k=1", "example.org") == ""


def test_a_domain_is_for_what_lies_under_it_and_not_for_what_ends_alike() -> None:
    line = "k=1; Domain=.example.org"
    for host in ("www.example.org", "example.org", "other.example.org"):
        assert sent(line, host) == "k=1", host
    assert sent(line, "evilexample.org") == ""
    assert sent(line, "example.org.evil.net") == ""


def test_nobody_sets_a_cookie_for_others_or_for_a_public_suffix() -> None:
    assert sent("k=1; Domain=other.org", "other.org") == ""
    assert sent("k=1; Domain=deeper.www.example.org", "deeper.www.example.org") == ""
    for host in ("a.co.uk", "b.co.uk"):
        assert sent("k=1; Domain=co.uk", host, by="a.co.uk") == ""
    assert sent("k=1; Domain=0.0.1", "127.0.0.1", by="127.0.0.1") == ""


def test_path_security_and_age_are_kept_to() -> None:
    assert sent("k=1; Path=/a", "www.example.org", path="/a/c") == "k=1"
    assert sent("k=1; Path=/a", "www.example.org", path="/ab") == ""
    assert sent("k=1; Secure", "www.example.org", secure=False) == ""
    assert sent("k=1; Max-Age=1", "www.example.org") == ""
    assert sent("k=1; Max-Age=2", "www.example.org") == "k=1"
