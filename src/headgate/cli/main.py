"""The ``headgate`` command: finds the command that is meant, runs it, turns errors into exit codes.

Exit codes: 0 done, 1 the world failed, 2 the user's mistake, 3 not feasible (with ``--strict``),
130 interrupted, 141 nobody reads the output any more. An error is one line on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from headgate.model.errors import HeadgateError, UserMistake

__all__ = ["COMMANDS", "command_parser", "main"]

COMMANDS = {
    "crawl": "crawl sites within a bandwidth and by their deadlines",
    "survey": "servers and the links between them, for the least load",
    "plan": "can all deadlines be met, and how? Rates, start and end of every site",
    "budget": "change the bandwidth of a running crawl",
    "servers": "how fast each server is, by the hour, as crawls measured it",
    "report": "what a run promised and what it kept, in words and as a page",
    "export": "a run's pages or links as CSV, lines of JSON or Parquet",
    "demo": "a small web of its own, crawled under a budget with deadlines",
    "lab": "reproduce the papers",
}
"""Each name is also the name of the command's module beside this one."""

FAILED, MISTAKE, INTERRUPTED, NOT_READ = 1, 2, 130, 141


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print over several lines."""

    def error(self, message: str) -> NoReturn:
        raise UserMistake(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; what ``sys.exit`` should be called with."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
    except UserMistake as mistake:
        return _complain(str(mistake), MISTAKE)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Python flushes stdout once more on its way out, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_READ
    except (HeadgateError, OSError) as fault:
        return _complain(_reason(fault), FAILED)
    return code


def command_parser(command: str) -> argparse.ArgumentParser:
    """The parser of one command's arguments."""
    parser = _Parser(
        prog=f"headgate {command}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    import_module(f"headgate.cli.{command}").configure(parser)
    return parser


def _run(words: list[str]) -> int:
    if not words:
        sys.stderr.write(_help())
        return MISTAKE
    if words[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0
    if words[0] in ("-V", "--version"):
        return _print_version()
    command = _command(words[0])
    args = _parsed(command_parser(command), words[1:])
    code: int = import_module(f"headgate.cli.{command}").run(args)
    return code


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return f"""usage: headgate COMMAND [OPTION...]

A web crawler that keeps its promises: this much bandwidth, these sites, these deadlines.

commands:
{commands}

"headgate COMMAND --help" tells more about one; "headgate --version" says which Headgate this is.
"""


def _print_version() -> int:
    from importlib.metadata import version

    print(f"headgate {version('headgate')}")
    return 0


def _command(word: str) -> str:
    if word in COMMANDS:
        return word
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "headgate --help lists them"
    what = "option" if word.startswith("-") else "command"
    raise UserMistake(f"there is no {what} {word!r}; {remedy}")


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    args, unknown = parser.parse_known_args(words)
    if unknown:
        from difflib import get_close_matches

        options = [option for option in parser.format_help().split() if option.startswith("--")]
        near = get_close_matches(unknown[0].split("=")[0], options, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"see {parser.prog} --help"
        raise UserMistake(f"{unknown[0]!r} is not understood; {remedy}")
    return args


def _complain(problem: str, code: int) -> int:
    sys.stderr.write(f"headgate: {' '.join(problem.splitlines())}\n")
    return code


def _reason(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror
    return str(fault) or type(fault).__name__
