"""URLseen and Pageseen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.frontier.page_seen import PageSeen
from headgate.frontier.seen import UrlSeen, url_hashes

_urls = st.integers(0, 500).map(lambda k: f"http://a.org/{k}")


@given(st.lists(st.lists(_urls, max_size=30)))
def test_a_url_is_met_for_the_first_time_once(pages: list[list[str]]) -> None:
    seen = UrlSeen()
    known: dict[str, None] = {}
    for links in pages:
        expected = [url for url in dict.fromkeys(links) if url not in known]
        assert seen.meet(links) == expected
        known.update(dict.fromkeys(links))
    assert len(seen) == len(known)
    assert all(url in seen for url in known)
    assert "http://a.org/never" not in seen


@given(st.lists(_urls))
def test_a_filled_set_has_met_what_it_was_filled_with(urls: list[str]) -> None:
    seen = UrlSeen()
    seen.fill(url_hashes(iter(urls)))
    seen.check()
    assert seen.meet(urls) == []


def test_hashes_of_no_urls() -> None:
    seen = UrlSeen()
    seen.fill(url_hashes([]))
    assert len(seen) == 0


# From 2 on: a digest of zeros, which nobody will meet, stands for that of 1.
@given(st.lists(st.integers(2, 255).map(lambda first: bytes([first]) + b"\0" * 15)))
def test_contents_are_counted_by_digest(digests: list[bytes]) -> None:
    pages = PageSeen()
    for position, digest in enumerate(digests):
        assert pages.meet(digest) == digests[:position].count(digest)
    assert len(pages) == len(set(digests))
