"""Words to crawlers, in metas and headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.reading.robots import ALL_ALLOWED, Directives, meta_directives, x_robots_tag

BOTH = Directives(index=False, follow=False)
NO_INDEX = Directives(index=False)
NO_FOLLOW = Directives(follow=False)


@pytest.mark.parametrize(
    ("content", "directives"),
    [
        ("", ALL_ALLOWED),
        ("all", ALL_ALLOWED),
        ("index, follow", ALL_ALLOWED),
        ("noindex", NO_INDEX),
        ("NOINDEX,NoFollow", BOTH),
        ("noarchive nofollow", NO_FOLLOW),
        ("none", BOTH),
        ("index, noindex", NO_INDEX),
        ("nofollowing", ALL_ALLOWED),
    ],
)
def test_meta(content: str, directives: Directives) -> None:
    assert meta_directives(content) == directives


@pytest.mark.parametrize(
    ("values", "directives"),
    [
        ([], ALL_ALLOWED),
        (["noindex"], NO_INDEX),
        (["noindex, nofollow"], BOTH),
        (["noindex", "nofollow"], BOTH),
        (["otherbot: noindex"], ALL_ALLOWED),
        (["Headgate: noindex"], NO_INDEX),
        (["otherbot: noindex, nofollow"], ALL_ALLOWED),
        (["otherbot: noindex", "nofollow"], NO_FOLLOW),
        (["otherbot: noindex, headgate: nofollow"], NO_FOLLOW),
        (["noindex, otherbot: nofollow"], NO_INDEX),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], NO_INDEX),
        (["max-snippet:-1, max-image-preview:large, nofollow"], NO_FOLLOW),
        (["headgate : none"], BOTH),
        (["::,:,"], ALL_ALLOWED),
    ],
)
def test_header(values: list[str], directives: Directives) -> None:
    assert x_robots_tag(values, "headgate") == directives


def test_the_strictest_wins() -> None:
    assert NO_INDEX & NO_FOLLOW == BOTH
    assert ALL_ALLOWED & NO_INDEX == NO_INDEX


@given(st.lists(st.text()))
def test_any_text_does(values: list[str]) -> None:
    x_robots_tag(values, "headgate")
