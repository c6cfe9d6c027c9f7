"""``headgate completion``: a completion script for your shell.

The script lists all commands and options of this version: calling Headgate at each key would mean
waiting for Python to start. Where an option takes a value, or no option is begun, file names are
completed.
"""

from __future__ import annotations

import argparse
import re

from headgate.cli.terminal import show

__all__ = ["configure", "run", "script"]

SHELLS = ("bash", "zsh", "fish")

_DESCRIPTION = """\
Print a script by which a shell completes Headgate's commands and options with the Tab key.
"""

_EXAMPLES = """\
examples:
  headgate completion bash > ~/.local/share/bash-completion/completions/headgate
  headgate completion zsh > "${fpath[1]}/_headgate"
  headgate completion fish > ~/.config/fish/completions/headgate.fish
"""

_BASH = """\
# bash completion of headgate; made by "headgate completion bash"
_headgate() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" first="${{COMP_WORDS[1]}}" options=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "$first" in
{cases}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _headgate headgate
"""

_ZSH = """\
#compdef headgate
# zsh completion of headgate; made by "headgate completion zsh"
_headgate() {{
    local -a words_of options
    if (( CURRENT == 2 )); then
        words_of=({commands})
        _describe command words_of
        return
    fi
    case "$words[2]" in
{cases}
    esac
    if [[ "$words[CURRENT]" == -* ]]; then
        compadd -- $options
    else
        _files
    fi
}}
compdef _headgate headgate
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("shell", choices=SHELLS, help="which")


def run(args: argparse.Namespace) -> int:
    show(script(args.shell).rstrip("\n"))
    return 0


def script(shell: str) -> str:
    """The script for one of `SHELLS`."""
    from headgate.cli.main import COMMANDS  # it imports commands, of which this is one

    own = {name: _options(name) for name in COMMANDS if " " not in name}
    if shell == "fish":
        return _fish(COMMANDS, own)
    if shell == "zsh":
        words = " ".join(_quoted(f"{name}:{COMMANDS[name]}") for name in own)
        cases = [f"        {name}) options=({' '.join(words)}) ;;" for name, words in own.items()]
        return _ZSH.format(commands=words, cases="\n".join(cases))
    cases = [f'        {name}) options="{" ".join(words)}" ;;' for name, words in own.items()]
    return _BASH.format(commands=" ".join(own), cases="\n".join(cases))


def _options(command: str) -> list[str]:
    """Long ones, in the order of the help."""
    from headgate.cli.main import command_parser

    usage = command_parser(command).format_usage()
    return ["--help", *dict.fromkeys(re.findall(r"--[a-z][a-z-]+", usage))]


def _fish(summaries: dict[str, str], own: dict[str, list[str]]) -> str:
    lines = ['# fish completion of headgate; made by "headgate completion fish"']
    lines += [
        f"complete -c headgate -n __fish_use_subcommand -a {name} -d {_quoted(summaries[name])}"
        for name in own
    ]
    for name, options in own.items():
        lines += [
            f"complete -c headgate -n '__fish_seen_subcommand_from {name}' -l {option[2:]}"
            for option in options
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
