"""Headgate's version. Not read from the installed package's metadata, because importlib.metadata
takes as long to import as the whole HTTP client."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"
