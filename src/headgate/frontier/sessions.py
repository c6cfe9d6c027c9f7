"""Removes session ids from URLs.

A server with session ids in URLs serves the same page under a new URL on every visit. Refusing such
URLs would lose the whole site, since all its links have the id; without the id, the server at worst
starts a new session. So it is removed before the lookup in URLseen.

Known: ``;jsessionid=...`` and ``;sid=...`` after the path, ASP.NET's ``/(S(...))/``, and query
parameters named like PHPSESSID. Names that also mean other things (``sid``, ``session``) count
only with a value of 16 or more letters and digits, both of them: ``sid=12`` is a section,
``sid=4f8a60c1b2d97e35`` a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

__all__ = ["may_carry_session", "without_session"]

_HINTS = ("sid=", "session", "sess=", "sess_id=", "cfid=", "cftoken=", "zenid=", "/(s(")
"""Every URL with a known session id contains one of these, in lower case."""

_SURE = "phpsessid|jsessionid|aspsessionid[a-z]*|cfid|cftoken|zenid|oscsid|sess(?:ion)?_?id"
_UNSURE = "sid|session|sess"
_RANDOM = r"(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z]{16,}"
_PARAMETER = rf"(?<=[?&])(?:(?:{_SURE})=[^&#]*|(?:{_UNSURE})={_RANDOM}(?![^&#]))(?:&|(?=#|$))"
_PATH_PARAMETER = rf";(?:(?:{_SURE})=[^;/?#]*|(?:{_UNSURE})={_RANDOM}(?![^;/?#]))"
_ASP_SEGMENT = r"/\(S\([0-9a-z]{16,}\)\)(?=/)"


def may_carry_session(urls: Iterable[str]) -> bool:
    """A quick test for all URLs of a page: whether any may have a session id.

    >>> may_carry_session(["http://a/?page=2"]), may_carry_session(["http://a/?PHPSESSID=7"])
    (False, True)
    """
    text = "\n".join(urls)
    if "?" not in text and ";" not in text and "(" not in text:
        return False
    text = text.lower()
    return any(hint in text for hint in _HINTS)


def without_session(url: str) -> str:
    """The URL without its session id.

    >>> without_session("http://a/x?p=1&PHPSESSID=0f&q=2"), without_session("http://a/x?sid=7")
    ('http://a/x?p=1&q=2', 'http://a/x?sid=7')
    >>> without_session("http://a/x.jsp;jsessionid=0A1?p=1"), without_session("http://a/?cfid=9")
    ('http://a/x.jsp?p=1', 'http://a/')
    """
    if ";" in url:
        url = _compiled(_PATH_PARAMETER).sub("", url)
    if "(" in url:
        url = _compiled(_ASP_SEGMENT).sub("", url)
    path, mark, query = url.partition("?")
    if not mark:
        return url
    stripped = _compiled(_PARAMETER).sub("", mark + query)
    if stripped == mark + query:
        return url
    return path + stripped.rstrip("?&")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: few sites have session ids in URLs."""
    return re.compile(pattern, re.IGNORECASE)
