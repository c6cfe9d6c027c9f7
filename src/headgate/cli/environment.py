"""Options that the environment gives: ``HEADGATE_OUT=archive`` is ``--out archive`` everywhere.

The command line wins. Only options that a command has are looked for, so that one variable may
serve some commands and not others.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from headgate.model.errors import UserMistake

__all__ = ["environment_words", "variable"]

_YES, _NO = frozenset(("1", "true", "yes")), frozenset(("", "0", "false", "no"))
_TAKEN = frozenset(("HEADGATE_SITE", "HEADGATE_URL", "HEADGATE_KIND", "HEADGATE_CHANGE"))
"""Variables that Headgate sets for ``on_change`` commands; not options."""


def variable(option: str) -> str:
    """
    >>> variable("--max-pages")
    'HEADGATE_MAX_PAGES'
    """
    return f"HEADGATE_{option.removeprefix('--').replace('-', '_').upper()}"


def environment_words(
    parser: argparse.ArgumentParser, words: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """The arguments that environment variables add to a command line."""
    given = {word.partition("=")[0] for word in words}
    added: list[str] = []
    for action in parser._actions:  # noqa: SLF001 (argparse has no other way to ask)
        option = next((name for name in action.option_strings if name.startswith("--")), "")
        name = variable(option)
        unfit = option in ("", "--help") or name in _TAKEN or name not in environment
        if unfit or not given.isdisjoint(action.option_strings):
            continue
        added += _words(option, name, environment[name], flag=action.nargs == 0)
    return added


def _words(option: str, name: str, value: str, *, flag: bool) -> list[str]:
    if not flag:
        return [f"{option}={value}"] if value else []
    if value.lower() in _YES:
        return [option]
    if value.lower() not in _NO:
        raise UserMistake(f"{name} is {value!r}; {option} is a switch: write 1 or 0")
    return []
