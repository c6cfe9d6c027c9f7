"""The house is kept in order: what the linters cannot see.

Numbers are ratchets: they may only shrink, so whoever makes one smaller writes the smaller one
here. None of them is worth a cut or a wrapper: a large module that is one idea says so in `LARGE`.
"""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headgate"

MODULES = 387
"""More than these, and the reader holds more names in mind than the house has ideas."""
WITH_ONE_IMPORTER = 72
"""A module that one other imports is a section of that one, unless it is an idea of its own, or
is kept apart for what it loads (numpy, Arrow, NATS): a plain `--help` must not bring it."""
WRITES_THROUGH_ANOTHER = 27
"""Assignments to `self.other.field`: the other object is finished, or changed, by a stranger."""
CLASS_NAMES_TWICE = 1

LARGE_MODULE = 350
LARGE_FUNCTION = 60
"""Code lines: without blanks, comments and docstrings."""
LARGE = {
    "crawling/site_run.py": "one site's loop: events of its frontier in, fetches and records out",
    "frontier/frontier.py": "one machine: every event of a site run changes the same state",
    "crawling/site_run.py: SiteRun.__init__": "sets up all that the loop holds, in one place",
    "cli/crawl.py: configure": "a list: one entry for each option",
    "cli/plan.py: configure": "a list: one entry for each option",
    "cli/survey.py: configure": "a list: one entry for each option",
    "scheduling/event_schedule.py: EventSimulator.run": (
        "the hot loop of the search: calls would double its cost"
    ),
}
"""Module, or module and function -> why it is longer than others."""

MOST_POSITIONAL = 5
VARIADIC = {
    "Child", "asyncio.to_thread", "datetime", "element", "partial",
    "struct.pack", "table.add_row",
}  # fmt: skip
"""They take a list of equals, or pass on what another function takes."""
CALLABLES = {"search", "self._parts.make_plan"}
"""Arguments typed as `Callable`, which has positions only."""

OF_A_SESSION = {"BudgetKeeper", "ControlLoop", "Learner", "ReportSaver", "RunTime"}
"""Clock, budget, learning, control loop and saving of a run: `engine/session.py` alone makes them,
however a run is begun."""

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
    "ReplayedPage": "test_site_store",
    "SurveyLog": "test_survey_log",
    "TaskDesk": "test_task_source",
    "TaskSource": "test_task_source",
}
"""Port -> the contract suite that its adapters pass."""
PORTS = (
    "control/catalog.py", "crawling/ports.py", "features/grid/protocol.py",
    "features/survey/log.py", "fetching/dns.py", "frontier/url_queue.py",
)  # fmt: skip

STARTING_PROCESSES = {
    "crawling/child_process.py": "our own",
    "features/grid/transport/nats_server.py": "nats-server",
    "features/keep/notice_delivery.py": "the command that a user is told by",
}
"""Module -> what it starts."""


@dataclass(frozen=True, slots=True)
class Module:
    path: str
    """Below `src/headgate`."""
    tree: ast.Module
    lines_of_code: frozenset[int]

    @property
    def name(self) -> str:
        return ".".join(("headgate", *Path(self.path).with_suffix("").parts))

    def size(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        return len(self.lines_of_code.intersection(range(node.lineno, (node.end_lineno or 0) + 1)))


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        found.append(Module(str(path.relative_to(SOURCE)), tree, _lines_of_code(text, tree)))
    return tuple(found)


def _lines_of_code(text: str, tree: ast.Module) -> frozenset[int]:
    layout = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    skipped = (tokenize.COMMENT, tokenize.NL, *layout)
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped
        for line in range(token.start[0], token.end[0] + 1)
    }
    with_body = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        for inner in node.body if isinstance(node, with_body) else ():
            if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):
                code -= set(range(inner.lineno, (inner.end_lineno or 0) + 1))  # a docstring
    return frozenset(code)


def _with_own_code() -> dict[str, Module]:
    return {module.name: module for module in modules() if not module.path.endswith("__init__.py")}


def _imported(module: Module, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & known) - {module.name}


@cache
def _graph() -> dict[str, set[str]]:
    known = _with_own_code()
    return {name: _imported(module, set(known)) for name, module in known.items()}


def test_there_are_no_more_modules_than_ideas() -> None:
    assert len(_with_own_code()) <= MODULES


def test_few_modules_serve_one_other_alone() -> None:
    users: dict[str, set[str]] = defaultdict(set)
    for name, imported in _graph().items():
        for other in imported:
            users[other].add(name)
    alone = {name: min(by) for name, by in sorted(users.items()) if len(by) == 1}
    assert len(alone) <= WITH_ONE_IMPORTER, alone


def test_modules_do_not_import_each_other_in_circles() -> None:
    left = dict(_graph())
    while ends := {name for name, to in left.items() if not to & left.keys()}:
        left = {name: to for name, to in left.items() if name not in ends}
    assert sorted(left) == []


@dataclass(slots=True)
class _Functions(ast.NodeVisitor):
    """With the names of the classes and functions around them."""

    around: list[str] = field(default_factory=list)
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = field(default_factory=list)

    def _within(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.around.append(node.name)
        if not isinstance(node, ast.ClassDef):
            self.found.append((".".join(self.around), node))
        self.generic_visit(node)
        self.around.pop()

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _within  # noqa: N815


def test_large_modules_and_functions_say_why() -> None:
    large = {module.path for module in modules() if len(module.lines_of_code) > LARGE_MODULE}
    for module in modules():
        functions = _Functions()
        functions.visit(module.tree)
        large |= {
            f"{module.path}: {name}"
            for name, node in functions.found
            if module.size(node) > LARGE_FUNCTION
        }
    assert large == LARGE.keys(), "give the reason; one that became small needs none"


def test_calls_name_their_arguments() -> None:
    long = {
        ast.unparse(node.func)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL
    }
    assert long <= VARIADIC | CALLABLES


def _writes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            yield from map(
                ast.unparse, target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            )


def test_objects_are_not_finished_by_strangers() -> None:
    through = [
        f"{module.path}: {written}"
        for module in modules()
        for written in _writes(module.tree)
        if re.fullmatch(r"(self|cls)(\.\w+){2,}", written)
    ]
    assert len(through) <= WRITES_THROUGH_ANOTHER, through


def test_only_a_session_wires_what_every_run_has() -> None:
    makers = {
        (module.path, made)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and (made := ast.unparse(node.func).partition(".")[0]) in OF_A_SESSION
    }
    assert makers == {("engine/session.py", made) for made in OF_A_SESSION}


def test_what_fetches_takes_its_clock() -> None:
    """A clock of its own would count a suspension of the machine by other rules than the meter's,
    and could not be a test's."""
    reading = [
        module.path
        for module in modules()
        if module.path.startswith("fetching/")
        for node in ast.walk(module.tree)
        if "time" in _names_imported(node)
    ]
    assert reading == []


def _names_imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or ""} if isinstance(node, ast.ImportFrom) else set()


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(module.path)
    twice = {name: sorted(paths) for name, paths in homes.items() if len(paths) > 1}
    assert len(twice) <= CLASS_NAMES_TWICE, twice


def test_every_port_has_a_contract_suite() -> None:
    ports = {
        node.name
        for module in modules()
        if module.path in PORTS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    }
    assert ports == SUITES.keys()
    for suite in SUITES.values():
        assert (ROOT / "tests" / "contract" / f"{suite}.py").exists()


def test_processes_are_started_in_few_places() -> None:
    """A child of ours by `Child`; apart from it, what is not our program."""
    words = re.compile(
        r"\bsubprocess\b|\bcreate_subprocess_|\bmultiprocessing\b|\bos\.(fork|posix_spawn)"
    )
    starting = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if words.search(path.read_text(encoding="utf-8"))
    }
    assert starting == STARTING_PROCESSES.keys()


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


def test_what_is_tried_again_is_said_in_one_file() -> None:
    """Of statuses a busy host stands for all: who knows it by itself has rules of its own."""
    named = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        if re.search(r"\b503\b", path.read_text(encoding="utf-8"))
    ]
    assert named == ["frontier/retries.py"]
