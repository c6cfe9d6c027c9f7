"""Reads a site file for a keeper: every site needs seeds, and no page may belong to two sites."""

from __future__ import annotations

from headgate.frontier.site_overlap import overlaps
from headgate.model.units import UNLIMITED, BytesPerSecond
from headgate.site_file.contents import SiteFile
from headgate.site_file.parsing import parse_site_file, site_error

__all__ = ["read_keep_file"]


def read_keep_file(text: str, path: str, *, bandwidth: BytesPerSecond | None = None) -> SiteFile:
    """Parse a site file, or raise a `SiteFileError`; ``bandwidth`` replaces the file's."""
    contents = parse_site_file(text, path, bandwidth=bandwidth, unless_given=UNLIMITED)
    for site in contents.sites:
        if not site.seeds:
            problem = 'a site that is kept needs seeds; add seeds = ["https://example.org/"]'
            raise site_error(text, path, site.name, "seeds", problem)
    for found in overlaps(contents.sites):
        problem = (
            f"{found.seed} belongs to [site.{found.other}] too, and a page is kept by one site;"
            f" add it to that one's exclude, or drop it here"
        )
        raise site_error(text, path, found.site, "seeds", problem)
    return contents
