"""Arguments that several commands have, and their types."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headgate.cli.terminal import say
from headgate.engine.site_inputs import SiteDefaults
from headgate.model.errors import UserMistake

__all__ = [
    "DEFAULT_FOLDER",
    "add_folder",
    "add_out",
    "add_site_options",
    "asked_options",
    "at_least_one",
    "named_folder",
    "read_by",
    "say_that_proxies_are_not_used",
]


# Argument types for argparse, and arguments that several commands have.


DEFAULT_FOLDER = Path("headgate-data")

Value = TypeVar("Value")


def at_least_one(text: str) -> int:
    """An integer of at least 1; one with more digits than any count has is a mistake."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999999999")
    return int(text)


def named_folder(text: str) -> Path:
    """A folder; an empty name is an error, since it is usually a shell variable that was not
    set."""
    if not text:
        raise argparse.ArgumentTypeError("the folder has no name")
    return Path(text)


def read_by(reader: Callable[[str], Value]) -> Callable[[str], Value]:
    """A parsing function as an argparse type, so that its error names the option."""

    def read(text: str) -> Value:
        try:
            return reader(text)
        except UserMistake as mistake:
            raise argparse.ArgumentTypeError(str(mistake)) from None

    return read


def add_folder(parser: argparse.ArgumentParser, what: str = "the collection") -> None:
    """DIR, for commands that read a collection."""
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=DEFAULT_FOLDER,
        help=f"{what} (default: {DEFAULT_FOLDER})",
    )


def add_out(parser: argparse.ArgumentParser, default: Path = DEFAULT_FOLDER) -> None:
    """--out, for commands that fill a collection."""
    parser.add_argument(
        "--out", metavar="DIR", type=named_folder, default=default, help=f"({default})"
    )


_NAMES = ("http_proxy", "https_proxy", "all_proxy")


def say_that_proxies_are_not_used() -> None:
    """Proxies in environment variables: Headgate uses one only if told to, and says so.

    Print one line if the environment names a proxy.
    """
    named = [name for key in _NAMES for name in (key, key.upper()) if os.environ.get(name)]
    if named:
        say(f"{named[0]} is set but not used; --proxy env:{named[0]} would")


# Options that set keys of the site file for all sites, with the same names.
#
# An option applies to sites whose tables do not have the key; the site file wins.


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
