"""Unfinished runs: says how one is continued or given up, and asks before one that a stranger may
have made does what only its user may ask for.

A user who begins a crawl names sites, secrets and scorers, or the file that does. A user who
resumes one names only a folder. What was not begun here (`engine.begun_here`) therefore has to be
named again, or agreed to, if it would send secrets, ask private hosts, or the like; and Python code
is loaded after a yes, whoever began.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from headgate.cli.terminal import show
from headgate.engine.runs import giving_up, going_on
from headgate.model.errors import UserMistake
from headgate.model.site import IGNORE, Site
from headgate.report.markup import printable
from headgate.storage.collection import RunFolder

__all__ = [
    "dangers",
    "private_hosts",
    "refuse_untrusted_request",
    "refuse_untrusted_scorers",
    "show_unfinished",
]

_MOST_TOLD = 3
_INNER = (".local", ".localhost", ".internal", ".intranet", ".lan", ".home.arpa")
"""Ends of names that no public server has."""


def show_unfinished(run: RunFolder) -> None:
    """One line below the report."""
    show(f"The run is not finished: {going_on(run)} continues it, {giving_up(run)} gives it up.")


def refuse_untrusted_scorers(sites: Sequence[Site], out: Path) -> None:
    """Ask, if there is a terminal."""
    names = ", ".join(sorted({site.url_order for site in sites if ":" in site.url_order}))
    if not names:
        return
    words = f"the run in {out} uses Python code, which may also be found in this folder: {names}"
    if not _agreed(words, "if you trust it, say --trust-scorers", "Load and run it?"):
        raise UserMistake("not loaded; nothing was fetched")


def refuse_untrusted_request(dangers: Sequence[str], out: Path) -> None:
    """Ask, if there is a terminal, whether a run that was not begun here may do all this."""
    some = "; ".join(dangers[:_MOST_TOLD])
    more = f"; and {len(dangers) - _MOST_TOLD} more" if len(dangers) > _MOST_TOLD else ""
    words = f"the run in {out} was not begun here by you, and would {some}{more}"
    remedy = "repeat the command that began it, with --resume, or say --trust-run if you trust it"
    if not _agreed(words, remedy, "Resume it?"):
        raise UserMistake("not resumed; nothing was fetched")


def _agreed(words: str, remedy: str, question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserMistake(f"{words}; {remedy}")
    sys.stderr.write(f"headgate: {printable(words)}\n{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def dangers(sites: Iterable[Site]) -> Iterator[str]:
    """What only their user may ask for, in words that follow "would".

    >>> from headgate.model.site import Access
    >>> mine = Site("a", seeds=("https://a.org/",), access=Access(auth="bearer env:KEY"))
    >>> list(dangers([mine, Site("b", seeds=("http://10.0.0.1/",))]))
    ['send env:KEY to a.org', 'ask 10.0.0.1, which is private']
    """
    for site in sites:
        access, hosts = site.access, _hosts((*site.seeds, site.access.login))
        where = ", ".join(hosts)
        if sent := list(_secrets(site)):
            yield f"send {', '.join(sent)} to {where}"
        elif access.login:
            yield f"log in at {access.login}"
        if access.proxy:
            yield f"go to {where} through the proxy {access.proxy}"
        if access.robots == IGNORE:
            yield f"ignore robots.txt of {where}"
        yield from private_hosts(hosts)


def private_hosts(hosts: Iterable[str]) -> Iterator[str]:
    """The same of hosts that can have no public address, as far as their names tell. Others are not
    asked, either, if they turn out to be private (`named` of the fetcher's settings)."""
    from headgate.fetching.dns import leads_to_public  # here: few runs are not begun here

    for host in hosts:
        name = host.strip("[]").rstrip(".").lower()
        try:
            is_private = not leads_to_public(str(ip_address(name)))
        except ValueError:
            is_private = "." not in name or name.endswith(_INNER)
        if is_private:
            yield f"ask {host}, which is private"


def _secrets(site: Site) -> Iterator[str]:
    """Where they are."""
    access = site.access
    for words in (access.auth.partition(" ")[2], *_values(access.headers, ":")):
        if words.startswith(("env:", "file:")):
            yield words
    yield from _values(access.login_fields, "=")
    yield from filter(None, (access.cookies, access.client_certificate))


def _values(pairs: Iterable[str], between: str) -> Iterator[str]:
    return (pair.partition(between)[2].strip() for pair in pairs)


def _hosts(urls: Iterable[str]) -> list[str]:
    from headgate.reading.urls import normalise

    normal = (normalise(url) or url for url in urls if url)
    return list(dict.fromkeys(urlsplit(url).hostname or "" for url in normal))
