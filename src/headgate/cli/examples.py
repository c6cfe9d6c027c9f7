"""The site files that come with Headgate, by name."""

from __future__ import annotations

from pathlib import Path

import headgate.site_file
from headgate.model.errors import UserMistake

__all__ = ["example_file", "example_names"]

_FOLDER = Path(headgate.site_file.__file__).with_name("examples")


def example_names() -> list[str]:
    """
    >>> example_names()
    ['fifty-sites', 'shared-line', 'six-sites', 'six-sites-insufficient']
    """
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def example_file(name: str) -> str:
    """Its path."""
    names = example_names()
    if name not in names:
        raise UserMistake(f"there is no example {name!r}; there are {', '.join(names)}")
    return str(_FOLDER / f"{name}.toml")
