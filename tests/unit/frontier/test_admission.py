"""What is remembered of late links makes admission quicker and changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.frontier import admission
from headgate.frontier.admission import Admission
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules

LINKS = [
    "http://a.org/",
    "http://a.org/x",
    "http://a.org/y?PHPSESSID=0f",
    "http://a.org/y?PHPSESSID=1f",
    "http://a.org/y",
    "http://a.org/old/",
    "http://b.org/",
    "http://a.org/b/c/b/c/b/c/",
    "http://a.org/" + "long/" * 60,
]
pages = st.lists(st.lists(st.sampled_from(LINKS), unique=True, max_size=5), max_size=12)


def _admission() -> Admission:
    return Admission(Scope(["http://a.org/"], exclude=["old"]), TrapRules(2026))


@given(pages, st.integers(0, 4))
def test_links_are_judged_as_by_a_gate_without_memory(pages: list[list[str]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission, "_MOST_LATELY", most)
        quick, plain = _admission(), _admission()
        for links in pages:
            plain._lately.clear()
            assert quick.links(links) == plain.links(links)
    assert quick.refused == plain.refused
    assert len(quick.seen) == len(plain.seen)


def test_links_to_a_host_that_joins_the_site_later_are_judged_anew() -> None:
    gate = Admission(Scope(["http://a.org/"]), TrapRules(2026))
    assert gate.links(["http://b.org/x"]) == []
    assert gate.redirect("http://b.org/", depth=0) == ["http://b.org/"]
    assert gate.links(["http://b.org/x"]) == ["http://b.org/x"]
