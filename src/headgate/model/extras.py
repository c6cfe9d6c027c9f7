"""Packages that only some features need: not installed with Headgate itself but asked for.

Each belongs to an extra of the same name as the feature, as pyproject.toml lists them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from headgate.model.errors import UserMistake

__all__ = ["MissingExtra", "extra"]


class MissingExtra(UserMistake):
    """A feature was asked for whose package is not installed; names the command that installs it.

    >>> print(MissingExtra("public holidays", "holidays"))
    public holidays need a package that is not installed: pip install "headgate[holidays]"
    """

    def __init__(self, features: str, name: str) -> None:
        self.install = f'pip install "headgate[{name}]"'
        super().__init__(f"{features} need a package that is not installed: {self.install}")


def extra(module: str, features: str, name: str) -> ModuleType:
    """The module, or which extra brings it. ``features`` is in the plural."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module.partition(".")[0]:
            raise  # it is there, and broken
        raise MissingExtra(features, name) from None
