"""The keys of `[grid]`, and errors about them."""

from __future__ import annotations

import pytest

from headgate.model.errors import UserMistake
from headgate.site_file.keys import read_reference
from headgate.site_file.parsing import parse_grid


def test_a_reference_is_a_url() -> None:
    assert read_reference("https://example.org/page?x=1") == "https://example.org/page?x=1"


@pytest.mark.parametrize("value", ["", "example.org", "ftp://example.org/", "https:///x", 7, None])
def test_anything_else_is_told_how_to_write_one(value: object) -> None:
    with pytest.raises(UserMistake, match="write one like"):
        read_reference(value)


def test_an_error_names_the_table_and_the_key() -> None:
    with pytest.raises(UserMistake, match=r"^sites\.toml:2: \[grid\] lease: "):
        parse_grid('[grid]\nlease = "1s"', "sites.toml")
