"""What `[grid]` may say, and what it is told where it says something else."""

from __future__ import annotations

import pytest

from headgate.model.errors import UserMistake
from headgate.site_file.grid_values import read_reference


def test_a_reference_is_a_url() -> None:
    assert read_reference("https://example.org/page?x=1") == "https://example.org/page?x=1"


@pytest.mark.parametrize("value", ["", "example.org", "ftp://example.org/", "https:///x", 7, None])
def test_anything_else_is_told_how_to_write_one(value: object) -> None:
    with pytest.raises(UserMistake, match="write one like"):
        read_reference(value)
