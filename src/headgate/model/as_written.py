"""Lets values be given from Python as they are written in a site file.

``Site("docs", seeds="https://docs.example.org/", deadline="30m")`` means what the same words in a
site file mean; what cannot be parsed is refused when the value is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from headgate.model.errors import UserMistake

__all__ = ["NUMBERS", "as_written", "choice", "several"]

NUMBERS = (float, int, type(None))

_Read = Callable[[Any], Any]


def as_written(
    thing: msgspec.Struct,
    where: str,
    ready: type | tuple[type, ...],
    readers: Mapping[str, _Read],
) -> None:
    """Parse fields of a frozen value in place, except those that already are of a ``ready`` type.
    ``where`` begins the error message."""
    for name, read in readers.items():
        value = getattr(thing, name)
        if not isinstance(value, ready):
            try:
                msgspec.structs.force_setattr(thing, name, read(value))
            except UserMistake as mistake:
                raise UserMistake(f"{where}: {name}: {mistake}") from None


def several(values: Any) -> tuple[str, ...]:
    """One string or several, as a tuple.

    >>> several("a"), several(["a", "b"])
    (('a',), ('a', 'b'))
    """
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise UserMistake(f"{values!r} is no text and no list of texts")
    found = tuple(values)
    if not all(isinstance(value, str) for value in found):
        raise UserMistake(f"{values!r} is no list of texts")
    return found


def choice(kind: type[StrEnum]) -> _Read:
    """A parser for the values of an enumeration."""

    def read(value: Any) -> StrEnum:
        try:
            return kind(value)
        except ValueError:
            known = ", ".join(repr(str(member)) for member in kind)
            raise UserMistake(f"{value!r} is none of {known}") from None

    return read
