"""robots.txt: RFC 9309's own examples, real files against a plain reading, and odd ones."""

from __future__ import annotations

import string
import tarfile
import time
from itertools import islice, permutations
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.reading.robots import (
    EVERYTHING,
    MOST_BYTES,
    NOTHING,
    RobotsRules,
    rules_for_status,
)
from headgate.reading.urls import normalise

from . import robots_oracle as oracle

REAL = Path(__file__).parents[2] / "data" / "robots-real-4k" / "robots_test_data.tar.gz"
ORIGIN = "http://example.org"


def allows(body: str | bytes, path: str, agent: str = "headgate") -> bool:
    data = body.encode() if isinstance(body, str) else body
    url = normalise(ORIGIN + path)
    assert url is not None
    return RobotsRules.parse(data, agent).allows(url)


SIMPLE = """
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF
"""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("headgate", "/a.gif", False),
        ("headgate", "/a.gif?b", True),
        ("headgate", "/example/page.html", False),
        ("headgate", "/publications/", True),
        ("headgate", "/publications/a.gif", True),
        ("headgate", "/other", True),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/", False),
        ("FooBot", "/", False),
        ("barbot", "/example/page.html", False),
        ("bazbot", "/example/page.html", False),
        ("bazbot", "/a.gif", True),
        ("quxbot", "/example/page.html", True),
        ("quxbot", "/a.gif", True),
    ],
)
def test_rfc_5_1_simple_example(agent: str, path: str, allowed: bool) -> None:
    assert allows(SIMPLE, path, agent) is allowed


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/example/page/disallowed.gif", False), ("/example/page/x.gif", True), ("/x", True)],
)
def test_rfc_5_2_longest_match(path: str, allowed: bool) -> None:
    body = """
    User-Agent: foobot
    Allow: /example/page/
    Disallow: /example/page/disallowed.gif
    """
    assert allows(body, path, "foobot") is allowed


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar/\u30c4", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/\u30c4"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/foo/%e3%83%84", "/foo/%E3%83%84"),
        ("/a b|c", "/a%20b%7Cc"),
    ],
)
def test_rfc_2_2_2_escapes(rule: str, path: str) -> None:
    assert not allows(f"user-agent: *\ndisallow: {rule}", path)
    assert allows(f"user-agent: *\ndisallow: {rule}", "/foo/other")


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/a%2Fb", "/a%2Fb", True),
        ("/a%2Fb", "/a%2fb/c", True),
        ("/a%2Fb", "/a/b", False),
        ("/a/b", "/a%2Fb", False),
        ("/a%3Fb", "/a?b", False),
        ("/a?b", "/a%3Fb", False),
        ("/a%3fb", "/a%3Fb", True),
        ("/*%2F", "/a/b", False),
        ("/*%2F", "/a%2Fb", True),
        ("/*%2F", "/a?b=%2F", True),
        ("/*=http://", "/a?b=http%3A%2F%2Fc", True),
        ("/*=http%3A%2F%2F", "/a?b=http%3A%2F%2Fc", True),
        ("/*?b=http%3A%2F%2F", "/a?b=http://c", True),
        ("/*?*=%2F", "/a?b=/c", True),
        ("/a%2525", "/a%25", False),
        ("/a%252F", "/a%2F", False),
        ("/a%3Ab", "/a:b", True),
    ],
)
def test_what_divides_a_path_is_another_thing_escaped(rule: str, path: str, matches: bool) -> None:
    """RFC 9309, 2.2.2: reserved characters stay as they are."""
    assert allows(f"user-agent: *\ndisallow: {rule}", path) is not matches
    assert allows(f"user-agent: *\ndisallow: /\nallow: {rule}", path) is matches


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-x.html", False),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/path/foo-%24", "/path/foo-$bar", True),
        ("/this/*/exactly", "/this/path/exactly", True),
        ("/this/*/exactly", "/this/exactly", False),
        ("/this/path/exactly$", "/this/path/exactly", True),
        ("/this/path/exactly$", "/this/path/exactly/not", False),
        ("/a$b", "/a$b", True),
        ("/a*$", "/ab", True),
        ("/*ab*b$", "/ab", False),
        ("/*ab*b$", "/abab", True),
        ("/*a*b*c", "/xaxxbxxxcx", True),
        ("/*a*b*c", "/xaxxcxxxbx", False),
        ("*", "/", True),
        ("*/b", "/a/b", True),
        ("$", "/", False),
        ("/$", "/", True),
        ("/$", "/a", False),
        ("/**//x", "/y//x", True),
        ("private", "/private", False),
        ("http://example.org/private", "/private", False),
        ("/fish", "/Fish", False),
        ("/fish", "/fisheries?id=1", True),
        ("/fish/", "/fish", False),
        ("/*?", "/a?", True),
        ("/*?", "/a", False),
    ],
)
def test_wildcards(rule: str, path: str, matches: bool) -> None:
    assert allows(f"user-agent: *\ndisallow: {rule}", path) is not matches


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("disallow: /a\nallow: /a", "/a", True),
        ("allow: /a\ndisallow: /a", "/a", True),
        ("allow: /a*\ndisallow: /a", "/ab", True),
        ("allow: /a\ndisallow: /a*", "/ab", False),
        ("allow: /*b\ndisallow: /ab", "/ab", True),
        ("disallow: /\nallow: /$", "/", True),
        ("disallow: /\nallow: /$", "/a", False),
        ("disallow: /\u00fc\nallow: /xxx", "/\u00fc", False),
        ("disallow: /*.php\nallow: /index.php", "/index.php", True),
        ("disallow:", "/", True),
        ("disallow: /", "/robots.txt", True),
        ("disallow: /", "/robots.txt?x", False),
    ],
)
def test_which_rule_decides(rules: str, path: str, allowed: bool) -> None:
    assert allows("user-agent: *\n" + rules, path) is allowed


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        ("user-agent: headgate\ndisallow: /a", False),
        ("USER-AGENT : HeadGate # us\nDISALLOW : /a # this", False),
        ("user-agent: headgate/1.0 (x)\ndisallow: /a", False),
        ("user-agent: headgater\ndisallow: /a", True),
        ("user-agent: head\ndisallow: /a", True),
        ("user-agent: *\nuser-agent: other\ndisallow: /a", False),
        ("user-agent: *\n\n\nuser-agent: other\n\ndisallow: /a", False),
        ("user-agent: *\ndisallow: /b\nuser-agent: other\ndisallow: /a", True),
        ("user-agent: *\ndisallow: /b\nuser-agent: *\ndisallow: /a", False),
        ("user-agent: *\ndisallow: /a\nuser-agent: headgate\ndisallow: /b", True),
        ("user-agent: headgate\ndisallow: /b\nuser-agent: Headgate\ndisallow: /a", False),
        ("user-agent: *\nsitemap: x\nuser-agent: other\ndisallow: /a", False),
        ("user-agent: *\ncrawl-delay: 1\nuser-agent: other\ndisallow: /a", False),
        ("user-agent: *\ndisallow:\nuser-agent: other\ndisallow: /a", True),
        ("user-agent: * anyone\ndisallow: /a", False),
        ("disallow: /a\nuser-agent: *", True),
        ("user-agent: *\rdisallow: /a\r", False),
        ("user-agent: *\r\n\r\ndisallow: /a\r\n", False),
        ("\ufeffuser-agent: *\ndisallow: /a", False),
        ("user-agent *\ndisallow /a", False),
        ("useragent: *\ndissallow: /a", False),
        ("user-agent: *\ndisallow: /a\0", True),
        ("<html><a href='user-agent: *'>\n<p>disallow: /a</p></html>", True),
        ("", True),
    ],
)
def test_groups_and_lines(body: str, allowed: bool) -> None:
    assert allows(body, "/a") is allowed


def test_bytes_that_are_no_utf8() -> None:
    assert not allows(b"user-agent: *\ndisallow: /\xe9t\xe9", "/%E9t%E9")
    assert allows(b"user-agent: *\ndisallow: /\xe9t\xe9", "/%C3%A9t%C3%A9")
    assert allows(b"\xff\xfeu\0s\0e\0r\0", "/")


@pytest.mark.parametrize(
    ("body", "delay"),
    [
        ("user-agent: *\ncrawl-delay: 10", 10.0),
        ("user-agent: *\ncrawl-delay: .5\ncrawl-delay: 7", 0.5),
        ("user-agent: *\ncrawl-delay: fast", None),
        ("user-agent: *\ncrawl-delay: -1", None),
        ("user-agent: *\ncrawl-delay: nan", None),
        ("user-agent: *\ncrawl-delay: 1e999", None),
        ("crawl-delay: 10", None),
        ("user-agent: *\ncrawl-delay: 10\nuser-agent: headgate\ndisallow:", None),
        ("user-agent: *\ncrawl-delay: 10\nuser-agent: headgate\ncrawl-delay: 2", 2.0),
        ("user-agent: other\ncrawl-delay: 9\nuser-agent: *\ndisallow: /", None),
        ("user-agent: *\ndisallow: /x\ncrawl-delay: 3", 3.0),
    ],
)
def test_crawl_delay(body: str, delay: float | None) -> None:
    assert RobotsRules.parse(body.encode()).crawl_delay == delay


def test_sitemaps_belong_to_no_group() -> None:
    body = b"sitemap: http://a/1\nuser-agent: x\nSitemap:http://a/2 # here\nsite-map: http://a/1"
    assert RobotsRules.parse(body).sitemaps == ("http://a/1", "http://a/2")


def test_half_a_megabyte_is_read() -> None:
    head = b"user-agent: *\n"
    filler = b"#" * (MOST_BYTES - len(head) - 20) + b"\n"
    assert not allows(head + filler + b"disallow: /a\n" + b"#" * 100, "/a")
    assert allows(head + filler + b"#" * 100 + b"\ndisallow: /a", "/a")
    cut = head + filler + b"disallow: /abcdefghijk"
    assert len(cut) > MOST_BYTES
    assert allows(cut, "/abc")
    assert allows(cut[:MOST_BYTES], "/abc")


@pytest.mark.parametrize(
    ("status", "rules"),
    [
        (301, EVERYTHING),
        (400, EVERYTHING),
        (401, EVERYTHING),
        (403, EVERYTHING),
        (404, EVERYTHING),
        (410, EVERYTHING),
        (500, NOTHING),
        (503, NOTHING),
        (0, NOTHING),
    ],
)
def test_rfc_2_3_1_answers(status: int, rules: RobotsRules) -> None:
    assert rules_for_status(status, b"user-agent: *\nallow: /") is rules
    assert rules.allows(f"{ORIGIN}/a") is (rules is EVERYTHING)


def test_an_answer_with_rules() -> None:
    rules = rules_for_status(200, b"user-agent: *\ndisallow: /a")
    assert not rules.allows(f"{ORIGIN}/a")
    assert not rules.unreachable


def real_files() -> list[tuple[str, bytes]]:
    with tarfile.open(REAL) as archive:
        return [
            (member.name, opened.read())
            for member in archive
            if (opened := archive.extractfile(member)) is not None
        ]


def questions(rules: list[tuple[str, str]], chance: np.random.Generator) -> set[str]:
    """Paths at, beyond and short of some of the rules."""
    paths = {"/", "/a/b.html?c=d"}
    for place in chance.integers(len(rules), size=3) if rules else ():
        filler = str(chance.choice(["", "x", "/y/", "%20"]))
        written = rules[place][1].removesuffix("$").replace("*", filler)
        octets = written.encode("utf-8", "surrogateescape")
        path = quote(octets, safe="/%:?@!$&'()*+,;=~[]")
        if path.startswith("/"):
            paths |= {path, path + "x", path[:-1] + "/"}
    return paths


def test_real_files_against_a_plain_reading() -> None:
    chance = np.random.default_rng(9309)
    files = real_files()
    assert len(files) == 4_231
    asked = 0
    for name, body in files:
        agent = "headgate" if asked % 2 else "googlebot"
        rules = RobotsRules.parse(body, agent)
        plain = oracle.our_rules(body, agent)[:100]
        if len(plain) == 100:
            continue
        for path in questions(plain, chance):
            asked += 1
            assert rules.allows(ORIGIN + path) == oracle.allowed(plain, path), (name, agent, path)
    assert asked > 20_000


PATHS = st.lists(
    st.sampled_from(
        ["/", "a", "b", "*", "$", "%", "%2A", "%61", "%2f", "%3F", "%25", "?", "ü", ".", "aa"]
    ),
    max_size=8,
).map("".join)
RULES = st.lists(st.tuples(st.sampled_from(["allow", "disallow"]), PATHS), max_size=8)


@given(RULES, PATHS)
@example([("disallow", "/a*b*$"), ("allow", "/ab")], "ab")
def test_made_up_rules_against_a_plain_reading(rules: list[tuple[str, str]], tail: str) -> None:
    body = "user-agent: *\n" + "\n".join(f"{field}: {path}" for field, path in rules)
    path = "/" + quote(tail, safe="/%?*$")
    asked = RobotsRules.parse(body.encode()).allows(ORIGIN + path)
    assert asked == oracle.allowed(rules, path)


FIELDS = ["user-agent:", "allow:", "disallow:", "crawl-delay:", "sitemap:", "#", "noindex:"]
VALUES = [" *", " headgate", " other", " /", " /a", " 1", ""]
LINES = st.tuples(st.sampled_from(FIELDS), st.sampled_from(VALUES)).map("".join)


@given(st.lists(LINES), st.sampled_from(["\n", "\r", "\r\n", "\n\n"]))
def test_made_up_groups_against_a_plain_reading(lines: list[str], ending: str) -> None:
    body = ending.join(lines).encode()
    rules = oracle.our_rules(body, "headgate")
    for path in ("/", "/a", "/b"):
        assert RobotsRules.parse(body).allows(ORIGIN + path) == oracle.allowed(rules, path)


@given(st.binary(), st.text())
def test_any_bytes_do(body: bytes, agent: str) -> None:
    RobotsRules.parse(body, agent).allows(f"{ORIGIN}/a")


LETTERS = string.ascii_lowercase
DEAR = {
    "many pieces": ["/" + "*a" * (80 + k % 50) + f"*z{k}" for k in range(2_600)],
    "one long rule": ["/" + "*a" * 9_000, "/*" * 20_000, "/a" * 20_000],
    "one piece": [f"/*a{k:05}" for k in range(26_000)],
    "two pieces": [f"/*a*b{k:05}" for k in range(23_000)],
    "late mismatch": ["/*" + "a" * k + "b" + "a" * (900 - k) for k in range(500)],
    "orders": ["/*" + "*".join(word) + "$" for word in islice(permutations(LETTERS, 5), 23_000)],
    "beginnings": ["/" + "a" * k for k in range(900)],
    "no pieces": ["/" + "*" * k + "$" for k in range(900)],
}
LONG_PATHS = ["a" * 2_000, "a" * 60_000, "a" * 1_000 + "b" + "a" * 900, LETTERS * 76 + "-", "a"]


@pytest.mark.parametrize("rules", DEAR.values(), ids=DEAR)
def test_rules_made_to_be_dear(rules: list[str]) -> None:
    """Half a megabyte of them took a fifth of a second for a path of 2 KB, five for 60 KB. These
    take some milliseconds; the bounds are for the slowest of machines."""
    body = "\n".join(["user-agent: *", *(f"disallow: {rule}" for rule in rules)]).encode()
    start = time.process_time()
    parsed = RobotsRules.parse(body[:MOST_BYTES])
    assert time.process_time() - start < 10
    for path in LONG_PATHS:
        start = time.process_time()
        parsed.allows(f"{ORIGIN}/{path}")
        assert time.process_time() - start < 0.1


def test_a_path_that_takes_too_long_to_judge_may_not_be_fetched() -> None:
    rules = RobotsRules.parse(
        "\n".join(["user-agent: *", *(f"disallow: {rule}" for rule in DEAR["orders"])]).encode()
    )
    assert not rules.allows(f"{ORIGIN}/{LETTERS}-")
    assert rules.allows(f"{ORIGIN}/12345")


def test_many_rules_of_one_kind_are_told_apart() -> None:
    lines = [f"disallow: /*product-{k}-details" for k in range(15_000)]
    rules = RobotsRules.parse("\n".join(["user-agent: *", *lines]).encode())
    for k in range(0, 20_000, 999):
        assert rules.allows(f"{ORIGIN}/shop/product-{k}-details") is (k >= 15_000)
    assert rules.allows(f"{ORIGIN}/shop/product-x-details/product-")
