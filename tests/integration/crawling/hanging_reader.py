"""A process that takes pages to read and never answers."""

from __future__ import annotations

from headgate.crawling.child_process import Channel


def main(channel: Channel) -> None:
    for _ in channel:
        pass
