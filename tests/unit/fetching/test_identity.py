"""Who asks: secrets found and taken out again, cookies.txt read, proxies and forms understood."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.fetching.cookies import read_cookies, without_value
from headgate.fetching.identity import Identity, without_secrets
from headgate.fetching.login import log_in
from headgate.fetching.origin import Origins
from headgate.fetching.proxy import Proxy
from headgate.model.errors import UserMistake
from headgate.model.fetch import Fetched, FetchRequest
from headgate.model.site import Access
from headgate.reading.forms import find_form
from headgate.reading.http_head import read_head

USUAL = "User-Agent: Headgate/0 (+x)\r\nAccept: */*\r\n"
HOST, _ = Origins().locate("http://a.example/")
OTHER, _ = Origins().locate("http://b.example/")


def identity(access: Access, *named: str) -> Identity:
    async def made() -> Identity:
        return Identity("site", access, named)

    return asyncio.run(made())


def test_secrets_go_to_named_hosts_and_to_no_archive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOGIN", "me:hunter2")
    (tmp_path / "key").write_text("abc123\n")
    who = identity(
        Access(
            user_agent="Mine/1", auth="basic env:LOGIN", headers=(f"X-Key: file:{tmp_path}/key",)
        ),
        "http://a.example/",
    )
    assert who.lines(OTHER, USUAL) == "User-Agent: Mine/1\r\nAccept: */*\r\n"
    lines = who.lines(HOST, USUAL)
    assert "Authorization: Basic bWU6aHVudGVyMg==\r\n" in lines
    assert "X-Key: abc123\r\n" in lines
    sent = f"GET / HTTP/1.1\r\nHost: a.example\r\n{lines}Cookie: s=1\r\n\r\n".encode()
    kept = who.redacted(sent)
    assert b"bWU6" not in kept
    assert b"abc123" not in kept
    assert b"s=1" not in kept
    assert kept.count(b"[redacted]") == 3
    assert kept.endswith(b"\r\n\r\n")
    set_cookie = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=secret; Path=/\r\n\r\n"
    assert who.redacted_response(set_cookie) == set_cookie.replace(b"secret", b"[redacted]")


@pytest.mark.parametrize(
    ("lines", "archived"),
    [
        (b"Set-Cookie : a=secret; Path=/\r\n", b"Set-Cookie: a=[redacted]; Path=/\r\n"),
        (b"set-cookie:a=\r\n secret\r\n", b"set-cookie: a=[redacted]\r\n"),
        (b"Set-Cookie:\n\ta=x;\r\n Secure\nA: b\n", b"Set-Cookie: a=[redacted]; Secure\nA: b\n"),
        (b"Set-Cookie: ;a=secret\r\n", b"Set-Cookie: ; [redacted]\r\n"),
        (b"Set-Cookie: a=x;secret=b; Secure\n", b"Set-Cookie: a=[redacted]; [redacted]; Secure\n"),
        (b"SET-COOKIE\t\r:a=secret\r\n", b"SET-COOKIE: a=[redacted]\r\n"),
        (b"Set-Cookie: secret\r\n", b"Set-Cookie: [redacted]\r\n"),
        (b"Set-Cookie: a=x\nno field\n secret\n", b"Set-Cookie: a=[redacted]\nno field\n"),
        (b"X: set-cookie: a=b\r\n", b"X: set-cookie: a=b\r\n"),
    ],
)
def test_cookies_are_redacted_however_they_are_written(lines: bytes, archived: bytes) -> None:
    status = b"HTTP/1.1 200 OK\r\n"
    who = identity(Access(cookies=""), "http://a.example/")
    assert who.redacted_response(status + lines + b"\r\n") == status + archived + b"\r\n"
    assert without_secrets(b"", status + lines + b"\r\n")[1] == status + archived + b"\r\n"


PIECES = (
    b"Set-Cookie", b"set-cookie:", b"X-A:", b"a=secret", b"secret", b"=", b";", b":", b" ", b"\t",
    b"\r", b"\n", b"\r\n ", b"\nSet-Cookie:", b"Path=/", b"\xff",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join))
@example(b"Set-Cookie:a=1\n;\n secret")
def test_what_is_read_as_a_cookie_is_redacted_and_nothing_else(lines: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + lines.replace(b"\n\n", b"\n") + b"\r\n\r\n"
    before, after = read_head(head), read_head(without_secrets(b"", head)[1])
    assert before is not None
    assert after is not None
    for (name, value), (same_name, kept) in zip(before.fields, after.fields, strict=True):
        assert name == same_name
        assert kept == (without_value(value).strip() if name == "set-cookie" else value)
        if name == "set-cookie" and b"Path" not in lines:
            assert "secret" not in kept.partition("=")[2]


def test_what_is_meant_for_https_is_not_said_in_the_clear(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc123")
    access = Access(auth=f"bearer file:{tmp_path}/token")
    secure, _ = Origins().locate("https://a.example/")
    meant_for_https = identity(access, "https://a.example/start")
    assert "abc123" in meant_for_https.lines(secure, USUAL)
    assert "abc123" not in meant_for_https.lines(HOST, USUAL)
    meant_for_both = identity(access, "http://a.example/")  # most such servers lead on to https
    assert "abc123" in meant_for_both.lines(secure, USUAL)
    assert "abc123" in meant_for_both.lines(HOST, USUAL)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("http://a.example/in", "without encryption"),
        ("https://b.example/in", "another host"),
        ("//a.example/in", ""),
    ],
)
def test_a_form_is_sent_only_where_its_page_is(action: str, words: str) -> None:
    asked: list[FetchRequest] = []
    form = f'<form method="post" action="{action}"><input name="u"><input name="p"></form>'.encode()

    async def ask(request: FetchRequest) -> Fetched:
        asked.append(request)
        body = form if request.method == "GET" else b"welcome"
        headers = (("content-type", "text/html"),)
        return Fetched(
            request.url,
            200,
            headers=headers,
            request_head=b"",
            response_head=b"",
            payload=body,
            address="192.0.2.1",
            wall_time=0.0,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=0,
        )

    why = asyncio.run(log_in("site", "https://a.example/", {"u": "me", "p": "hunter2"}, ask))
    assert words in why
    assert bool(why) == bool(words)
    assert [request.method for request in asked] == (["GET"] if words else ["GET", "POST"])


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (Access(auth="bearer env:NOT_SET_HERE"), "the environment has no NOT_SET_HERE"),
        (Access(auth="bearer file:/nowhere/token"), "/nowhere/token: No such file"),
        (Access(cookies="/nowhere/cookies.txt"), "/nowhere/cookies.txt: No such file"),
        (Access(auth="basic env:NO_COLON"), "it is to be name:password"),
        (Access(headers=("X-A: env:TWO_LINES",)), "cannot stand in a header"),
        (Access(proxy="env:NO_COLON"), "the proxy is no URL"),
    ],
)
def test_a_secret_that_cannot_be_used_is_told(
    access: Access, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLON", "hunter2")
    monkeypatch.setenv("TWO_LINES", "hunter2\r\nHost: b")
    with pytest.raises(UserMistake) as caught:
        identity(access)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_cookies_are_read_and_sent_where_they_belong() -> None:
    jar = read_cookies(
        "# Netscape HTTP Cookie File\n\n"
        ".a.example\tTRUE\t/\tFALSE\t0\twide\t1\n"
        "#HttpOnly_a.example\tFALSE\t/in\tTRUE\t4102444800\tnarrow\t2\n",
        "cookies.txt",
    )
    assert jar.header("www.a.example", "/in", secure=True, now=0.0) == "wide=1"
    assert jar.header("a.example", "/in", secure=True, now=0.0) == "narrow=2; wide=1"
    assert jar.header("a.example", "/in", secure=False, now=0.0) == "wide=1"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "a.example TRUE / FALSE 0 name hunter2",
            "cookies.txt:2: Netscape's format has seven",
        ),
        ("a.example\tTRUE\tx\tFALSE\t0\tname\thunter2", "a path that begins with /"),
        ("a.example\tYES\t/\tFALSE\t0\tname\thunter2", "TRUE or FALSE"),
        ("a.example\tTRUE\t/\tFALSE\tsoon\tname\thunter2", "seconds since 1970"),
    ],
)
def test_a_wrong_line_is_named_without_its_value(line: str, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        read_cookies(f"# Netscape\n{line}\n", "cookies.txt")
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(UserMistake, match="no cookie in it"):
        read_cookies("# Netscape\n", "cookies.txt")


def test_a_proxy_is_told_whole_urls_and_its_password() -> None:
    proxy = Proxy.parse("http://me:hunter%202@[::1]:3128")
    assert (proxy.host, proxy.port, proxy.user, proxy.password) == ("::1", 3128, "me", "hunter 2")
    assert proxy.authorization.startswith("Proxy-Authorization: Basic ")
    assert "hunter" not in str(proxy)
    who = identity(Access(proxy="http://p.example:3128"))
    assert who.target(HOST, "/x?y") == "http://a.example/x?y"
    secure, _ = Origins().locate("https://a.example/")
    assert who.target(secure, "/x") == "/x"
    assert who.route(HOST) != HOST
    assert who.route(HOST) == who.route(HOST)


def test_the_right_form_is_found() -> None:
    page = """<form action=/search><input name=q></form>
    <form method="post" action="?do=login"><input type="hidden" name="sectok" value="a&amp;b">
    <input name="u"><input type=password name=p><input type=checkbox name=r value=1>
    <button type="submit" name="go" value="1">in</button></form>"""
    form = find_form(page, "http://a.example/doku.php?id=start", ["u", "p"])
    assert form is not None
    assert form.action == "http://a.example/doku.php?do=login"
    assert form.fields == {"sectok": "a&b", "u": "", "p": ""}
    assert find_form(page, "http://a.example/", ["u", "otp"]) is None
