"""What a person should know of a site that is kept, and what to do about it.

A site has one trouble at a time, the gravest, as words in the catalog (`SiteState.trouble`): so the
remedy is found by how they begin.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.crawling.progress import Progress
from headgate.jobs.keeping.kept_memory import KnownSite
from headgate.model.left_out import Reason
from headgate.storage.memory.page_memory import PageMemory
from headgate.views.plan_words import plural

__all__ = ["ONE_TEXT", "remedy_of", "standing_trouble"]

ONE_TEXT = "nearly all pages have become one and the same"
_FORBIDDEN = "robots.txt now forbids"
_FLAPPING = "never the same at two looks"
_NOTHING = "no page of it could be fetched"
_REMEDIES = {
    ONE_TEXT: "look at the site; if it means it, the third visit believes it",
    _FORBIDDEN: "ask its owner, or take it out of the file; what is stored stays, and robots.txt"
    " is read again every day",
    _FLAPPING: "name what changes in the site's ignore; until then it counts as changed once a day",
    _NOTHING: "correct its seeds in the site file; where one leads elsewhere, name that. If they"
    " are right there is nothing to do: it is tried again after longer and longer pauses",
    "": "nothing to do if the site is down; it is tried again after longer and longer pauses",
}


def remedy_of(trouble: str) -> str:
    return next(words for start, words in _REMEDIES.items() if trouble.startswith(start))


def standing_trouble(known: KnownSite, progress: Progress, before: str) -> str:
    """Of a site that answers; empty: none. ``before`` is its trouble before this visit, which may
    not have asked for the pages in question."""
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
