"""Argument types for argparse, and arguments that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from headgate.model.errors import UserMistake

__all__ = ["DEFAULT_FOLDER", "add_folder", "add_out", "at_least_one", "named_folder", "read_by"]

DEFAULT_FOLDER = Path("headgate-data")

Value = TypeVar("Value")


def at_least_one(text: str) -> int:
    """An integer of at least 1; one with more digits than any count has is a mistake."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999999999")
    return int(text)


def named_folder(text: str) -> Path:
    """A folder; an empty name is an error, since it is usually a shell variable that was not
    set."""
    if not text:
        raise argparse.ArgumentTypeError("the folder has no name")
    return Path(text)


def read_by(reader: Callable[[str], Value]) -> Callable[[str], Value]:
    """A parsing function as an argparse type, so that its error names the option."""

    def read(text: str) -> Value:
        try:
            return reader(text)
        except UserMistake as mistake:
            raise argparse.ArgumentTypeError(str(mistake)) from None

    return read


def add_folder(parser: argparse.ArgumentParser, what: str = "the collection") -> None:
    """DIR, for commands that read a collection."""
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=DEFAULT_FOLDER,
        help=f"{what} (default: {DEFAULT_FOLDER})",
    )


def add_out(parser: argparse.ArgumentParser, default: Path = DEFAULT_FOLDER) -> None:
    """--out, for commands that fill a collection."""
    parser.add_argument(
        "--out", metavar="DIR", type=named_folder, default=default, help=f"({default})"
    )
