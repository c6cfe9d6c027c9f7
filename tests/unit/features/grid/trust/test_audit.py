"""Honest nodes meet changing pages; who made pages up contradicts whoever fetched them."""

from __future__ import annotations

from headgate.features.grid.trust.audit import Look, compared, disbelieved

GROUPS = {"mine": "", "volunteer": "club", "another": "friends"}


def look(text: str, *, title: str = "t", etag: str = "", status: int = 200) -> Look:
    return Look(status, text.encode(), size=len(text), title=title, etag=etag)


def test_pages_that_change_at_every_request_are_no_lie() -> None:
    first = {f"u{k}": look(f"at {k:04}") for k in range(9)}
    second = {f"u{k}": look(f"at {k + 1:04}") for k in range(9)}
    found = compared(first, second)
    assert (found.pages, len(found.differing), found.contradictions) == (9, 9, [])
    assert not found.is_contradictory


def test_made_up_pages_are() -> None:
    first = {f"u{k}": look("made up", title="mine") for k in range(9)}
    second = {f"u{k}": look("a real page", title="theirs") for k in range(9)}
    assert compared(first, second).is_contradictory


def test_other_bytes_under_one_strong_validator_are() -> None:
    first, second = {"u": look("spoilt", etag='"5"')}, {"u": look("intact", etag='"5"')}
    assert compared(first, second).is_contradictory
    weak = {"u": look("spoilt", etag='W/"5"')}, {"u": look("intact", etag='W/"5"')}
    assert not compared(*weak).is_contradictory


def test_pages_that_are_not_there_for_the_other_are() -> None:
    first = {f"u{k}": look("made up") for k in range(3)}
    second = {f"u{k}": look("", status=404) for k in range(3)}
    assert compared(first, second).is_contradictory


def test_what_the_other_did_not_meet_says_nothing() -> None:
    """Its server may have been away."""
    assert not compared({"u": look("a")}, {}).is_contradictory
    assert not compared({"u": look("a")}, {"u": look("", status=503)}).is_contradictory


def test_some_contradictions_among_many_pages_are_changes() -> None:
    first = {f"u{k}": look("same") for k in range(9)}
    second = first | {"u1": look("new", title="renamed"), "u2": look("", status=404)}
    assert not compared(first, second).is_contradictory


def test_the_operator_s_own_node_is_believed() -> None:
    assert disbelieved("volunteer", "mine", GROUPS) == "volunteer"
    assert disbelieved("mine", "volunteer", GROUPS) == "volunteer"
    assert disbelieved("volunteer", "another", GROUPS) == ""
    assert disbelieved("mine", "mine", GROUPS) == ""
