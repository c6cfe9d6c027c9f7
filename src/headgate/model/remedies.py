"""What to do when this machine refuses something, in words, by the system's error numbers.

A sentence that begins with an error ends with its remedy, in parentheses, whoever met it: the disk
or the network.
"""

from __future__ import annotations

import errno

__all__ = ["REMEDIES"]

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
