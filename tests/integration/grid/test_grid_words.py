"""What a report says of its nodes, against a reckoning of the leases that were given.

A run is a list of leases in the order of their giving: whose, of which task, what came of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.features.grid.coordinator.board_store import SqlBoard
from headgate.features.grid.coordinator.nodes import grid_report
from headgate.features.grid.protocol import Lease
from headgate.features.grid.scheduler.records import (
    BoardState,
    Changes,
    LeaseEnding,
    LeaseRow,
    NewTask,
)
from headgate.report.nodes import grid_words
from headgate.storage.catalog.sqlite import SqliteCatalog

RUN = "2026-01-01T00-00-00"


@dataclass(frozen=True)
class Given:
    task: str
    node: str
    how: LeaseEnding | None
    """None: it is still open."""
    kilobytes: int
    pages: int = 0


def words_of(folder: Path, leases: list[Given]) -> list[str]:
    """As the product tells them, from what its catalog holds."""
    with SqliteCatalog(folder / "catalog.sqlite") as catalog:
        catalog.begin_run(RUN, 1.0, "{}")
        board = SqlBoard(catalog.database)
        names = list(dict.fromkeys(lease.task for lease in leases))
        new = [
            NewTask(run=RUN, site=name, host=name, spec=b"", value=1.0, due=None,
                    expected_bytes=1.0, expected_seconds=1.0)
            for name in names
        ]  # fmt: skip
        tasks = dict(zip(names, board.add_tasks(new), strict=True))
        for number, lease in enumerate(leases):
            task = tasks[lease.task]
            before, task.epoch, task.state = task.epoch, task.epoch + 1, BoardState.LEASED
            place = task.epoch if lease.how is None else 0
            row = LeaseRow(
                Lease(task.id, task.epoch),
                lease.node,
                claim=f"c{number}",
                host=task.host,
                place=place,
                given=1.0,
            )
            row.pages, row.wire_bytes = lease.pages, 1000 * lease.kilobytes
            row.how, row.ended = lease.how, None if lease.how is None else 2.0
            board.save(Changes({task.id: task}, {task.id: before}, {row.lease: row}))
        return grid_words(grid_report(board, RUN))


DONE, TWICE = LeaseEnding.COMMITTED, LeaseEnding.SUPERSEDED
RUNS = {
    "nobody left": [
        Given("a", "anna", DONE, 300, 3),
        Given("b", "ben", DONE, 100, 1),
    ],
    "one task lost three times": [
        Given("a", "anna", LeaseEnding.EXPIRED, 40),
        Given("a", "ben", LeaseEnding.STUCK, 30),
        Given("a", "cleo", LeaseEnding.LEFT, 20),
        Given("b", "cleo", DONE, 910, 9),
    ],
    "revoked": [
        Given("a", "anna", LeaseEnding.REVOKED, 500),
        Given("a", "ben", DONE, 1500, 15),
    ],
    "spoilt, and twice": [
        Given("a", "anna", LeaseEnding.SPOILT, 100),
        Given("a", "ben", DONE, 700, 7),
        Given("b", "ben", TWICE, 200),
        Given("b", "anna", DONE, 1000, 10),
    ],
    "under way": [Given("a", "anna", None, 100), Given("b", "ben", DONE, 100, 1)],
    "nearly all by one": [
        Given("a", "anna", DONE, 999_999, 9),
        Given("b", "ben", DONE, 1, 1),
    ],
    "seven nodes": [Given(f"t{k}", f"n{k}", DONE, 100 * (k + 1), 1) for k in range(7)],
}


@pytest.mark.parametrize("case", RUNS)
def test_nodes_and_their_shares(tmp_path: Path, case: str) -> None:
    leases = RUNS[case]
    (first, *_) = words_of(tmp_path, leases)
    counted: defaultdict[str, int] = defaultdict(int)
    for lease in leases:
        counted[lease.node] += lease.kilobytes if lease.how is DONE else 0
    whole = sum(counted.values())
    said = re.fullmatch(r"(\d+) nodes: (.*)\.", first)
    assert said is not None
    assert int(said[1]) == len(counted)
    named = dict(re.findall(r"(\w+) ([\d.]+) %", said[2]))
    by_share = sorted(counted, key=lambda node: -counted[node])
    assert list(named) == by_share[:5]
    for node, share in named.items():
        assert float(share) == pytest.approx(100 * counted[node] / whole, rel=0.005, abs=0.051)
        assert (share == "100") == (counted[node] == whole), "what is not quite all"
    rest = len(counted) - 5
    assert said[2].endswith(f", and {rest} more") == (rest > 0)


@pytest.mark.parametrize("case", RUNS)
def test_what_churn_cost(tmp_path: Path, case: str) -> None:
    """Every lease that ended and does not count cost what was fetched under it."""
    leases = RUNS[case]
    said = [line for line in words_of(tmp_path, leases) if line.startswith("Churn")]
    over = [lease for lease in leases if lease.how not in (None, DONE)]
    if not over:
        assert said == []
        return
    wasted = sum(lease.kilobytes for lease in over)
    counted = sum(lease.kilobytes for lease in leases if lease.how is DONE)
    overtaken = sum(lease.how is TWICE for lease in over)
    parts = re.fullmatch(
        r"Churn: (\d+) leases? ended without a result, (\d+) overtaken by another node\'s; "
        r"(\d+) KB in vain \(([\d.]+) %\)\.",
        said[0],
    )
    assert parts is not None, said
    assert [int(part) for part in parts.groups()[:3]] == [len(over) - overtaken, overtaken, wasted]
    assert float(parts[4]) == pytest.approx(100 * wasted / (wasted + counted), rel=0.01)
