"""Whose code a resumed crawl runs: a run names its scorers, and a collection may be a stranger's.

Who begins a crawl names the scorer, or the file that does. Who resumes one names a folder only:
there a scorer is loaded after somebody said that it may be.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.views.markup import printable

__all__ = ["refuse_untrusted_scorers"]


def refuse_untrusted_scorers(sites: Sequence[Site], out: Path) -> None:
    """Ask, where somebody is there to answer."""
    names = ", ".join(sorted({site.url_order for site in sites if ":" in site.url_order}))
    if not names:
        return
    words = f"the run in {out} goes by Python code that is looked for from here, too: {names}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserMistake(f"{words}; if you trust it, say --trust-scorers")
    sys.stderr.write(f"headgate: {printable(words)}\nLoad and run it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserMistake("not loaded; nothing was fetched")
