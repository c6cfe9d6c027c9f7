"""Optional packages: imported when a feature needs them, or an error says what to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from headgate.model.errors import UserMistake

__all__ = ["MissingExtra", "extra"]


class MissingExtra(UserMistake):
    """A feature needs a package that is not installed; names the command that installs it.

    >>> print(MissingExtra("public holidays", "holidays"))
    public holidays need a package that is not installed: pip install "headgate[holidays]"
    """

    def __init__(self, features: str, name: str) -> None:
        self.install = f'pip install "headgate[{name}]"'
        super().__init__(f"{features} need a package that is not installed: {self.install}")


def extra(module: str, features: str, name: str) -> ModuleType:
    """Import a module of the extra ``name``. ``features`` says, in the plural, what needs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module.partition(".")[0]:
            raise  # the package is there, but one of its own imports fails
        raise MissingExtra(features, name) from None
