"""A demo server's answer to a request: a response, or a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from html import escape
from typing import TypeAlias

from headgate.lab.worlds.demo_prose import Prose

__all__ = [
    "Answer",
    "Answering",
    "Asked",
    "Failing",
    "Response",
    "document",
    "missing",
    "moved",
    "text",
]

_STYLE = (
    "body{font:17px/1.5 serif;max-width:40em;margin:2em auto;color:#222}nav a{margin-right:1em}"
)


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers beside the usual ones, and body."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def etag(self) -> str:
        return f'"{blake2b(self.body, digest_size=8).hexdigest()}"'


class Failing(Enum):
    """Ways to fail that a client can distinguish."""

    RESET = "the connection is reset"
    BROKEN_CHUNKS = "the body's chunks make no sense"
    CUT_SHORT = "the connection closes inside the body"


@dataclass(frozen=True, slots=True)
class Asked:
    """A GET, as far as answers depend on it."""

    path: str
    """With its query."""
    times: int = 0
    """How often it was requested before."""
    origin: str = "http://localhost"
    """Of the server."""


Answer: TypeAlias = Response | Failing
Answering: TypeAlias = Callable[[Asked], Answer]


def document(
    title: str, links: Sequence[tuple[str, str]], *, size: int = 2000, key: object = ()
) -> Response:
    """A page with about ``size`` bytes of prose and links as (target, words)."""
    paragraphs = Prose(title, key).paragraphs(size)
    body = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    nav = " ".join(f'<a href="{escape(target)}">{escape(words)}</a>' for target, words in links)
    page = (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}\n<nav>{nav}</nav></body>\n</html>\n"
    )
    return Response(page.encode())


def text(words: str, content_type: str = "text/plain; charset=utf-8") -> Response:
    return Response(words.encode(), content_type)


def moved(target: str) -> Response:
    return Response(b"moved\n", "text/plain", 302, (("Location", target),))


def missing() -> Response:
    page = document("Nothing here", [("/", "To the start")], size=200)
    return Response(page.body, status=404)
