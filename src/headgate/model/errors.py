"""Every error Headgate raises on purpose, under one root.

Two families: mistakes of the user (exit code 2) and faults of the world outside (exit code 1). Each
message says in one line what is wrong, where, and how to fix it where that is possible.
"""

from __future__ import annotations

__all__ = [
    "DamagedFile",
    "HeadgateError",
    "OtherVersion",
    "PlanningError",
    "SiteFileError",
    "UserMistake",
    "WorldFault",
]


class HeadgateError(Exception):
    """Root of all of Headgate's own errors."""


class UserMistake(HeadgateError):
    """Something the user wrote cannot be used; the message says what to write instead."""


class WorldFault(HeadgateError):
    """Something outside the program failed: a disk, a server, a network."""


class DamagedFile(UserMistake):
    """A file of a collection is not what Headgate wrote; only the user can restore it."""

    def __init__(self, path: object, how: str, remedy: str) -> None:
        super().__init__(f"{path} is damaged ({how}); {remedy}")


class OtherVersion(UserMistake):
    """A file of a collection can be read, but not as what this version of Headgate writes."""

    def __init__(self, path: object, how: str, remedy: str) -> None:
        super().__init__(
            f"{path} was written by another version of Headgate, or is damaged ({how});"
            f" use that version, or {remedy}"
        )


class PlanningError(UserMistake):
    """A planning algorithm was given a problem outside its domain."""


class SiteFileError(UserMistake):
    """A fault in a site file, with its place: ``sites.toml:7: [site.docs] deadline: ...``."""

    def __init__(self, problem: str, *, path: str, line: int | None = None, key: str = "") -> None:
        place = path if line is None else f"{path}:{line}"
        super().__init__(": ".join(part for part in (place, key, problem) if part))
        self.problem = problem
        self.path = path
        self.line = line
        self.key = key
