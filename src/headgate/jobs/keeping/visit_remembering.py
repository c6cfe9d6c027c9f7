"""Merges a keeper's visit into the site's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.outside_links import leave_links
from headgate.storage.memory.remembering import mend
from headgate.storage.memory.site_memory import SiteMemory
from headgate.storage.memory.visit_memory import remember_visit
from headgate.storage.memory.visit_news import leave_news

__all__ = ["remember_kept", "tell_others"]


def remember_kept(
    run: RunFolder,
    owner: Owner,
    site: Site,
    read: Callable[[], Iterable[Commit]],
    ended: float,
    *,
    believe: bool,
) -> None:
    """Merge a visit; changes and links to other sites are left in files for those who need them. A
    damaged memory is rebuilt from all runs, including this one."""
    beside = partial(tell_others, run, owner, site, read)
    try:
        remember_visit(run, owner, read, ended, believe=believe, beside=beside)
    except DamagedMemory:
        mend(Collection(run.collection), owner.site)


def tell_others(
    run: RunFolder,
    owner: Owner,
    site: Site,
    read: Callable[[], Iterable[Commit]],
    old: SiteMemory,
) -> None:
    """Leave a visit's changes and links in files, before it is merged into ``old``."""
    leave_news(run, owner, site, old, read)
    leave_links(run, owner, site, read)
