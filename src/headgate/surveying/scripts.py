"""Which URLs of a server's scripts may be requested (Nakahira 2008).

Only one URL of each script is fetched. A script is a host and path that was found with a query; the
first such URL that is fetched uses it up, for other queries and for the bare path. A page without a
query uses nothing up. Of several queries the first that was found waits; a bare path waits, too,
and is dropped only if a query was fetched before it.
"""

from __future__ import annotations

__all__ = ["ScriptRule"]


class ScriptRule:
    """One fetch per script. Grows by a string for each script met.

    >>> rule = ScriptRule()
    >>> [rule.met(f"http://a/{rest}") for rest in ("s", "s?p=1", "s?p=2", "t")]
    [True, True, False, True]
    >>> rule.fetched("http://a/s?p=1")
    >>> rule.used_up("http://a/s"), rule.used_up("http://a/t"), rule.met("http://a/s")
    (True, False, False)
    """

    __slots__ = ("_used", "scripts")

    def __init__(self) -> None:
        self.scripts: dict[str, int] = {}
        """Host and path of each script, with the number of its URLs found."""
        self._used: dict[str, None] = {}
        """A dict because most servers have none: an empty set takes three times as much."""

    def met(self, url: str) -> bool:
        """A URL was found; returns whether it should wait."""
        key = _script(url)
        times = self.scripts.get(key, 0)
        if times or "?" in url:
            self.scripts[key] = times + 1
        return key not in self._used if "?" not in url else not times

    def knows(self, url: str) -> bool:
        """Whether it belongs to a known script."""
        return _script(url) in self.scripts

    def glimpsed(self, url: str) -> bool:
        """A URL with a query that is too deep; returns whether it is its script's first."""
        key = f"?{_script(url)}"
        first = key not in self._used
        self._used[key] = None
        return first

    def used_up(self, url: str) -> bool:
        """Whether its script was fetched meanwhile, under another URL."""
        return _script(url) in self._used

    def fetched(self, url: str) -> None:
        if "?" in url:
            self._used[_script(url)] = None

    def redirected(self, url: str) -> None:
        """The same URL has to be fetched once more, under another scheme."""
        self._used.pop(_script(url), None)


def _script(url: str) -> str:
    """Host and path."""
    return url.partition("?")[0].partition("://")[2]
