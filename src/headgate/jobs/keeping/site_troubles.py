"""Troubles of a kept site, and their remedies.

A site has one trouble at a time, the most serious, stored as text in the catalog
(`SiteState.trouble`); its remedy is found by the beginning of the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.crawling.progress import Progress
from headgate.jobs.keeping.kept_memory import KnownSite
from headgate.model.left_out import Reason
from headgate.storage.memory.page_memory import PageMemory
from headgate.views.plan_words import plural

__all__ = ["ONE_TEXT", "remedy_of", "standing_trouble"]

ONE_TEXT = "nearly all pages now have the same text"
_FORBIDDEN = "robots.txt now forbids"
_FLAPPING = "never the same at two looks"
_NOTHING = "no page of it could be fetched"
_REMEDIES = {
    ONE_TEXT: "look at the site; if it is meant to be so, the third visit accepts it",
    _FORBIDDEN: "ask its owner, or remove it from the file; what is stored stays, and robots.txt"
    " is read again every day",
    _FLAPPING: "name what changes in the site's ignore; until then it counts as changed once a day",
    _NOTHING: "correct its seeds in the site file; if one redirects elsewhere, use that URL. If"
    " they are right there is nothing to do: it is tried again after increasing pauses",
    "": "nothing to do if the site is down; it is tried again after increasing pauses",
}


def remedy_of(trouble: str) -> str:
    return next(words for start, words in _REMEDIES.items() if trouble.startswith(start))


def standing_trouble(known: KnownSite, progress: Progress, before: str) -> str:
    """The trouble of a site that answers; empty: none. ``before`` is its trouble before this visit,
    which may not have fetched the pages concerned."""
    forbids = Reason.ROBOTS in progress.left_out
    if known.left_out and (forbids or before.startswith(_FORBIDDEN)):
        return f"{_FORBIDDEN} {_named(known.left_out)}"
    if known.in_vain is not None:
        return f"{_NOTHING}: {_what_came(known.in_vain, forbids=forbids)}"
    return f"{_FLAPPING}: {_named(known.flapping)}" if known.flapping else ""


def _what_came(page: PageMemory, *, forbids: bool) -> str:
    if page.status:
        return f"{page.url} answered {page.status}"
    return f"robots.txt forbids {page.url}" if forbids else f"{page.url}: {page.error}"


def _named(urls: Sequence[str]) -> str:
    if len(urls) == 1:
        return urls[0]
    shortest = min(urls, key=lambda url: (len(url), url))
    return f"{plural(len(urls), 'page')}, {shortest} for one"
