"""The process in which large pages are read.

A message is a function with its arguments, pickled; the answer, too, says whether it succeeded, and
has the result or the error.
"""

from __future__ import annotations

import pickle

from headgate.crawling.child_process import Pipe

__all__ = ["main"]


def main(pipe: Pipe) -> None:
    for message in pipe:
        pipe.send(_answer(message))
        del message  # megabytes, to be freed before the next one comes


def _answer(message: bytes) -> bytes:
    try:
        read, args, kwargs = pickle.loads(message)
        return _pickled((True, read(*args, **kwargs)))
    except Exception as error:
        return _pickled((False, error))


def _pickled(answer: tuple[bool, object]) -> bytes:
    return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
