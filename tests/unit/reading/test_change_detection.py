"""What of a page counts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.changes.difference import line_difference
from headgate.reading.change_detection import EXACT, Noise, counted_digest, text_lines

NOISE = Noise.from_rules(["Offer .*", "css:.clock"])

pieces = st.lists(
    st.sampled_from(
        ["<p>", "<div>", "</div>", "a", "b ", "12 views", "7:30", "2026-11-17", "Offer of shoes",
         "<i class=clock>9</i>", "<i>9</i>", "5 EUR", "<br>", "&amp;", "c" * 20 + "1", "\n"]
    ),
    max_size=12,
)  # fmt: skip


@given(pieces, pieces)
def test_digests_are_the_same_where_there_is_no_difference(old: list[str], new: list[str]) -> None:
    bodies = ["".join(parts).encode() for parts in (old, new)]
    for noise in (NOISE, EXACT):
        lines = [text_lines(body, "text/html", noise) or [] for body in bodies]
        same = counted_digest(bodies[0], "", noise) == counted_digest(bodies[1], "", noise)
        if all(lines):
            assert same == (line_difference(lines[0], lines[1], noise) == [])
        elif not any(lines):
            assert same == (bodies[0] == bodies[1])


@pytest.mark.parametrize(
    ("kind", "old", "new", "same"),
    [
        ("text/html", b"<p class=a>x", b"<div class=b>x</div>", True),
        ("text/html", b"<i class=clock>9:00 h</i>x", b"<i class=clock>later</i>x", True),
        ("text/plain", b"x\n\ny 3 views", b"x\ny 4 views", True),
        ("text/plain", b"<i class=clock>1</i>", b"<i class=clock>2</i>", False),
        ("application/json", b'{"at": "2026-11-16"}', b'{"at": "2026-11-17"}', True),
        ("application/json", b'{"n": 1}', b'{"n": 2}', False),
        ("application/pdf", b"x 3 views", b"x 4 views", False),
        ("image/png", b"\x89PNG", b"\x89PNG", True),
    ],
)
def test_kinds_of_content(kind: str, old: bytes, new: bytes, *, same: bool) -> None:
    assert (counted_digest(old, kind, NOISE) == counted_digest(new, kind, NOISE)) == same


@pytest.mark.parametrize("piece", [b"1,1.", b"1", b"a1-", b"Mon ", b"12 ", b"views: ", b"<p>1 "])
def test_time_grows_with_the_page_and_no_faster(piece: bytes) -> None:
    def seconds(times: int) -> float:
        start = time.process_time()
        counted_digest(piece * times, "text/html", NOISE)
        return time.process_time() - start

    few, many = min(seconds(10_000) for _ in range(3)), seconds(100_000)
    assert many < 40 * max(few, 0.005)


def test_a_users_pattern_may_set_flags_and_name_groups_of_its_own() -> None:
    noise = Noise.from_rules([r"(?s)(?P<what>\w+) and (?P<more>\w+)", r"(?P<what>x)+"])
    assert noise.without("tea and tea xx y") == "y"
