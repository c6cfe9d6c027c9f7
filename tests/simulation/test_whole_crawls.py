"""Three hundred webs, crawled whole: every page that is linked is asked for, and no other.

`python -m bench.whole_crawls` crawls twenty thousand.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import whatwg_url
from bench import whole_grids, whole_keeps
from bench.planted_faults import LANDED, OTHERS, Fault
from bench.whole_crawls import MOST_SEEDS, SEEDS_FOR_LANDED, play, seeds_to_find

SEEDS_OF_A_TEST = 20
CASES = Path(__file__).parents[1] / "data" / "wpt-url" / "urltestdata.json"


@pytest.mark.parametrize("first", range(0, 300, SEEDS_OF_A_TEST))
def test_what_is_linked_is_asked_for_and_nothing_else(first: int) -> None:
    wrong = "".join(play(seed) for seed in range(first, first + SEEDS_OF_A_TEST))
    assert not wrong, wrong


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_what_is_kept_is_what_is_linked_and_nothing_is_visited_for_ever(first: int) -> None:
    wrong = "".join(whole_keeps.play(seed) for seed in range(first, first + 10))
    assert not wrong, wrong


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_nodes_that_share_sites_ask_for_what_is_linked(first: int) -> None:
    wrong = "".join(whole_grids.play(seed) for seed in range(first, first + 10))
    assert not wrong, wrong


def test_the_fault_that_landed_is_found_soon() -> None:
    assert seeds_to_find(LANDED, range(SEEDS_FOR_LANDED))


@pytest.mark.parametrize("fault", OTHERS)
def test_faults_planted_into_the_product_are_found(fault: Fault) -> None:
    assert seeds_to_find(fault, range(MOST_SEEDS))


def test_the_resolver_it_is_held_against_follows_the_standard() -> None:
    """For all URLs of the web that the standard's test data have. (It is lenient with some hosts
    that are none.)"""
    cases = [case for case in json.loads(CASES.read_text()) if isinstance(case, dict)]
    usable = [
        (case["input"], case["base"], case["href"])
        for case in cases
        if case.get("href", "").startswith(("http:", "https:"))
        and (case["base"] or "http:").startswith(("http:", "https:"))
    ]
    assert len(usable) > 200
    for text, base, href in usable:
        found = whatwg_url.normalize_url(text, base)
        assert found.partition("#")[0] == href.partition("#")[0], text
