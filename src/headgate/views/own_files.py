"""The style sheets and the script that come with the package."""

from __future__ import annotations

from functools import cache
from pkgutil import get_data

__all__ = ["own_file"]


@cache
def own_file(name: str) -> str:
    data = get_data("headgate.views", name)
    assert data is not None
    return data.decode()
