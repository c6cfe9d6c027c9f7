"""For all tests: a machine shared with others is no reason to fail."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("headgate", deadline=None)
settings.load_profile("headgate")
