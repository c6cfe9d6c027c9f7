"""Every cache of the product has its row in `docs/caches.md`, and every row its cache and tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headgate"
TESTS = ROOT / "tests"
PAGE = (ROOT / "docs" / "caches.md").read_text()

DECORATORS = {"lru_cache", "cache", "cached_property"}

CACHES, OTHERS = PAGE.split("## What is no cache")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in CACHES.splitlines()
    if line.startswith("| `")
]
_CODE = re.compile(r"`([^`]+)`")

Name = tuple[str, str]
"""A module, and a name in it, of a class's attribute with the class."""


def names_of_rows() -> list[Name]:
    return [(found[0], found[1]) for found in (_CODE.findall(row[0]) for row in ROWS)]


def names_of_others() -> Iterator[Name]:
    module = ""
    for word in _CODE.findall(OTHERS):
        if word.endswith(".py"):
            module = word
        else:
            yield module, word


class _Names(ast.NodeVisitor):
    """Functions with a decorator that remembers; and what is asked for a key and stored under it:
    in one function, or, where there is a bound, in one class or module."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: set[str] = set()
        self.there: set[str] = set()
        """All functions, attributes and variables."""
        self._at: list[str] = []
        self._alias: dict[str, str] = {}
        self._asked: dict[str, set[str]] = {}
        self._stored: dict[str, set[str]] = {}
        self._ever: tuple[set[str], set[str], set[str]] = set(), set(), set()
        """Asked, stored and bounded, in any function of the class or module."""
        self._globals = {
            target.id
            for node in tree.body
            for target in _targets(node)
            if isinstance(target, ast.Name)
        }
        self.visit(tree)
        asked, stored, bounded = self._ever
        self.found |= asked & stored & bounded

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._at.append(node.name)
        for part in node.body:
            self.there |= {f"{node.name}.{ast.unparse(target)}" for target in _targets(part)}
        self.generic_visit(node)
        self._at.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.there.add(self._of_class(node.name))
        if any(_remembers(decorator) for decorator in node.decorator_list):
            self.found.add(self._of_class(node.name))
        around = self._alias, self._asked, self._stored
        self._alias, self._asked, self._stored = {}, {}, {}
        for part in ast.walk(node):
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Attribute):
                self._alias |= {ast.unparse(name): ast.unparse(part.value) for name in part.targets}
        self.generic_visit(node)
        if node.name != "__init__":
            self.found |= {
                kept for kept, keys in self._asked.items() if keys & self._stored.get(kept, set())
            }
        self._alias, self._asked, self._stored = around

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        for target in _targets(node):
            name = self._kept(target)
            if name:
                self.there.add(name)
                if node.value is not None and _remembers(node.value):
                    self.found.add(name)
            if isinstance(target, ast.Subscript):
                self._note(1, target.value, target.slice)
            elif isinstance(target, ast.Name) and _remembers(node.value):
                self.there.add(target.id)
                self.found.add(target.id)
        self.generic_visit(node)

    visit_AnnAssign = visit_Assign  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, node.func.value
            key = node.args[0] if node.args else None
            if name in ("get", "setdefault") and key is not None:
                self._note(0, of, key)
            if name in ("setdefault", "add", "update"):
                self._note(1, of, key if name == "setdefault" else None)
            if name in ("clear", "popitem"):
                self._note(2, of, None)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            self._note(0, node.comparators[0], node.left)
        elif isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "len":
                    self._note(2, call.args[0], None)
        self.generic_visit(node)

    def _note(self, what: int, of: ast.expr, key: ast.expr | None) -> None:
        name = self._kept(of)
        if name:
            self._ever[what].add(name)
            if key is not None and what < 2:
                keys = (self._asked, self._stored)[what]
                keys.setdefault(name, set()).add(ast.unparse(key))

    def _kept(self, node: ast.expr) -> str:
        """The name of what outlives a call; empty: it does not."""
        text = ast.unparse(node)
        text = self._alias.get(text, text)
        if re.fullmatch(r"self\.\w+", text):
            return self._of_class(text.removeprefix("self."))
        return text if text in self._globals else ""

    def _of_class(self, name: str) -> str:
        return f"{self._at[-1]}.{name}" if self._at else name


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _remembers(node: ast.expr | None) -> bool:
    while isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Name) and node.id in DECORATORS


@cache
def read() -> dict[str, _Names]:
    return {
        str(path.relative_to(SOURCE)): _Names(ast.parse(path.read_text()))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def test_everything_that_looks_like_a_cache_has_its_row_or_is_said_to_be_none() -> None:
    told = {*names_of_rows(), *names_of_others()}
    looks = {(module, name) for module, names in read().items() for name in names.found}
    assert sorted(looks - told) == [], "give it a row in docs/caches.md, or say what it is there"


def test_every_row_names_something_that_is_there_and_says_all_of_it() -> None:
    there = read()
    rows = names_of_rows()
    assert len(rows) == len(set(rows)) > 60
    for (module, name), row in zip(rows, ROWS, strict=True):
        assert module in there, module
        assert name in there[module].there, (module, name)
        assert len(row) == 5, row
        assert all(row), row
    others = set(names_of_others())
    assert not set(rows) & others
    assert [
        (module, name)
        for module, name in sorted(others)
        if module not in there or name not in there[module].there
    ] == []


def test_every_test_of_a_row_is_there() -> None:
    for row in ROWS:
        tests = _CODE.findall(row[4])
        assert tests, row
        for test in tests:
            file, _, name = test.partition("::")
            path = TESTS / file if "/" in file else TESTS / "unit" / "caches" / file
            assert re.search(rf"^def {name}\(", path.read_text(), re.MULTILINE), test


def test_all_that_remembers_is_recognised() -> None:
    """The recogniser itself, on what it is to find and what not."""
    names = _Names(
        ast.parse(
            """
from functools import cache, lru_cache, cached_property
known, plain = {}, {}
seen: dict = {}
few = lru_cache(4)(len)
@cache
def whole(): ...
def of(key):
    if key not in seen:
        seen[key] = 1
    return seen[key]
class Kept:
    def __init__(self):
        self.by_url = lru_cache(4)(self.find)
        self._met, self._state = {}, {}
        self._kept: dict = {}
        self._open: dict = {}
    @cached_property
    def facts(self): ...
    def find(self, url):
        met = self._kept
        found = met.get(url)
        if found is None:
            found = met[url] = url
        return found
    def ask(self, url):
        return self._open.get(url)
    def put(self, url):
        if len(self._open) > 9:
            self._open.clear()
        self._open[url] = 1
    def note(self, url):
        self._state[url] = 1
        local = {}
        local.setdefault(url, 1)
"""
        )
    )
    assert names.found == {
        "few", "whole", "seen", "Kept.by_url", "Kept.facts", "Kept._kept", "Kept._open",
    }  # fmt: skip
