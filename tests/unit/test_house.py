"""The house is kept in order: small classes, names that stand for one thing, a suite for each port.

What the linters cannot see. A class that is larger than the rule allows stands here with its
reason.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headgate"

MOST_METHODS = 15
LARGE = {
    "features/grid/scheduler/records.py: BoardStore": (
        "a port: one transaction touches tasks, leases and nodes"
    ),
    "control/catalog.py: Catalog": "a port: one transaction may touch sites, visits and servers",
    "testing/memory_catalog.py: MemoryCatalog": "adapter of a port",
    "fetching/connection.py: Connection": "a state machine: sockets, timers and the meter call it,"
    " on the same two fields",
    "frontier/politeness.py: HostPoliteness": "five things hold a host's requests back, and each"
    " event touches several",
    "engine/processes.py: ProcessFleet": "adapter of a port, over processes that may die during any"
    " call",
    "scheduling/capacity.py: Capacity": "a value: each method is one question, or one other budget"
    " made of it",
    "storage/collection.py: RunFolder": "a value: each method names one thing that a run has on"
    " disk",
    "storage/stored_page.py: StoredPage": "a value: each method is one question about a page",
    "features/grid/coordinator/board_store.py: SqlBoard": "adapter of a port",
    "storage/catalog/sql_catalog.py: SqlCatalog": "adapter of a port",
    "features/survey/strategy/surveyor.py: Surveyor": (
        "a state machine: each event touches trees, turns and slots"
    ),
    "bandwidth/rate_limiter.py: RateLimiter": (
        "one tree of buckets, whose levels are right only together"
    ),
    "bandwidth/make_way.py: Yielding": "a state machine of three phases, on one rate",
}
"""Module and class -> why it has more methods."""

SUITES = {
    "Catalog": "test_catalog",
    "Clock": "test_clock",
    "Fetcher": "test_fetcher",
    "Fleet": "test_fleet",
    "Known": "test_known",
    "MachineClock": "test_clock",
    "MeasuredFleet": "test_fleet",
    "Rates": "test_fetcher",
    "Resolver": "test_resolver",
    "Scorer": "test_scorer",
    "SiteStore": "test_site_store",
    "Spill": "test_spill",
    "StoredPage": "test_site_store",
    "SurveyLog": "test_survey_log",
    "TaskDesk": "test_task_source",
    "TaskSource": "test_task_source",
}
"""Port -> the contract suite that its adapters pass."""
PORTS = (
    "control/catalog.py", "crawling/ports.py", "features/grid/protocol.py",
    "features/survey/log.py", "fetching/dns.py", "frontier/url_queue.py",
)  # fmt: skip


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield str(path.relative_to(SOURCE)), node


def _methods(node: ast.ClassDef) -> int:
    """Properties included; what is overloaded, or has a setter, counts once."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return len({item.name for item in node.body if isinstance(item, functions)})


def test_classes_are_small_but_for_a_reason() -> None:
    large = {f"{path}: {node.name}" for path, node in _classes() if _methods(node) > MOST_METHODS}
    assert large == LARGE.keys(), "cut it, or give the reason; one that became small needs none"


def test_every_port_has_a_contract_suite() -> None:
    ports = {
        node.name
        for path, node in _classes()
        if path in PORTS
        and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    }
    assert ports == SUITES.keys()
    for suite in SUITES.values():
        assert (ROOT / "tests" / "contract" / f"{suite}.py").exists()


def _named_in(path: Path) -> Iterator[str]:
    """Modules and their members that a docstring or comment refers to, without the package."""
    rooms = "|".join(room.name for room in SOURCE.iterdir() if room.is_dir())
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(rf"`(?:headgate\.)?((?:{rooms})(?:\.\w+)+)`", text):
        if not found[1].endswith((".html", ".json")):  # files of a run
            yield found[1]
    for found in re.finditer(rf"`((?:{rooms})(?:/\w+)+)\.py`", text):
        yield found[1].replace("/", ".")


def _exists(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(("headgate", *parts[:length])))
        except ModuleNotFoundError:
            continue
        for member in parts[length:]:
            fields = getattr(found, "__annotations__", {})
            if not hasattr(found, member) and member not in fields:
                return False
            found = getattr(found, member, None)
        return True
    return False


def test_docstrings_refer_to_what_exists() -> None:
    stale = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in _named_in(path)
        if not _exists(name)
    ]
    assert stale == []
