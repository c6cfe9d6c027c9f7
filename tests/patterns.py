"""Finds the regular expressions of a program by reading its code, and tries to make them slow.

`patterns_in` reads a module's syntax tree: each call of ``re``, with the ways in which what it
makes is used. Their arguments are computed in the module itself, so constants, f-strings and
functions of them are all the same; what depends on a local name is told apart, by its function.

`hostile_texts` makes texts of a pattern's own parts: its examples cut anywhere and repeated, each
of its repetitions pumped up, each of its characters, and two of them by turns. `slow_with` looks
for one on which time grows faster than length. Time is that of the processor.
"""

from __future__ import annotations

import ast
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise, permutations, product
from math import log
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["ALL_USES", "Dynamic", "Found", "hostile_texts", "patterns_in", "slow_with"]

_USES = {
    **dict.fromkeys(("search", "finditer", "findall", "sub", "subn", "split"), "search"),
    "match": "match",
    "fullmatch": "fullmatch",
}
ALL_USES = frozenset(_USES.values())


@dataclass(frozen=True)
class Found:
    """A pattern, and in which ways it is held against texts."""

    where: str
    pattern: str | bytes
    flags: int
    uses: frozenset[str] = ALL_USES

    @classmethod
    def of(cls, where: str, compiled: re.Pattern[Any], uses: frozenset[str] = ALL_USES) -> Found:
        return cls(where, compiled.pattern, compiled.flags, uses)


@dataclass(frozen=True)
class Dynamic:
    """A call whose pattern depends on its function's arguments."""

    function: str


def patterns_in(source: str, where: str, names: Mapping[str, Any]) -> Iterator[Found | Dynamic]:
    """``names``: what the module's own names stand for."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def value(part: ast.expr, node: ast.AST) -> Any:
        known = {**names, **_members(node, names, parents)}
        return eval(compile(ast.Expression(part), where, "eval"), known)

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            taken = {name.name for name in node.names} & {"compile", *_USES}
            assert not taken, f"{where}: say re.{taken.pop()}, so that its patterns are found"
        for pattern, flags, uses in _calls(node, tree, parents):
            given = _given(pattern, node, tree, parents)
            try:
                for one in given:
                    yield Found(
                        f"{where}:{one.lineno}", value(one, node), int(value(flags, node)), uses
                    )
            except NameError:
                given = []
            if not given:
                yield Dynamic(f"{where}: {_function_name(node, parents)}")


def _given(
    pattern: ast.expr, node: ast.AST, tree: ast.Module, parents: Mapping[ast.AST, ast.AST]
) -> list[ast.expr]:
    """What a pattern is; where it is its function's argument, what that is called with."""
    function = _function(node, parents)
    arguments = [] if function is None else [one.arg for one in function.args.args]
    if function is None or not isinstance(pattern, ast.Name) or pattern.id not in arguments:
        return [pattern]
    place = arguments.index(pattern.id)
    used = [
        parents[one]
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and one.id == function.name
    ]
    given = [one.args[place] for one in used if isinstance(one, ast.Call) and len(one.args) > place]
    return given if len(given) == len(used) else []


def _members(
    node: ast.AST, names: Mapping[str, Any], parents: Mapping[ast.AST, ast.AST]
) -> dict[str, Any]:
    """What the names in the body of an enumeration stand for there."""
    kind = names.get(_enumeration(node, parents))
    return {} if kind is None else {member.name: member.value for member in kind}


def _enumeration(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> str:
    """The name of the one that this is a member of; empty: of none."""
    assigned = parents[node]
    around = parents.get(assigned)
    if not isinstance(assigned, ast.Assign) or not isinstance(around, ast.ClassDef):
        return ""
    return around.name if [ast.unparse(base) for base in around.bases] == ["Enum"] else ""


_Call = tuple[ast.expr, ast.expr, frozenset[str]]
_NO_FLAGS = ast.Constant(0, lineno=0, col_offset=0)
_FLAGS_AT = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}


def _calls(node: ast.AST, tree: ast.Module, parents: Mapping[ast.AST, ast.AST]) -> Iterator[_Call]:
    if not isinstance(node, ast.Call):
        return
    function = node.func
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        maker = function.attr
        if function.value.id == "re" and (maker == "compile" or maker in _USES):
            at = _FLAGS_AT.get(maker, 99)
            flags = node.args[at] if at < len(node.args) else keywords.get("flags", _NO_FLAGS)
            uses = _uses(node, tree, parents) if maker == "compile" else {_USES[maker]}
            yield node.args[0], flags, frozenset(uses)
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "Meta" and "pattern" in keywords:
        yield keywords["pattern"], _NO_FLAGS, frozenset(("search",))


def _uses(
    made: ast.AST, tree: ast.Module, parents: Mapping[ast.AST, ast.AST]
) -> set[str] | frozenset[str]:
    """Of a call of ``re.compile``; all where it is handed on."""
    parent = parents[made]
    if _enumeration(made, parents):
        values = (parents[one] for one in ast.walk(tree) if ast.unparse(one).endswith(".value"))
        attributes = {one.attr for one in values if isinstance(one, ast.Attribute)}
        known = attributes <= _USES.keys()
        return {_USES[use] for use in attributes} if attributes and known else ALL_USES
    if isinstance(parent, ast.Attribute):
        return {_USES[parent.attr]} if parent.attr in _USES else ALL_USES
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return ALL_USES
    name, uses = parent.targets[0].id, set[str]()
    if not name.startswith("_"):
        return ALL_USES
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            used = parents[node]
            if not isinstance(used, ast.Attribute) or used.attr not in _USES:
                return ALL_USES
            uses.add(_USES[used.attr])
    return uses or ALL_USES


def _function(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.FunctionDef | None:
    while not isinstance(node, ast.FunctionDef | ast.Module):
        node = parents[node]
    return node if isinstance(node, ast.FunctionDef) else None


def _function_name(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> str:
    function = _function(node, parents)
    return "" if function is None else function.name


# Texts.


_CANDIDATES = "aZ0 \n\t<>\"'&;=-_/.:,()[]{}%+*?!#@|\\\r\x00éΩ"
_MOST_ATOMS = 6
_MOST_EXAMPLES = 24
_SQUARE = 4
_REPEATS = frozenset((sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT))
_MANY = 8
"""A repetition that may go on for longer is pumped up."""

Text = Callable[[int], str]
"""Of about so many characters."""


def hostile_texts(found: Found) -> Iterator[tuple[str, Text]]:
    """Each with a name that tells what it is."""
    tree = _parser.parse(found.pattern, found.flags & ~re.DEBUG)
    parts = list(tree)
    atoms = list(dict.fromkeys(_atoms(parts)))
    examples = list(dict.fromkeys(islice(_examples(parts), _MOST_EXAMPLES)))
    pieces = dict.fromkeys(_CANDIDATES)
    pieces |= dict.fromkeys(atoms)
    pieces |= dict.fromkeys("".join(pair) for pair in permutations(atoms[:_MOST_ATOMS], 2))
    pieces |= dict.fromkeys(
        example[:length] for example in examples for length in range(1, min(len(example), 60) + 1)
    )
    for piece in pieces:
        yield f"{piece!r} × n", _repeated("", piece, "")
    pumps = dict.fromkeys(_pumps(parts, [""]))
    for before in dict.fromkeys(before for before, _ in pumps if len(before) > 1):
        yield f"{before!r} × n", _repeated("", before, "")
    for before, pump in pumps:
        for after in _AFTER:
            yield f"{before!r} + {pump!r} × n + {after!r}", _repeated(before, pump, after)
        if before:
            yield f"({before + pump!r}) × n", _repeated("", before + pump, "")
            yield f"({before!r} + {pump!r} × √n) × √n", _squared(before, pump)
            yield f"({pump!r} × √n + {before!r}) × √n", _squared(pump, before, turned=True)


_AFTER = ("", "\x00", "!", "a", " a a")


def _repeated(before: str, piece: str, after: str) -> Text:
    return lambda size: before + piece * max(size // len(piece), 1) + after


def _squared(before: str, pump: str, *, turned: bool = False) -> Text:
    def text(size: int) -> str:
        if turned:
            row = before * max(int(size**0.5) // len(before), 1) + pump
        else:
            row = before + pump * max(int(size**0.5) // len(pump), 1)
        return row * max(size // len(row), 1)

    return text


def _accepts(part: tuple[Any, Any], char: str) -> bool:
    """Whether one character may stand for this part of a pattern, regardless of case."""
    op, value = part
    if op is sre.LITERAL:
        return ord(char) == int(value)
    if op is sre.NOT_LITERAL:
        return ord(char) != int(value)
    if op is sre.ANY:
        return True
    if op is sre.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    if op is sre.CATEGORY:
        name = str(value).removeprefix("CATEGORY_")
        tests = {"DIGIT": str.isdigit, "SPACE": str.isspace}
        test = tests.get(name.removeprefix("NOT_"), lambda char: char.isalnum() or char == "_")
        return test(char) is not name.startswith("NOT_")
    if op is sre.IN:
        members = [item for item in value if item[0] is not sre.NEGATE]
        return any(_accepts(item, char) for item in members) is (len(members) == len(value))
    return False


_ONE = frozenset((sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN))


def _chars(part: tuple[Any, Any], others: str = "") -> list[str]:
    """Some that one part accepts: its own first."""
    op, value = part
    if op is sre.LITERAL:
        return [chr(value)]
    own = []
    if op is sre.IN and value[0][0] is not sre.NEGATE:
        for kind, item in value:
            if kind is sre.LITERAL:
                own.append(chr(item))
            elif kind is sre.RANGE:
                own.append(chr(item[0]))
    return own[:6] + [char for char in others + _CANDIDATES if _accepts(part, char)][:6]


def _atoms(parts: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    for part in parts:
        if part[0] in _ONE:
            yield from _chars(part)[:3]
        for inside in _within(part):
            yield from _atoms(inside)


def _within(part: tuple[Any, Any]) -> list[list[tuple[Any, Any]]]:
    """The sequences of which a part consists."""
    op, value = part
    if op in _REPEATS:
        return [list(value[2])]
    if op is sre.BRANCH:
        return [list(one) for one in value[1]]
    if op is sre.SUBPATTERN:
        return [list(value[3])]
    if op is sre.ATOMIC_GROUP:
        return [list(value)]
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        return [list(value[1])]
    if op is sre.GROUPREF_EXISTS:
        return [list(one) for one in value[1:] if one]
    return []


def _examples(parts: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    """Texts that match, or nearly: lookarounds are passed over."""
    each = [_some(part) for part in parts]
    most = max(map(len, each), default=1)
    for turn in range(most):
        yield "".join(some[min(turn, len(some) - 1)] for some in each)
    for place, some in enumerate(each):
        for one in some[1:]:
            yield "".join(one if at == place else other[0] for at, other in enumerate(each))


def _some(part: tuple[Any, Any]) -> list[str]:
    """A few texts for one part, the plainest first."""
    op, value = part
    if op in _ONE:
        return _chars(part)[:3]
    if op in _REPEATS:
        least = value[0]
        inside = list(islice(_examples(list(value[2])), 4)) or [""]
        some = [text * min(max(least, 1), 64) for text in inside]
        return some if least else [*some, ""]
    if op in (sre.SUBPATTERN, sre.ATOMIC_GROUP, sre.BRANCH):
        each = [list(islice(_examples(one), 6)) for one in _within(part)]
        return [text for texts in zip(*_same_length(each), strict=True) for text in texts] or [""]
    return [""]


def _same_length(each: list[list[str]]) -> list[list[str]]:
    most = max(map(len, each), default=0)
    return [texts + texts[-1:] * (most - len(texts)) for texts in each if texts]


def _pumps(parts: list[tuple[Any, Any]], befores: list[str]) -> Iterator[tuple[str, str]]:
    """What comes before a repetition, and what it repeats."""
    for part in parts:
        op, value = part
        some = _some(part)
        if op in _REPEATS and value[1] > _MANY:
            inside = list(value[2])
            if len(inside) == 1 and inside[0][0] in _ONE:
                pumps = _chars(inside[0])
            else:
                pumps = list(dict.fromkeys(islice(_examples(inside), 12)))
            yield from ((before, pump) for before, pump in product(befores, pumps) if pump)
        for inside in _within(part):
            yield from _pumps(inside, befores)
        befores = list(
            dict.fromkeys(before + text for before in befores for text in (some[0], some[-1]))
        )[:_SQUARE]


# Time.


_SCREENED = 6_400
_QUICK_SECONDS = 250e-9 * _SCREENED
"""So fast is a pattern that looks at each character a few times."""
_SIZES = (100, 400, 1_600, 6_400)
_LINEAR = 1.4
"""The power of the length by which time may grow, from one size to the next."""
_LEAST_SECONDS = 1e-3
_ROUNDS = 2
_DOUBTS = 3
"""So often is measured again what seems slow: others use the machine, too."""
_PATIENCE_SECONDS = 1.0
_ENDLESS_SECONDS = 0.1
"""For the shortest text."""


def slow_with(found: Found) -> str | None:
    """A text on which this pattern's time grows faster than its length; None: there is none."""
    compiled = re.compile(found.pattern, found.flags & ~re.DEBUG)
    for name, text in hostile_texts(found):
        for use in sorted(found.uses):
            if _is_slow(compiled, use, text):
                return f"{found.where}: {use} on {name}"
    return None


def _is_slow(compiled: re.Pattern[Any], use: str, text: Text) -> bool:
    try:
        with _at_most(_PATIENCE_SECONDS):
            if _seconds(compiled, use, text(_SIZES[0])) > _ENDLESS_SECONDS:
                return True
            if _seconds(compiled, use, text(_SCREENED)) < _QUICK_SECONDS:
                return False
            return all(_grows_fast(compiled, use, text) for _ in range(_DOUBTS))
    except TimeoutError:
        return True


def _grows_fast(compiled: re.Pattern[Any], use: str, text: Text) -> bool:
    taken = [_least_seconds(compiled, use, text(size)) for size in _SIZES]
    return any(log(long / short, 4) > _LINEAR for short, long in pairwise(taken))


def _least_seconds(compiled: re.Pattern[Any], use: str, text: str) -> float:
    once = _seconds(compiled, use, text)
    times = int(_LEAST_SECONDS / max(once, 1e-6)) + 1
    return min(_seconds(compiled, use, text, times) for _ in range(_ROUNDS)) / times


def _seconds(compiled: re.Pattern[Any], use: str, text: str, times: int = 1) -> float:
    written: Any = text
    if isinstance(compiled.pattern, bytes):
        written = text.encode("latin-1", "replace")
    hold: Callable[[Any], object] = getattr(compiled, use)
    if use == "search":
        hold = _all_found(compiled)
    began = time.thread_time()
    for _ in range(times):
        hold(written)
    return time.thread_time() - began


def _all_found(compiled: re.Pattern[Any]) -> Callable[[Any], object]:
    return lambda text: deque(compiled.finditer(text), maxlen=0)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Of the processor's time: the engine looks for signals as it goes."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
