"""Argument types: what is refused."""

from __future__ import annotations

import argparse

import pytest

from headgate.cli.arguments import at_least_one


def test_counts() -> None:
    assert [at_least_one("1"), at_least_one("999999999")] == [1, 999_999_999]


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "\u0663", "1234567890123", "9" * 5000])
def test_what_is_no_count_is_refused_and_not_cut(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number from 1"):
        at_least_one(text)
