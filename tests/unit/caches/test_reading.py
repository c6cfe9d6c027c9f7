"""What readers remember: each thing a value depends on is varied, with the others fixed; and a
stranger's text, however long, is not kept."""

from __future__ import annotations

import itertools

import pytest

from headgate.focus import topic
from headgate.focus.topic import Topic, known_language
from headgate.reading import http_head, links, sitemaps, tags, urls
from headgate.reading.change_detection import Noise, noise_of
from headgate.reading.http_head import read_head
from headgate.reading.links import page_links
from headgate.reading.sitemaps import parse_date
from headgate.reading.tags import attributes, start_tags
from headgate.reading.urls import UrlJoiner

REFS = ["x", "./x", "../x", "/x", "//h.org/x", "http://h.org/x", "x?é", "x y", "?q", "", "x%7e"]
BASES = [
    f"{origin}{folder}{page}"
    for origin in ("http://a.org", "https://a.org", "http://a.org:81", "http://b.org")
    for folder in ("/", "/x/", "/x/y/")
    for page in ("", "p", "p?q")
]


def test_a_reference_means_the_same_whatever_was_joined_before() -> None:
    """Of every scheme, host, port, folder, page and charset, in every order of two of them."""
    alone = {}
    for base, codec in itertools.product(BASES, ("utf-8", "latin-1")):
        urls._known.clear()
        alone[base, codec] = UrlJoiner(base, codec).join_each(REFS)
    for first, second in itertools.permutations(alone, 2):
        urls._known.clear()
        UrlJoiner(*first).join_each(REFS)
        assert UrlJoiner(*second).join_each(REFS) == alone[second], (first, second)


def test_known_references_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "_MOST_KNOWN", 50)
    urls._known.clear()
    for number in range(40):
        joiner = UrlJoiner(f"http://a.org/{number}/")
        joiner.join_each([f"{ref}{number}" for ref in ("x", "/y", '"' * 199)])
        held = [*urls._known._places.values()]
        assert len(held) + sum(map(len, held)) <= 52
        assert all(
            len(ref) < 200 and len(url) < 400 for place in held for ref, url in place.items()
        )
    before = len(urls._known._places)
    UrlJoiner("http://a.org/" + "long/" * 60).join_each(REFS)
    assert len(urls._known._places) == before
    urls._known.clear()


def test_prefixes_and_normal_folders_go_by_the_folder_alone() -> None:
    folders = [
        "http://a.org/",
        "http://a.org/x/",
        "https://a.org/",
        "http://A.org/",
        "http://a/%7e/",
    ]
    for folder in folders * 2:
        assert urls._known_prefixes(folder) == urls._prefixes(folder)
        assert urls._is_known_normal(folder) == urls._is_normal_folder(folder)
    sizes = [urls._known_prefixes.cache_info(), urls._is_known_normal.cache_info()]
    UrlJoiner("http://a.org/" + "long/" * 60)
    assert [urls._known_prefixes.cache_info(), urls._is_known_normal.cache_info()] == sizes
    assert [info.maxsize for info in sizes] == [1024, 1024]


def test_lines_of_heads_go_by_the_line_alone() -> None:
    """The same line is a field, a continuation or a status line by its place."""
    head = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    for raw, status, fields in (
        (head, 200, (("a", "b"),)),
        (head.replace(b"200", b"404"), 404, (("a", "b"),)),
        (head.replace(b"A: b", b"A: c"), 200, (("a", "c"),)),
        (head.replace(b"A: b", b"X: y\r\n A: b"), 200, (("x", "y A: b"),)),
        (head.replace(b"A: b", b"HTTP/1.1 200 OK: x"), 200, (("http/1.1 200 ok", "x"),)),
    ) * 2:
        found = read_head(raw)
        assert found is not None
        assert (found.status, found.fields) == (status, fields)
    http10 = read_head(head.replace(b"1.1", b"1.0"))
    assert http10 is not None
    assert not http10.persistent


def test_lines_of_heads_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_head, "_MOST_KNOWN", 20)
    for number in range(100):
        read_head(b"HTTP/1.1 200 %d\r\nX-%d: y\r\nX: %s\r\n\r\n" % (number, number, b"y" * 300))
        assert len(http_head._known) <= 20
        assert len(http_head._known_status) <= 20
    assert max(map(len, http_head._known)) < 256


def test_attributes_go_by_their_text_alone() -> None:
    for text, found in (
        (" a=1", {"a": "1"}),
        (" A='1'", {"a": "1"}),
        (" a=1 a=2", {"a": "1"}),
        (" a=&amp;", {"a": "&"}),
    ) * 2:
        assert attributes(text) == found
    known = tags._remembered_attributes.cache_info()
    assert attributes(f" a={'x' * 500}") == {"a": "x" * 500}
    assert tags._remembered_attributes.cache_info() == known
    assert known.maxsize == 4_096


def test_a_pattern_of_tags_goes_by_their_names_and_there_are_few() -> None:
    tags._pattern.cache_clear()  # of readers that other tests made up
    page = "<title>T</title><a href=x><img src=y>"
    for names, found in (
        (frozenset({"a", "title"}), 2),
        (frozenset({"a", "title", "img"}), 3),
    ) * 2:
        assert sum(match.lastindex is not None for match in start_tags(page, names)) == found
    page_links(page.encode(), "http://a.org/")
    assert tags._pattern.cache_info().currsize < 10, "one for each reader of tags"


def test_words_of_a_relation_go_by_its_text_alone_and_are_cut() -> None:
    for rel, nofollow in (("nofollow", True), ("NOFOLLOW x", True), ("no follow", False)) * 2:
        page = page_links(f"<a href=/x rel='{rel}'>x</a>".encode(), "http://a.org/")
        assert bool(page.nofollow) == nofollow
    page_links(f"<a href=/x rel='{'x' * 10_000}'>x</a>".encode(), "http://a.org/")
    assert links._split.cache_info().maxsize == 256
    assert len(next(iter(links._words("x" * 10_000)))) == links._LONGEST_WORDS


def test_a_date_goes_by_its_text_alone_and_long_ones_are_not_kept() -> None:
    texts = [
        "2026-11-15",
        "2026-11-15T00:00:00+01:00",
        "2026-11-15T00:00:00Z",
        "2026-11",
        "no date",
    ]
    first = [parse_date(text) for text in texts]
    assert [parse_date(text) for text in texts] == first
    assert len(set(first)) == 4
    known = sitemaps._parse_date.cache_info()
    assert parse_date("2026-11-15" + " " * 1_000) is None
    assert sitemaps._parse_date.cache_info() == known
    assert known.maxsize == 1_024


def test_noise_goes_by_the_users_rules() -> None:
    for rules, left in (((), "Offer 12"), (("offer \\d+",), ""), (("offer",), "12")) * 2:
        assert noise_of(rules).without("Offer 12") == left
        assert noise_of(rules) == Noise.from_rules(rules)
    assert noise_of.cache_info().maxsize == 1_000


def test_a_language_goes_by_its_code_and_long_ones_are_cut() -> None:
    for told, known in (("de", "de"), (" DE-at", "de"), ("xx", "en"), ("", "en"), ("é", "en")) * 2:
        assert known_language(told) == known
    codes = topic._known_code.cache_info()
    assert known_language("de" + "x" * 10_000) == "de"
    assert topic._known_code.cache_info().currsize == codes.currsize
    assert (codes.maxsize, topic._stemmer.cache_info().maxsize) == (64, 64)


def test_a_stemmer_goes_by_the_language() -> None:
    for language, stemmed in (("en", "hous"), ("de", "haus"), ("en", "hous")):
        word = "houses" if language == "en" else "häuser"
        assert topic.stem(word, language) == stemmed


def test_stems_of_a_scrap_go_by_topic_language_and_text() -> None:
    houses, boats = Topic("houses"), Topic("boats")
    for made, text, language, match in (
        (houses, "housing", "en", 1.0),
        (houses, "housing", "de", 0.0),
        (boats, "housing", "en", 0.0),
        (houses, "boating", "en", 0.0),
        (boats, "boating", "en", 1.0),
    ) * 2:
        assert made.match(text, language) == match
        made.relevance(f"{text} {text}", language)  # the page is learned from
    assert houses._scrap_stems.cache_info().maxsize == 8_192
    assert houses.match("x" * 2_000 + " house") == 0.0, "cut"


def test_words_of_a_topic_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Topic("houses")
    monkeypatch.setattr(made._languages["en"], "_remembered", 10)
    for number in range(50):
        assert made.relevance(f"houses word{number} {'x' * 1_000}") > 0
    forms = made._languages["en"]._forms
    assert len(forms) <= 10
    assert max(map(len, forms)) <= 40
    assert made.relevance("house " * 3 + "x" * 50) > 0


def test_a_letter_in_a_query_goes_by_letter_and_charset() -> None:
    for codec in ("latin-1", "cp932", "gbk", "cp1252", "latin-1"):
        for char in ("é", "表", "№", "é"):
            own = urls._escaped.__wrapped__(char, codec)
            assert urls._escaped(char, codec) == own
    assert urls._escaped("é", "latin-1") != urls._escaped("é", "gbk")
    assert urls._ibm_rows() == urls._ibm_rows.__wrapped__()
    assert urls._escaped.cache_info().maxsize == 4_096
