"""What is remembered of late links makes the filter quicker and changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.frontier import url_filter
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_filter import UrlFilter
from headgate.model.left_out import Reason

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


def _filter() -> UrlFilter:
    return UrlFilter(Scope(["http://a.org/"], exclude=["old"]), TrapRules(2026))


@given(pages, st.integers(0, 4))
def test_links_are_judged_as_by_a_gate_without_memory(pages: list[list[str]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_filter, "_MOST_LATELY", most)
        quick, plain = _filter(), _filter()
        for links in pages:
            plain._lately.clear()
            assert quick.links(links) == plain.links(links)
    forgetful, exact = plain.refused.counts, quick.refused.counts
    assert exact.pop(Reason.OTHER_HOST, 0) <= forgetful.pop(Reason.OTHER_HOST, 0)
    assert exact == forgetful
    assert len(quick.seen) == len(plain.seen)


def test_links_to_a_host_that_joins_the_site_later_are_judged_anew() -> None:
    gate = UrlFilter(Scope(["http://a.org/"]), TrapRules(2026))
    assert gate.links(["http://b.org/x"]) == []
    assert gate.redirect("http://b.org/", depth=0) == ["http://b.org/"]
    assert gate.links(["http://b.org/x"]) == ["http://b.org/x"]
