"""An environment in which only what a plain ``pip install headgate`` brings can be imported.

The tests' own environment has every extra and the developers' tools. Which of its modules come with
Headgate follows from the packages' own metadata; all others are hidden from a process and from
those it starts, by a ``sitecustomize`` on their path.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

__all__ = ["hidden", "hiding", "modules_beyond_a_plain_install"]

_HIDE = """\
import sys


class Hidden:
    names = frozenset({names!r})

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in cls.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Hidden)
"""


def hidden(folder: Path) -> str:
    """A folder to be a process's PYTHONPATH, so that it sees a plain install."""
    return hiding(folder, *modules_beyond_a_plain_install())


def hiding(folder: Path, *modules: str) -> str:
    """The same with only these modules hidden."""
    folder.mkdir(exist_ok=True)
    text = _HIDE.format(names=sorted(modules))
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    return str(folder)


def modules_beyond_a_plain_install() -> set[str]:
    """Top-level modules of installed packages that Headgate without extras does not need."""
    plain = _needed_by("headgate")
    return {
        module
        for module, owners in packages_distributions().items()
        if plain.isdisjoint(map(_normal, owners))
        and module not in sys.stdlib_module_names  # some tool brings an old one's backport
    }


def _needed_by(root: str) -> set[str]:
    needed: set[str] = set()
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        try:
            wanted = requires(name) or []
        except PackageNotFoundError:  # for another platform or Python
            continue
        for line in wanted:
            found = re.match(r"[\w.-]+", line)
            if found and "extra ==" not in line:
                waiting.append(_normal(found[0]))
    return needed


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
