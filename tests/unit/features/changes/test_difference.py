from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.changes.difference import line_difference
from headgate.model.errors import UserMistake
from headgate.reading.change_detection import EXACT, Noise
from headgate.reading.page_text import page_lines

USUAL = Noise.from_rules()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Updated 2026-11-15 18:30 UTC", "Updated 2026-11-16 09:05 UTC"),
        ("Sunday, 15 November 2026", "Monday, 16 November 2026"),
        ("Nov 15, 2026, 6:30 pm", "Nov 16, 2026, 9:05 am"),
        ("posted 3 hours ago", "posted an hour ago"),
        ("1,204 views", "1,377 views"),
        ("Visitors today: 12", "Visitors today: 9"),
        ("session 9f86d081884c7d659a2feaa0", "session c55ad015a3bf4f1b2b0b822c"),
        ("15.11.2026", "16.11.26"),
    ],
)
def test_noise_is_no_change(old: str, new: str) -> None:
    assert line_difference([old], [new], USUAL) == []
    assert line_difference([old], [new], EXACT) == [f"- {old}", f"+ {new}"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("5.00 EUR", "6.00 EUR"),
        ("Version 1.2", "Version 1.3"),
        ("Paragraph 7", "Paragraph 8"),
        ("a-long-word-of-letters-only", "another-word-of-letters-only"),
    ],
)
def test_other_numbers_and_words_are_changes(old: str, new: str) -> None:
    assert line_difference([old], [new], USUAL) == [f"- {old}", f"+ {new}"]


def test_a_line_of_noise_that_comes_is_no_change() -> None:
    assert line_difference(["a"], ["a", "3 hours ago"], USUAL) == []


lines = st.lists(st.sampled_from(["a", "b", "c", "d", "12 views"]), max_size=12)


@given(lines, lines)
def test_the_difference_makes_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    found = line_difference(old, new, EXACT)
    went = sorted(line[2:] for line in found if line.startswith("- "))
    came = sorted(line[2:] for line in found if line.startswith("+ "))
    assert sorted([*old, *came]) == sorted([*new, *went])
    assert bool(found) == (old != new)


def test_patterns_of_the_users_own() -> None:
    noise = Noise.from_rules([r"Offer: .*"])
    assert line_difference(["Offer: shoes"], ["Offer: hats"], noise) == []
    with pytest.raises(UserMistake, match="is not a regular expression"):
        Noise.from_rules(["("])


def test_long_texts_take_no_longer_than_their_length_asks_for() -> None:
    old = [f"{n % 7} x" for n in range(20_000)]
    new = [f"{n % 5} x" for n in range(20_000)]
    before = time.process_time()
    assert line_difference(old, new, EXACT)
    assert time.process_time() - before < 5


def test_lines_are_those_a_reader_sees() -> None:
    page = "<h1>A</h1><!-- x --><script>1</script><ul><li>one<li>two</ul>te<b>xt</b><br>end"
    assert page_lines(page) == ["A", "one", "two", "te xt", "end"]
