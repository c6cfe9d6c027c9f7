"""The style sheets and the script that come with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["own_file"]


@cache
def own_file(name: str) -> str:
    return files("headgate.views").joinpath(name).read_text(encoding="utf-8")
