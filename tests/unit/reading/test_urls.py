"""URLs against WHATWG's own cases, and the properties that the normal form promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.reading import urls
from headgate.reading.urls import MAX_LENGTH, UrlJoiner, host, join, normalise, origin, resolve

DATA = Path(__file__).parents[2] / "data" / "wpt-url" / "urltestdata.json"
CASES: list[dict[str, Any]] = [
    case for case in json.loads(DATA.read_text(encoding="utf-8")) if not isinstance(case, str)
]


def test_all_cases_are_there() -> None:
    assert len(CASES) == 891


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_whatwg(case: dict[str, Any]) -> None:
    expected = None if case.get("failure") else case["href"]
    assert resolve(case["input"], case["base"]) == expected


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_join_is_whatwg_plus_the_normal_form(case: dict[str, Any]) -> None:
    expected = None if case.get("failure") else case["href"]
    base = case["base"] or "about:blank"
    assert join(base, case["input"]) == urls._normal(expected)


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("HTTP://EXAMPLE.org", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org/a/./b/../c/%2e%2E/d", "http://example.org/a/d"),
        ("http://example.org/a#b", "http://example.org/a"),
        ("http://example.org/#", "http://example.org/"),
        ("http://example.org/?", "http://example.org/?"),
        ("http://example.org/a?b=2&a=1&&c", "http://example.org/a?b=2&a=1&&c"),
        ("http://example.org/%7Euser/%e4%2f", "http://example.org/~user/%E4%2F"),
        ("http://example.org/?q=%41%2b+%c3", "http://example.org/?q=A%2B+%C3"),
        ("http://example.org/ä b", "http://example.org/%C3%A4%20b"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://example.org\\a\\b", "http://example.org/a/b"),
        ("  http://example.org/a\n/b ", "http://example.org/a/b"),
        ("http://example.org/100%", "http://example.org/100%"),
        ("http://example.org/100%/%7e", "http://example.org/100%/%7E"),
        ("http://example.org/%%34%31", "http://example.org/%%34%31"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:1.2.3.4]:80/", "http://[::ffff:102:304]/"),
        ("http://example.org/a;b=c/@d", "http://example.org/a;b=c/@d"),
        ("http://example.org/index.html/", "http://example.org/index.html/"),
        ("https://user:pw@example.org/", "https://example.org/"),
        ("http://u1@example.org:8080/@a?b@c#d@e", "http://example.org:8080/@a?b@c"),
        ("http://a@b@example.org", "http://example.org/"),
        ("http://:@[::1]:81/", "http://[::1]:81/"),
        ("http:\\\\u@example.org\\a", "http://example.org/a"),
        ("http://example.org/\ud800", "http://example.org/%EF%BF%BD"),
    ],
)
def test_normal_form(url: str, normal: str) -> None:
    assert normalise(url) == normal


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a/b",
        "//example.org/",
        "mailto:a@example.org",
        "javascript:void(0)",
        "data:text/html,x",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http://a b/",
        "http://example.org:99999/",
        "http://[::1",
        "http://1.2.3.4.5.256/",
    ],
)
def test_has_no_normal_form(url: str) -> None:
    assert normalise(url) is None


@pytest.mark.parametrize(
    ("ref", "url"),
    [
        ("", "http://example.org/a/b?c"),
        ("#top", "http://example.org/a/b?c"),
        ("?d", "http://example.org/a/b?d"),
        ("d.html", "http://example.org/a/d.html"),
        ("./d.html", "http://example.org/a/d.html"),
        ("../d.html#x", "http://example.org/d.html"),
        ("../../../d", "http://example.org/d"),
        ("/", "http://example.org/"),
        ("/d?e", "http://example.org/d?e"),
        ("//other.example/d", "http://other.example/d"),
        ("https://other.example", "https://other.example/"),
        ("https:d", "https://d/"),
        ("http:d", "http://example.org/a/d"),
        ("a:b", None),
        ("d #e", "http://example.org/a/d%20"),
        (" d ", "http://example.org/a/d"),
        ("..", "http://example.org/"),
        (".", "http://example.org/a/"),
    ],
)
def test_join(ref: str, url: str | None) -> None:
    assert join("http://example.org/a/b?c#f", ref) == url


def test_length_is_bounded() -> None:
    longest = "http://example.org/".ljust(MAX_LENGTH, "a")
    assert normalise(longest) == longest
    assert normalise(longest + "a") is None
    assert join("http://example.org/", "a" * MAX_LENGTH) is None
    assert join("http://example.org/", "data:" + "a" * 10_000_000) is None


def test_query_is_written_in_the_codec_of_the_page() -> None:
    resolver = UrlJoiner("http://example.org/", "windows-1251")
    assert resolver.join("/я?я") == "http://example.org/%D1%8F?%FF"
    assert resolver.join("?☃") == "http://example.org/?%26%239731%3B"
    assert UrlJoiner("http://example.org/").join("?я") == "http://example.org/?%D1%8F"


def test_join_all_keeps_order_and_drops_repeats() -> None:
    resolver = UrlJoiner("http://example.org/a")
    assert resolver.join_all(["b#1", "mailto:x", "b#2", "/c", "http://example.org/b", "#"]) == [
        "http://example.org/b",
        "http://example.org/c",
        "http://example.org/a",
    ]


def test_no_reference_leads_to_a_user() -> None:
    """Whatever a page writes, and wherever it seems to be."""
    for base in ("http://u@example.org/a/b", "http://example.org/"):
        joiner = UrlJoiner(base)
        refs = ["c", "/c", "?c", "", "//v@h.org/", "http://w@h.org", "http:x@h.org/", "./d"]
        joined = joiner.join_each(refs)
        assert [url for url in joined if url is None or "@" in origin(url + "/")] == []
        assert {host(url) for url in joined if url} <= {"example.org", "h.org"}
        assert not any("u@" in url or "v@" in url or "w@" in url for url in joined if url)


def test_base_that_is_no_url_still_joins_absolute_ones() -> None:
    assert join("nonsense", "http://example.org/a%7e") == "http://example.org/a~"
    assert join("nonsense", "a") is None


def test_origin_and_host() -> None:
    assert origin("http://example.org/a://b") == "http://example.org"
    assert origin("http://u:p@example.org:81/") == "http://example.org:81"
    assert origin("http://example.org/@b") == "http://example.org"
    assert host("http://u:p@example.org:81/") == "example.org"
    assert host("http://[2001:db8::1]:81/a") == "[2001:db8::1]"


PIECES = ["/", "//", "\\", ":", "@", "?", "#", "&", "^", "|", "[", "'", "(", " ", "\t", "ä", "~;="]
PIECES += [".", "..", "./", "../", "%", "%2e", "%7E", "%20", "%C3%A4", "%c3", "%2", "%41"]
PIECES += [
    "a",
    "B",
    "0",
    "1.2",
    "0x1",
    "xn--",
    "xn--bcher-kva",
    "h-o.st",
    "x.y",
    "http:",
    "https://",
]
pieces = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
references = st.one_of(st.text(max_size=40), pieces, pieces.map(lambda tail: f"http://{tail}"))
bases = st.one_of(
    st.sampled_from(
        [
            "http://example.org/a/b/c?d",
            "https://example.org:8443//a//b/",
            "http://u:p@example.org",
            "http://example.org/a%7e/b",
            "about:blank",
        ]
    ),
    references,
)


@given(bases, references)
@example("http://example.org", "http://1.a-1/")
@example("http://example.org/a/b", "./../c")
@example("http://example.org/a//b", "../")
def test_shortcuts_join_as_ada_does(base: str, ref: str) -> None:
    absolute = resolve(base)
    plain = urls._normal(resolve(ref) if absolute is None else resolve(ref, absolute))
    assert join(base, ref) == plain


@given(st.lists(st.tuples(bases, st.lists(references, max_size=4)), max_size=4))
@example([("http://h/a/", ["//b/c"]), ("http://h/a%7e/", ["http://h//b/c"]), ("http://h/", ["/b"])])
def test_what_is_remembered_of_other_pages_changes_nothing(
    pages: list[tuple[str, list[str]]],
) -> None:
    for base, refs in pages:
        for page in (base, urls._folder(base) + "another;page?q"):
            resolver = UrlJoiner(page)
            wanted = [resolver.join(ref) for ref in refs]
            assert resolver.join_each(refs) == wanted
            assert resolver.join_each(refs) == wanted


@pytest.mark.parametrize("ref", ["", "?q", "#f", " ?q", "http:?q", "\t", "http:"])
def test_what_means_the_page_itself_is_not_remembered(ref: str) -> None:
    first, second = UrlJoiner("http://example.org/a/1"), UrlJoiner("http://example.org/a/2")
    first.join_each([ref])
    assert second.join_each([ref]) == [second.join(ref)]


def test_what_a_folder_has_in_common_is_remembered() -> None:
    UrlJoiner("http://example.org/a/1").join_each(["../b", "c?d", "/e"])
    known = UrlJoiner("http://example.org/a/2")
    assert known._here is not None
    assert known._anywhere is not None
    assert {"../b", "c?d"} <= known._here.keys()
    assert "/e" in known._anywhere


@pytest.mark.parametrize("base", ["http://example.org/", "http://example.org/{}/"])
def test_memory_of_joins_is_bounded(base: str) -> None:
    for number in range(urls._MOST_KNOWN + 10):
        UrlJoiner(base.format(number)).join_each([f"/{number}"])
        if number % 1000 < 10:
            assert sum(map(len, urls._known._places.values())) <= urls._MOST_KNOWN
            assert len(urls._known._places) <= urls._MOST_KNOWN


@given(references)
@example("http://example.org/%%34%31")
def test_normal_form_is_stable(text: str) -> None:
    normal = normalise(text)
    assert normal is None or normalise(normal) == normal


@given(bases, references)
def test_joined_urls_are_in_normal_form(base: str, ref: str) -> None:
    url = join(base, ref)
    if url is not None:
        assert normalise(url) == url
        assert host(origin(url)) == host(url)
        assert normalise(origin(url)) == f"{origin(url)}/"


@given(references, st.sampled_from(["utf-8", "shift_jis", "iso2022_jp", "no-such-codec"]))
def test_any_codec_does(ref: str, codec: str) -> None:
    UrlJoiner("http://example.org/", codec).join(ref)
