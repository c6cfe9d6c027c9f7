"""Parses starting URLs: single ones, or a list in which some lines are no URLs."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.reading.urls import host, normalise

__all__ = ["StartList", "start_url"]


@dataclass(frozen=True, slots=True)
class StartList:
    urls: tuple[str, ...]
    """In order, without repetition."""
    bad_lines: tuple[tuple[int, str], ...]
    """Line numbers from 1 on, with their text: a list of thousands always has some."""

    @classmethod
    def of(cls, text: str) -> StartList:
        """A URL on each line; empty lines and comments (#) are skipped.

        >>> StartList.of("example.org/a\\n\\n# no\\nnot a URL\\nexample.org/a")
        StartList(urls=('http://example.org/a',), bad_lines=((4, 'not a URL'),))
        """
        urls: dict[str, None] = {}
        bad: list[tuple[int, str]] = []
        for number, line in enumerate(text.splitlines(), 1):
            word = line.strip()
            if not word or word.startswith("#"):
                continue
            url = start_url(word)
            if url is None:
                bad.append((number, word))
            else:
                urls[url] = None
        return cls(tuple(urls), tuple(bad))


def start_url(word: str) -> str | None:
    """The normalised URL, with http by default; None: it is no URL."""
    if any(char.isspace() for char in word):
        return None
    url = normalise(word if "://" in word else f"http://{word}")
    name = "" if url is None else host(url)
    return url if "." in name or ":" in name or name == "localhost" else None
