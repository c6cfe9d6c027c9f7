"""Which URLs belong to a site."""

from __future__ import annotations

import pytest

from headgate.frontier.scope import Scope
from headgate.model.errors import UserMistake
from headgate.model.site import Site


def in_scope(scope: Scope, url: str) -> bool:
    return bool(scope.inside(scope.candidates([url])))


@pytest.mark.parametrize(
    ("seed", "inside", "outside"),
    [
        (
            "https://example.org/docs/",
            [
                "https://example.org/",
                "http://example.org/docs/a",
                "https://www.example.org/x?y=1",
            ],
            [
                "https://example.org.evil.com/",
                "https://sub.example.org/",
                "https://user@example.org/",
                "https://example.org:8443/",
                "ftp://example.org/",
                "mailto:someone@example.org",
                "javascript:void(0)",
                "",
            ],
        ),
        ("https://www.example.org/", ["http://example.org/a"], ["https://www2.example.org/"]),
        (
            "http://127.0.0.1:8080/",
            ["http://127.0.0.1:8080/a", "https://127.0.0.1:8080/a"],
            ["http://127.0.0.1/a", "http://www.127.0.0.1:8080/a"],
        ),
        ("http://localhost/", ["http://localhost/a"], ["http://www.localhost/"]),
        ("http://[::1]:80/", ["http://[::1]:80/a"], ["http://www.[::1]:80/"]),
    ],
)
def test_default_scope_is_the_host(seed: str, inside: list[str], outside: list[str]) -> None:
    scope = Scope([seed])
    assert [url for url in inside if not in_scope(scope, url)] == []
    assert [url for url in outside if in_scope(scope, url)] == []


def test_include_narrows_the_seeds_hosts() -> None:
    scope = Scope(["https://docs.python.org/3/"], include=["/3/", "/dev/"])
    assert in_scope(scope, "https://docs.python.org/3/library/")
    assert in_scope(scope, "https://docs.python.org/dev/x")
    assert not in_scope(scope, "https://docs.python.org/2/")
    assert not in_scope(scope, "https://elsewhere.org/3/")


@pytest.mark.parametrize("pattern", [r"^https://img\.org/", r"https?:\/\/img\.org\/", "://img.org"])
def test_an_include_that_speaks_of_a_host_widens(pattern: str) -> None:
    scope = Scope(["https://a.org/"], include=["/docs/", pattern])
    assert in_scope(scope, "https://img.org/x.png")
    assert in_scope(scope, "https://a.org/docs/x")
    assert not in_scope(scope, "https://a.org/other")
    assert not in_scope(scope, "https://b.org/docs/x")
    assert not in_scope(scope, "ftp://img.org/docs/x")


def test_exclude_has_the_last_word() -> None:
    scope = Scope(["https://a.org/"], include=["/docs/"], exclude=[r"\.pdf$", "/docs/old/"])
    assert in_scope(scope, "https://a.org/docs/new")
    assert not in_scope(scope, "https://a.org/docs/new.pdf")
    assert not in_scope(scope, "https://a.org/docs/old/x")


def test_a_bad_expression_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match=r"exclude: '\(' is not a regular expression"):
        Scope(["https://a.org/"], exclude=["("])


@pytest.mark.parametrize(("bound", "depth", "has"), [(None, 99, True), (2, 2, True), (2, 3, False)])
def test_depth(bound: int | None, depth: int, has: bool) -> None:
    assert Scope(["https://a.org/"], depth=bound).has(depth) is has


def test_a_seed_may_move_to_another_host() -> None:
    scope = Scope(["http://golang.org/"])
    assert not in_scope(scope, "https://go.dev/doc/")
    assert scope.follows_seed("https://go.dev/")
    assert in_scope(scope, "https://go.dev/doc/")
    assert not scope.follows_seed("file:///etc/passwd")


def test_with_an_include_a_seed_may_not() -> None:
    scope = Scope(["http://a.org/"], include=["/docs/"])
    assert not scope.follows_seed("https://b.org/")
    assert scope.follows_seed("https://www.a.org/start")
    assert not in_scope(scope, "https://b.org/docs/")


def test_scope_of_a_site() -> None:
    site = Site("s", seeds=("http://a.org/",), include=("/x/",), exclude=("/x/y",), depth=3)
    scope = Scope.for_site(site)
    assert scope.depth == 3
    assert in_scope(scope, "http://a.org/x/")
    assert not in_scope(scope, "http://a.org/x/y")
