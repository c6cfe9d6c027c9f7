"""Who asks, in the site file: what is refused, and that no secret is repeated."""

from __future__ import annotations

import pytest

from headgate.model.access import Access
from headgate.model.errors import SiteFileError
from headgate.site_file.parsing import parse_site_file


def access(lines: str) -> Access:
    text = f"[budget]\nbandwidth = '1 MB/s'\n[site.a]\nseeds = ['http://a.example/']\n{lines}\n"
    return parse_site_file(text, "sites.toml").sites[0].access


def test_what_is_said_is_kept_as_words() -> None:
    said = access(
        "user_agent = 'Archive/1.0'\nauth = 'bearer env:TOKEN'\nheaders = ['X-Key: file:key.txt']\n"
        "robots = 'ignore'\nproxy = 'env:PROXY'\nlogin = 'http://a.example/in'\n"
        "login_fields = ['u=me', 'p=file:secret']"
    )
    assert said.auth == "bearer env:TOKEN"
    assert said.headers == ("X-Key: file:key.txt",)
    assert said.logs_in
    assert not access("").logs_in


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('headers = ["X-A: b\\r\\nHost: c"]', "is no header"),
        ("headers = ['X A: b']", "is no header"),
        ("headers = ['Host: b']", "Host is set by Headgate itself"),
        ("headers = ['Authorization: Basic c2VjcmV0']", "is a secret; write 'Authorization: env:"),
        ('user_agent = "a\\nb"', "write one line"),
        ("robots_agent = 'my bot/1'", "is no product token"),
        ("auth = 'basic me:hunter2'", "write 'basic env:NAME'"),
        ("auth = 'digest env:X'", "write 'basic env:NAME'"),
        ("proxy = 'http://me:hunter2@proxy:3128'", "one with a password is 'env:NAME'"),
        ("proxy = 'ftp://proxy:21'", "write 'http://proxy:3128'"),
        ("login = 'http://a.example/in'", "it needs login_fields beside it"),
        ("login_fields = ['u=me', 'p=env:X']", "it needs login beside it"),
        ("login = 'http://a/'\nlogin_fields = ['u=me', 'p=hunter2']", "the password is a secret"),
        ("robots = 'maybe'", "'ignore', or drop the key"),
        ("cookies = 3", "write one line like 'cookies.txt'"),
    ],
)
def test_what_cannot_be_is_refused(lines: str, words: str) -> None:
    with pytest.raises(SiteFileError) as caught:
        access(lines)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
