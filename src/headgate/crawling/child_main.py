"""What every `headgate.crawling.child_process.Child` runs first.

Its arguments are a module, the parent's process id, the number of the pipe's file, and what the
module's function ``main`` gets besides the pipe.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing, suppress
from importlib import import_module

from headgate.crawling.child_process import Pipe, die_with_parent, leave_signals_to_parent

__all__: list[str] = []


def main() -> None:
    module, parent, end, *arguments = sys.argv[1:]
    leave_signals_to_parent()
    die_with_parent(int(parent))
    with suppress(OSError):  # the parent may have closed its own
        os.dup2(2, 1)  # what a child prints is no result of the command
    with closing(Pipe(socket.socket(fileno=int(end)))) as pipe:
        import_module(module).main(pipe, *arguments)


if __name__ == "__main__":
    main()
