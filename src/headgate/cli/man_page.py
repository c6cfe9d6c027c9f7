"""``headgate --man``: the help of all commands as one manual page (roff)."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["man_page"]

_USAGE = re.compile(r"^usage: ", re.MULTILINE)


def man_page(version: str, summaries: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """From each command's summary and help text."""
    lines = [
        f'.TH HEADGATE 1 "" "headgate {version}" "User Commands"',
        ".SH NAME",
        r"headgate \- a web crawler that keeps its promises",
        ".SH SYNOPSIS",
        r".B headgate",
        r"\fICOMMAND\fR [\fIOPTION\fR...]",
        ".SH DESCRIPTION",
        "Crawls sites within a bandwidth and by their deadlines.",
        "Every option may also come from the environment: HEADGATE_OUT=archive is",
        _escaped("--out archive."),
        ".SH COMMANDS",
    ]
    for name, summary in summaries.items():
        lines += [".TP", f".B {name}", _escaped(summary)]
    for name, text in texts.items():
        # The help is laid out already: keep examples and columns as they are.
        lines += [f'.SH "HEADGATE {name.upper()}"', ".nf", _body(text), ".fi"]
    return "\n".join(lines) + "\n"


def _body(text: str) -> str:
    return _escaped(_USAGE.sub("", text).rstrip())


def _escaped(text: str) -> str:
    r"""Escaped so that roff shows it literally and options can be copied.

    >>> print(_escaped("--out DIR\n.hidden\n'quoted' c:\\x"))
    \-\-out DIR
    \&.hidden
    \&'quoted' c:\ex
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\&", text, flags=re.MULTILINE)
