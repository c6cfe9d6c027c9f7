"""Asks before a resumed crawl runs a scorer: a collection made by a stranger may name any code.

A user who begins a crawl names the scorer, or the file that does. A user who resumes one names only
a folder, so the scorer is loaded after they agreed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.report.markup import printable

__all__ = ["refuse_untrusted_scorers"]


def refuse_untrusted_scorers(sites: Sequence[Site], out: Path) -> None:
    """Ask, if there is a terminal."""
    names = ", ".join(sorted({site.url_order for site in sites if ":" in site.url_order}))
    if not names:
        return
    words = f"the run in {out} uses Python code, which may also be found in this folder: {names}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserMistake(f"{words}; if you trust it, say --trust-scorers")
    sys.stderr.write(f"headgate: {printable(words)}\nLoad and run it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserMistake("not loaded; nothing was fetched")
