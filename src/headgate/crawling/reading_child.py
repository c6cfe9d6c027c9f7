"""The process in which large pages are read; its argument is its parent's id.

Calls come in on standard input, answers go out on what was standard output.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from headgate.crawling.child_process import die_with_parent, leave_signals_to_parent, receive, send

__all__ = ["serve"]


def serve(calls: BinaryIO, answers: BinaryIO) -> None:
    """Until the parent has closed its end."""
    while True:
        try:
            read, args, kwargs = receive(calls)
        except EOFError:
            return
        try:
            answer = True, read(*args, **kwargs)
        except Exception as error:
            answer = False, error
        send(answers, answer)
        del read, args, kwargs, answer  # megabytes, to be freed before the next call


def main() -> None:
    leave_signals_to_parent()
    die_with_parent(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
