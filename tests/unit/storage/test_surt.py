from __future__ import annotations

import pytest

from headgate.storage.warc.surt import surt_key

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
