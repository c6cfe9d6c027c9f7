"""What benches are asked on the command line: their own words, for `--help`."""

from __future__ import annotations

import argparse

__all__ = ["parser"]


def parser(words: str | None) -> argparse.ArgumentParser:
    """``words``: a bench's docstring."""
    return argparse.ArgumentParser(
        description=words, formatter_class=argparse.RawDescriptionHelpFormatter
    )
