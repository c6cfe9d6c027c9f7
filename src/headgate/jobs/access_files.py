"""Files named by a site's access settings are relative to the site file."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from headgate.model.access import Access

__all__ = ["access_beside"]


def access_beside(access: Access, folder: Path) -> Access:
    """The settings with every file name joined to the folder."""
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
