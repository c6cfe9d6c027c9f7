"""Which Headgate this is. Here, and not asked of the installed package: to look it up there takes
as long as to load all of HTTP."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"
