"""CSS selectors: what is read, and what is refused with the place."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import UserMistake
from headgate.model.selector import Attribute, Compound, Selector, parse_selectors


def test_everything_that_is_known() -> None:
    text = "DIV#top.ad.big[data-x] > a[href^='http'] b , [ role = \"x y\" ], *"
    assert parse_selectors(text) == (
        Selector(
            (
                Compound(
                    "div",
                    (
                        Attribute("id", "=", "top"),
                        Attribute("class", "~=", "ad"),
                        Attribute("class", "~=", "big"),
                        Attribute("data-x"),
                    ),
                ),
                Compound("a", (Attribute("href", "^=", "http"),)),
                Compound("b"),
            ),
            (False, True, False),
        ),
        Selector((Compound("", (Attribute("role", "=", "x y"),)),), (False,)),
        Selector((Compound(),), (False,)),
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "where it ends"),
        ("   ", "where it ends"),
        ("p:last-child", "at ':last-child'"),
        ("h1 + p", "at '+ p'"),
        ("a >", "where it ends"),
        ("> a", "at '> a'"),
        ("a,,b", "at ',b'"),
        ("[x", "at '[x'"),
        ("a[b=c d]", "at '[b=c d]'"),
        (".", "at '.'"),
        ("a " * 20, "8 steps"),
        ("a" * 600, "500 letters"),
    ],
)
def test_what_is_refused(text: str, where: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_selectors(text)
    assert where in str(caught.value)


@given(st.text(alphabet="ab.#[]=^$*~>, '\"-_") | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(UserMistake):
        assert parse_selectors(text)
