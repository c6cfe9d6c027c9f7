"""Options that set keys of the site file for all sites, with the same names.

An option applies to sites whose tables do not have the key; the site file wins.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import msgspec

from headgate.jobs.site_defaults import SiteDefaults

__all__ = ["add_site_options", "asked_options"]


class _Option(msgspec.Struct, frozen=True):
    key: str
    """Its name in the site file and in `Site`."""
    metavar: str
    help: str
    words: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Further arguments for argparse."""

    @property
    def name(self) -> str:
        return f"--{self.key.replace('_', '-')}"


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text[:12])


_OPTIONS = (
    _Option(
        "include",
        "REGEX",
        "crawl only URLs that match, and seeds; repeatable: one is enough",
        {"action": "append"},
    ),
    _Option("exclude", "REGEX", "skip URLs that match; repeatable", {"action": "append"}),
    _Option("depth", "N", "follow at most so many links from a seed", {"type": _whole}),
    _Option("expect", "SIZE", "bytes that each site will take, like '120 MB' (found out)"),
    _Option("max_rate", "RATE", "maximum rate from each server, like '200 KB/s'"),
    _Option("on_deadline", "WHAT", "go-on (late) or stop"),
    _Option("max_pages", "N", "end each site after so many pages", {"type": _whole}),
    _Option("max_bytes", "SIZE", "end each site after so many bytes on the line, like '50 MB'"),
    _Option("max_time", "TIME", "end each site so long after its start"),
    _Option("max_page_size", "SIZE", "skip larger pages, like '2 MB'"),
    _Option(
        "fetch",
        "TYPES",
        "skip pages of other types; like 'text/html,image/*'",
        {"type": lambda text: text.split(",")},
    ),
    _Option(
        "store",
        "WHAT",
        "store only this of what is fetched; like 'application/pdf,< 5 MB,/reports/'",
        {"type": lambda text: text.split(",")},
    ),
    _Option(
        "requisites",
        "WHICH",
        "none; same-site or page: fetch the images, styles, scripts and fonts of pages, too",
    ),
    _Option(
        "max_queries",
        "N",
        "different queries of one path, like /list?page=2 (10000)",
        {"type": _whole},
    ),
    _Option("connections", "N", "requests to a host at once (one on average)", {"type": _whole}),
    _Option(
        "delay",
        "TIME",
        "between two requests to a host (what the server takes to answer; 100ms at the least, 10ms"
        " at a private address); 0 for servers of your own",
    ),
    _Option("user_agent", "TEXT", "in place of Headgate's own name"),
    _Option("robots_agent", "NAME", "the product token to look for in robots.txt (headgate)"),
    _Option(
        "headers",
        "'NAME: VALUE'",
        "a header of your own, for hosts of seeds; VALUE may be env:NAME or file:PATH; repeatable",
        {"action": "append"},
    ),
    _Option("auth", "HOW", "'basic env:NAME' (name:password) or 'bearer env:NAME', or file:PATH"),
    _Option("cookies", "FILE", "cookies.txt in Netscape format"),
    _Option("login", "URL", "a page with a login form, filled in and posted once"),
    _Option(
        "login_fields",
        "NAME=VALUE",
        "of that form; the password as NAME=env:VARIABLE or NAME=file:PATH; repeatable",
        {"action": "append"},
    ),
    _Option("proxy", "URL", "http://HOST:PORT or socks5://HOST:PORT, or env:NAME with one"),
    _Option("client_certificate", "FILE", "a PEM file with certificate and key"),
    _Option("robots", "ignore", "do not obey robots.txt on the seeds' hosts; the report says so"),
)


def add_site_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for each site whose table in the file does not say")
    for option in _OPTIONS:
        group.add_argument(option.name, metavar=option.metavar, help=option.help, **option.words)


def asked_options(args: argparse.Namespace) -> SiteDefaults:
    """The options that were given."""
    given = ((option.key, getattr(args, option.key)) for option in _OPTIONS)
    return {key: value for key, value in given if value is not None}
