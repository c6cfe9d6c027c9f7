"""A process that takes pages to read and never answers."""

from __future__ import annotations

from headgate.crawling.child_process import Pipe


def main(pipe: Pipe) -> None:
    for _ in pipe:
        pass
