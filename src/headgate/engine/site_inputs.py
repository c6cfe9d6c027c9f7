"""From files and options to sites that are ready to be crawled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs
from msgspec.structs import replace

from headgate.frontier.scope import is_web_url
from headgate.model.errors import SiteFileError, UserMistake
from headgate.model.site import BREADTH_FIRST, Access, OnDeadline, Requisites, Site
from headgate.model.store_rule import StoreRule
from headgate.model.units import BytesPerSecond, parse_rate
from headgate.reading.urls import normalise, resolve
from headgate.site_file.keys import SITE_READERS
from headgate.site_file.site_values import ACCESS_READERS

__all__ = [
    "SITE_DEFAULTS",
    "SiteDefaults",
    "access_beside",
    "asked_bandwidth",
    "read_text",
    "ready_sites",
    "refuse_password",
    "shown",
    "with_defaults",
]


# Reads site files from disk or stdin.


MOST_BYTES = 256_000_000
"""Larger than any valid file, so that an endless one is not read to its end."""


def read_text(name: str) -> str:
    """A site file's text, not yet parsed; ``-`` is stdin."""
    return _decoded(_bytes_of(name), shown(name))


def shown(name: str) -> str:
    return "<stdin>" if name == "-" else name


def _bytes_of(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        with Path(name).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UserMistake(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise UserMistake(f"{name}: this is a folder, not a site file") from None


def _decoded(data: bytes, path: str) -> str:
    if len(data) > MOST_BYTES:
        raise SiteFileError("the file is larger than any site file can be", path=path, line=1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise SiteFileError(problem, path=path, line=line) from None


def access_beside(access: Access, folder: Path) -> Access:
    """Files named by a site's access settings are relative to the site file.

    The settings with every file name joined to the folder.
    """
    if access == Access():
        return access
    return replace(
        access,
        headers=tuple(_within(line, ": ", folder) for line in access.headers),
        auth=_within(access.auth, " ", folder),
        login_fields=tuple(_within(pair, "=", folder) for pair in access.login_fields),
        proxy=_within(access.proxy, "", folder),
        cookies=str(folder / access.cookies) if access.cookies else "",
        client_certificate=(
            str(folder / access.client_certificate) if access.client_certificate else ""
        ),
    )


def _within(words: str, before: str, folder: Path) -> str:
    """``file:NAME`` after ``before``, if it is there, with the name joined to the folder."""
    start, found, name = words.partition(f"{before}file:")
    if not found or (not before and start):
        return words
    return f"{start}{before}file:{folder / name}"


# Options of a request for all sites; a site's own settings take precedence.


SiteDefaults = Mapping[str, str | int | list[str]]
"""By key, as the user wrote them."""

SITE_DEFAULTS = (
    "include",
    "exclude",
    "depth",
    "expect",
    "max_rate",
    "on_deadline",
    "max_pages",
    "max_bytes",
    "max_time",
    "max_page_size",
    "fetch",
    "store",
    "requisites",
    "max_queries",
    "connections",
    "delay",
)
"""Keys of the site file that a request may set for all sites, besides those of `Access`."""


def with_defaults(site: Site, defaults: SiteDefaults) -> Site:
    """The site with the defaults for what it does not set itself."""
    changes: dict[str, Any] = {}
    for key in SITE_DEFAULTS:
        if key in defaults and getattr(site, key) in (None, (), OnDeadline.GO_ON, Requisites.NONE):
            changes[key] = _read(key, SITE_READERS[key], defaults[key])
    access = {
        key: _read(key, read, defaults[key])
        for key, read in ACCESS_READERS.items()
        if key in defaults and not getattr(site.access, key)
    }
    if access:
        changes["access"] = replace(site.access, **access)
    return replace(site, **changes) if changes else site


def _read(key: str, read: Callable[[object], object], value: object) -> Any:
    try:
        return read(value)
    except UserMistake as mistake:
        raise UserMistake(f"--{key.replace('_', '-')}: {mistake}") from None


def asked_bandwidth(text: str | None) -> BytesPerSecond | None:
    """The value of ``--bandwidth``.

    None: it is not given.

    >>> asked_bandwidth("1.5 MB/s")
    1500000.0
    """
    rate = None if text is None else parse_rate(text)
    if rate is not None and rate <= 0:
        raise UserMistake("--bandwidth must be more than 0, like '1.5 MB/s', or 'unlimited'")
    return rate


LOGOUT = r"(?i)log-?out|sign-?out|log_out|sign_out|logoff"
"""Matches links that end a session."""


def ready_sites(sites: Sequence[Site]) -> tuple[Site, ...]:
    """Sites made ready to be crawled: normalised seeds, checked settings.

    The sites with their seeds normalised; raises `UserMistake` for what can never be crawled.
    """
    for site in sites:
        _check_focus(site)
        _check_store(site)
    return tuple(map(_ready, sites))


def _ready(site: Site) -> Site:
    """Copies a site only if something changes: there may be ten thousand of them."""
    seeds = tuple(_seed(site.name, seed) for seed in _seeds(site))
    exclude = _exclude(site)
    if (seeds, exclude) == (site.seeds, site.exclude):
        return site
    return structs.replace(site, seeds=seeds, exclude=exclude)


def _check_focus(site: Site) -> None:
    if site.has_topic or site.url_order != BREADTH_FIRST:
        from headgate.engine.scorers import check_focus  # here: it brings the readers of pages

        check_focus(site)


def _check_store(site: Site) -> None:
    try:
        StoreRule.parse(site.store)
    except UserMistake as mistake:
        raise UserMistake(f"site {site.name!r}: store: {mistake}") from None


def _exclude(site: Site) -> tuple[str, ...]:
    """The site's exclude patterns, and links that would end our session if it logs in."""
    if not site.access.logs_in or LOGOUT in site.exclude:
        return site.exclude
    return (*site.exclude, LOGOUT)


def _seeds(site: Site) -> tuple[str, ...]:
    if not site.seeds:
        raise UserMistake(f'site {site.name!r} has no seeds; add seeds = ["https://..."]')
    return site.seeds


def _seed(name: str, seed: str) -> str:
    url = normalise(seed)
    if url is None or not is_web_url(url):
        raise UserMistake(f"site {name!r}: {seed!r} is not a URL of http or https")
    if urlsplit(url).port == 0:
        raise UserMistake(f"site {name!r}: {seed!r} has port 0, which no server can have")
    refuse_password(name, seed)
    return url


def refuse_password(name: str, seed: str) -> None:
    """A user or a password in a site's seed: the normal form has none, and none is sent."""
    if urlsplit(resolve(seed) or "").username is not None:
        raise UserMistake(
            f"site {name!r}: a URL is no place for a password; drop what is before the @ and write"
            ' auth = "basic env:NAME"'
        )
