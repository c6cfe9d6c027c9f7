"""Proxies in environment variables: Headgate uses one only if told to, and says so."""

from __future__ import annotations

import os

from headgate.cli.speaking import say

__all__ = ["say_that_proxies_are_not_used"]

_NAMES = ("http_proxy", "https_proxy", "all_proxy")


def say_that_proxies_are_not_used() -> None:
    """Print one line if the environment names a proxy."""
    named = [name for key in _NAMES for name in (key, key.upper()) if os.environ.get(name)]
    if named:
        say(f"{named[0]} is set but not used; --proxy env:{named[0]} would")
