"""The ``headgate`` command: finds the subcommand, runs it, turns errors into exit codes.

Exit codes: 0 done, 1 the world failed, 2 the user's mistake, 3 not feasible or a deadline missed
(with ``--strict``), 4 nothing could be fetched, 130 interrupted, 141 the output pipe was closed. An
error is one line on stderr.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from headgate.cli.terminal import raising, say, show
from headgate.model.errors import HeadgateError, UserMistake, extra

__all__ = ["COMMANDS", "command_parser", "environment_words", "main", "man_page", "variable"]

COMMANDS = {
    "crawl": "crawl sites within a bandwidth and by their deadlines",
    "keep": "keep a collection fresh within the budget, for months",
    "manager": "crawl with many machines: tasks to nodes, results into one collection",
    "node": "lend this machine to a manager, within what its owner allows",
    "survey": "servers and the links between them, with as little load as possible",
    "survey diff": "what has changed between two surveys",
    "plan": "can all deadlines be met, and how? Rates, start and end of every site",
    "budget": "change the bandwidth of a running crawl",
    "servers": "how fast each server is, by the hour, as crawls measured it",
    "report": "what a run promised and what happened, in words and as a page",
    "changes": "which pages are new, changed or gone since earlier crawls",
    "export": "pages as text, Markdown, tables, SQLite or WACZ",
    "demo": "a small web of its own, crawled under a budget with deadlines",
    "lab": "reproduce the papers",
    "completion": "a completion script for your shell",
}
"""Each name, with _ for a blank, is also the name of the command's module in this package."""

_MEANT = {
    "--bwlimit": "--bandwidth",
    "--concurrency": "--crawlers",
    "--cookie-jar": "--cookies",
    "--directory-prefix": "--out",
    "--header": "--headers",
    "--ignore-robots": "--robots",
    "--load-cookies": "--cookies",
    "--jobs": "--processes",
    "--level": "--depth",
    "--limit-rate": "--bandwidth",
    "--max-depth": "--depth",
    "--output": "--out",
    "--output-dir": "--out",
    "--page-requisites": "--requisites",
    "--rate-limit": "--bandwidth",
    "--wait": "--delay",
    "--workers": "--processes",
}
"""Options of other crawlers, and their names here."""
_TYPO = 0.8
"""Similarity above which a word counts as a typo of another."""

FAILED, MISTAKE, INTERRUPTED, NOT_READ = 1, 2, 130, 141


class _Parser(argparse.ArgumentParser):
    """Raises an error where argparse would print several lines."""

    def error(self, message: str) -> NoReturn:
        raise UserMistake(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
    except UserMistake as mistake:
        return _complain(str(mistake), MISTAKE)
    except KeyboardInterrupt as interrupt:
        return _complain(str(interrupt) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Python flushes stdout once more on its way out, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_READ
    except (HeadgateError, OSError) as fault:
        return _complain(_reason(fault), FAILED)
    return code


def command_parser(command: str) -> argparse.ArgumentParser:
    """The argument parser of one command."""
    parser = _Parser(
        prog=f"headgate {command}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _module(command).configure(parser)
    return parser


def _run(words: list[str]) -> int:
    if not words:
        sys.stderr.write(_help())
        return MISTAKE
    if words[0] == "help" and words[1:]:
        sys.stdout.write(command_parser(_command(words[1:])).format_help())
        return 0
    if words[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0
    if words[0] in ("-V", "--version"):
        return _print_version()
    if words[0] == "--man":
        return _print_man_page()
    command = _command(words)
    args = _parsed(command_parser(command), words[len(command.split()) :])
    with raising():
        code: int = _module(command).run(args)
    return code


def _module(command: str) -> ModuleType:
    if command == "lab":
        return extra("headgate_lab.command", "reproductions of the papers", "lab")
    return import_module(f"headgate.cli.{command.replace(' ', '_')}")


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return f"""usage: headgate COMMAND [OPTION...]

A web crawler that keeps its promises: this much bandwidth, these sites, these deadlines.

commands:
{commands}

"headgate help COMMAND" tells more about one, "headgate --man | man -l -" all of it;
"headgate --version" says which Headgate this is.
"""


def _print_version() -> int:
    from headgate.model.version import VERSION

    show(f"headgate {VERSION}")
    return 0


def _print_man_page() -> int:

    from headgate.model.version import VERSION

    texts = {command: command_parser(command).format_help() for command in COMMANDS}
    sys.stdout.write(man_page(VERSION, COMMANDS, texts))
    return 0


def _command(words: Sequence[str]) -> str:
    """The command that a line begins with, of two words or one."""
    for length in (2, 1):
        if " ".join(words[:length]) in COMMANDS:
            return " ".join(words[:length])
    word = words[0]
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "headgate --help lists them"
    what = "option" if word.startswith("-") else "command"
    raise UserMistake(f"there is no {what} {word!r}; {remedy}")


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    args, unknown = parser.parse_known_args([*environment_words(parser, words, os.environ), *words])
    if unknown:
        from difflib import get_close_matches

        options = [option for option in parser.format_help().split() if option.startswith("--")]
        asked = unknown[0].split("=")[0]
        near = [option for option in (_MEANT.get(asked),) if option in options]
        near = near or get_close_matches(asked, options, n=1, cutoff=_TYPO)
        remedy = f"did you mean {near[0]}?" if near else f"see {parser.prog} --help"
        raise UserMistake(f"{unknown[0]!r} is not understood; {remedy}")
    return args


def _complain(problem: str, code: int) -> int:
    say(problem)
    return code


def _reason(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror
    return str(fault) or type(fault).__name__


# Options that the environment gives: ``HEADGATE_OUT=archive`` is ``--out archive`` everywhere.
#
# The command line wins. Only options that a command has are looked for, so that one variable may
# serve some commands and not others.


_YES, _NO = frozenset(("1", "true", "yes")), frozenset(("", "0", "false", "no"))
_TAKEN = frozenset(("HEADGATE_SITE", "HEADGATE_URL", "HEADGATE_KIND", "HEADGATE_CHANGE"))
"""Variables that Headgate sets for ``on_change`` commands; not options."""


def variable(option: str) -> str:
    """
    >>> variable("--max-pages")
    'HEADGATE_MAX_PAGES'
    """
    return f"HEADGATE_{option.removeprefix('--').replace('-', '_').upper()}"


def environment_words(
    parser: argparse.ArgumentParser, words: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """The arguments that environment variables add to a command line."""
    given = {word.partition("=")[0] for word in words}
    added: list[str] = []
    for action in parser._actions:  # noqa: SLF001 (argparse has no other way to ask)
        option = next((name for name in action.option_strings if name.startswith("--")), "")
        name = variable(option)
        unfit = option in ("", "--help") or name in _TAKEN or name not in environment
        if unfit or not given.isdisjoint(action.option_strings):
            continue
        added += _words(option, name, environment[name], flag=action.nargs == 0)
    return added


def _words(option: str, name: str, value: str, *, flag: bool) -> list[str]:
    if not flag:
        return [f"{option}={value}"] if value else []
    if value.lower() in _YES:
        return [option]
    if value.lower() not in _NO:
        raise UserMistake(f"{name} is {value!r}; {option} is a switch: write 1 or 0")
    return []


_USAGE = re.compile(r"^usage: ", re.MULTILINE)


def man_page(version: str, summaries: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """``headgate --man``: the help of all commands as one manual page (roff).

    From each command's summary and help text.
    """
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
