"""What a page says, and what it says about its links."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.reading.page_text import page_text, page_words


def test_text_is_what_readers_see() -> None:
    page = (
        "<title>T</title><script>no()</script><style>no{}</style><!-- no --><TEMPLATE>no</TEMPLATE>"
        "<p>one<b>two</b>&lt;three&gt;<td>four"
    )
    assert page_text(page).split() == ["T", "one", "two", "<three>", "four"]


def test_each_link_has_its_anchors_and_what_stands_around() -> None:
    page = (
        "<p class=x>All about eggs: <a href='/eggs#top'>first <i>guide</i></a> and milk"
        "<p><a title=y href=/eggs>second</a><a href=#here>here</a><a name=z>no link</a>"
    )
    _, links = page_words(page, "http://a.org/b/")
    assert links["http://a.org/eggs"][0] == "first guide second"
    assert links["http://a.org/eggs"][1].startswith("All about eggs: and milk")
    assert list(links) == ["http://a.org/eggs"]


def test_a_cut_through_a_tag_leaves_no_half_of_it() -> None:
    page = f"<p class='{'x' * 400}'>near <a href=y>y</a>"
    assert page_words(page, "http://a/")[1]["http://a/y"][1] == "near"


@given(st.text(alphabet="<>a/ =\"'!-scriptyle&;#\n", max_size=300))
def test_any_text_can_be_read(page: str) -> None:
    text, links = page_words(page, "http://a/")
    assert text == page_text(page)
    assert all(url.startswith("http") for url in links)


@pytest.mark.parametrize(
    "part", ["<a href=x>", "<script>", "<!--", "<", "<a ", "</", "&lt", "<style"]
)
def test_time_grows_with_the_length_only(part: str) -> None:
    """A quadratic pass over this would take minutes."""
    began = time.process_time()
    page_words(part * (500_000 // len(part)), "http://a/")
    assert time.process_time() - began < 10
