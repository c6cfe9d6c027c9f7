"""Every error Headgate raises on purpose, under one root.

Two families: mistakes of the user (exit code 2) and faults of the world outside (exit code 1). Each
message says in one line what is wrong, where, and how to fix it where that is possible.
"""

from __future__ import annotations

import errno
from importlib import import_module
from types import ModuleType

__all__ = [
    "REMEDIES",
    "DamagedFile",
    "HeadgateError",
    "MissingExtra",
    "OtherVersion",
    "PlanningError",
    "SiteFileError",
    "UserMistake",
    "WorldFault",
    "extra",
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
        self.path, self.how = path, how


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


class MissingExtra(UserMistake):
    """Optional packages: imported when a feature needs them, or an error says what to install.

    A feature needs a package that is not installed; names the command that installs it.

    >>> print(MissingExtra("public holidays", "holidays"))
    public holidays need a package that is not installed: pip install "headgate[holidays]"
    """

    def __init__(self, features: str, name: str) -> None:
        self.install = f'pip install "headgate[{name}]"'
        super().__init__(f"{features} need a package that is not installed: {self.install}")


def extra(module: str, features: str, name: str) -> ModuleType:
    """Import a module of the extra ``name``. ``features`` says, in the plural, what needs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module.partition(".")[0]:
            raise  # the package is there, but one of its own imports fails
        raise MissingExtra(features, name) from None


# What to do when this machine refuses something, in words, by the system's error numbers.
#
# A sentence that begins with an error ends with its remedy, in parentheses, whoever met it: the
# disk or the network.


_THEN = "then try again; a crawl or survey goes on with --resume"
_MEMORY = f"the system is short of memory; end other programs, {_THEN}"

REMEDIES = {
    errno.ENOSPC: f"free some space, {_THEN}",
    errno.EDQUOT: f"the disk quota is used up; free some space, {_THEN}",
    errno.EFBIG: f"the largest size of a file is reached (ulimit -f); raise it, {_THEN}",
    errno.EMFILE: f"too many open files (ulimit -n); raise the limit, {_THEN}",
    errno.ENFILE: f"all programs together have too many; end some or raise fs.file-max, {_THEN}",
    errno.ENOBUFS: _MEMORY,
    errno.ENOMEM: _MEMORY,
    errno.EIO: "the disk may be failing; what was stored before is untouched",
}
