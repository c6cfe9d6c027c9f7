"""Every change of a page that was looked at again and again is told, also from open volumes."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.integration.storage.test_volume import DAY, visit
from tests.unit.storage.warc.making import NOON, make_url

from headgate.features.changes.changes import Comparison, Noises
from headgate.model.keeping import Keeping
from headgate.model.page import Change, PageChange
from headgate.model.site import Site
from headgate.reading.change_detection import EXACT, Noise
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.ignore_rules import load_ignore_rules, save_ignore_rules
from headgate.storage.sealing import seal_volume

USUAL = Noises(Noise.from_rules())


def body(version: int, views: int = 0) -> bytes:
    return f"<title>t</title><p>price {version} EUR<p>{views} views".encode()


def volume(folder: Path, day: int) -> RunFolder:
    collection = Collection(folder)
    with collection.lock():
        return collection.new_run(datetime.fromtimestamp(NOON + day * DAY, UTC))


def told(
    folder: Path, runs: list[RunFolder], noises: Noises = USUAL, since: float = -math.inf
) -> tuple[list[PageChange], int]:
    comparison = Comparison(folder, [], runs, noises, since=since)
    return list(comparison.changes()), comparison.unremarkable


@pytest.mark.parametrize("sealed", [False, True])
def test_versions_within_one_volume(tmp_path: Path, *, sealed: bool) -> None:
    run = volume(tmp_path, 0)
    visit(run, 1, {0: body(1), 1: body(1)})
    visit(run, 2, {0: body(2, views=1), 1: body(1, views=7)})
    visit(run, 3, {0: body(2, views=2), 1: body(1)})
    visit(run, 4, {0: body(1)})
    if sealed:
        seal_volume(run)
        run.finish()
    changes, unremarkable = told(tmp_path, [run])
    first, second, third, other = changes
    assert [change.change for change in changes] == [
        Change.NEW, Change.CHANGED, Change.CHANGED, Change.NEW,
    ]  # fmt: skip
    assert second.difference == ("  t", "- price 1 EUR", "+ price 2 EUR")
    assert third.difference == ("  t", "- price 2 EUR", "+ price 1 EUR")
    assert (second.before_at, second.seen_at) == (first.seen_at, NOON + 2 * DAY)
    assert (third.before_at, third.seen_at) == (NOON + 3 * DAY, NOON + 4 * DAY)
    assert other.url == make_url(1)
    assert unremarkable == 3  # page 0 at its third look, page 1 twice


def test_what_was_before_a_moment_is_only_compared_with(tmp_path: Path) -> None:
    run = volume(tmp_path, 0)
    for number, version in enumerate((1, 2, 2, 3), 1):
        visit(run, number, {0: body(version)})
    changes, _ = told(tmp_path, [run], since=NOON + 3.5 * DAY)
    [change] = changes
    assert change.difference == ("  t", "- price 2 EUR", "+ price 3 EUR")
    assert change.before_at == NOON + 3 * DAY


@pytest.mark.parametrize("seed", range(5))
def test_any_history_over_volumes_open_and_sealed(tmp_path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    versions: list[int] = []
    runs: list[RunFolder] = []
    for number in range(12):
        if number % 4 == 0:
            if runs:
                seal_volume(runs[-1])
                runs[-1].finish()
            runs.append(volume(tmp_path, number))
        versions.append(int(chance.integers(0, 3)))
        visit(runs[-1], number + 1, {5: body(versions[-1])})
    expected = [(old, new) for old, new in pairwise(versions) if old != new]
    changes, _ = told(tmp_path, runs, Noises(EXACT))
    assert changes[0].change is Change.NEW
    found = [
        tuple(int(line.split()[2]) for line in change.difference if "price" in line)
        for change in changes[1:]
    ]
    assert found == expected


def test_a_sites_own_rules(tmp_path: Path) -> None:
    run = volume(tmp_path, 0)
    visit(run, 1, {0: body(1)})
    visit(run, 2, {0: body(2)})
    for rule in (r"price \d+", "css:p"):
        own = Noises(EXACT, {"docs": Noise.from_rules([rule])})
        changes, unremarkable = told(tmp_path, [run], own)
        assert [change.change for change in changes] == [Change.NEW]
        assert unremarkable == 1


def test_rules_are_left_in_the_collection(tmp_path: Path) -> None:
    assert load_ignore_rules(tmp_path) == {}
    first, second = Site("a", keeping=Keeping(ignore=("x", "css:.y"))), Site("b")
    save_ignore_rules(tmp_path, [first, second])
    save_ignore_rules(tmp_path, [Site("b", keeping=Keeping(ignore=("z",)))])
    assert load_ignore_rules(tmp_path) == {"a": ("x", "css:.y"), "b": ("z",)}
    save_ignore_rules(tmp_path, [Site("a")])
    assert load_ignore_rules(tmp_path) == {"b": ("z",)}
    (tmp_path / "ignore.json").write_bytes(b"{")
    assert load_ignore_rules(tmp_path) == {}
