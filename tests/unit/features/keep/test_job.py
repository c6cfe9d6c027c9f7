"""Sites that share pages."""

from __future__ import annotations

import pytest

from headgate.features.keep.job import Overlap, overlaps
from headgate.model.site import Site

ALL = Site("all", seeds=("https://a.org/",))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Site("b", seeds=("https://b.org/",)), []),
        (Site("b", seeds=("https://a.org:8080/",)), []),
        (
            Site("b", seeds=("http://www.a.org/docs/",), include=("/docs/",)),
            [Overlap("b", "http://www.a.org/docs/", "all")],
        ),
        (
            Site("b", seeds=("HTTPS://A.org/",), include=("/docs/",)),
            [Overlap("all", "https://a.org/", "b"), Overlap("b", "https://a.org/", "all")],
        ),
        (
            Site("b", seeds=("https://a.org/docs/",)),
            [Overlap("all", "https://a.org/", "b"), Overlap("b", "https://a.org/docs/", "all")],
        ),
    ],
)
def test_a_host_and_another_site(other: Site, expected: list[Overlap]) -> None:
    assert list(overlaps([ALL, other])) == expected


def test_folders_of_one_host_are_apart_and_an_exclude_makes_them_so() -> None:
    folders = [
        Site(name, seeds=(f"https://a.org/{name}/",), include=(f"/{name}/",)) for name in "bc"
    ]
    rest = Site("rest", seeds=("https://a.org/",), exclude=("/b/", "/c/"))
    assert list(overlaps([*folders, rest])) == []


def test_of_thousands_on_one_host_the_one_that_holds_all_is_found() -> None:
    folders = [
        Site(f"s{i}", seeds=(f"https://a.org/{i}/",), include=(f"org/{i}/",)) for i in range(3_000)
    ]
    assert list(overlaps(folders)) == []
    assert {found.other for found in overlaps([*folders, ALL])} == {"all"}
