"""Reading site files from disk or stdin."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.engine.site_inputs import read_text, shown
from headgate.model.units import BytesPerSecond
from headgate.site_file.parsing import SiteFile, parse_site_file

__all__ = ["OpenedSiteFile", "open_site_file"]


@dataclass(frozen=True, slots=True)
class OpenedSiteFile:
    """A site file with its text, for errors that are found later."""

    text: str
    path: str
    contents: SiteFile


def open_site_file(name: str, *, bandwidth: BytesPerSecond | None = None) -> OpenedSiteFile:
    """Read and parse a file; ``-`` is stdin."""
    path = shown(name)
    text = read_text(name)
    return OpenedSiteFile(text, path, parse_site_file(text, path, bandwidth=bandwidth))
