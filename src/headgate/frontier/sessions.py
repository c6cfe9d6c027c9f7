"""Session ids in URLs, taken out.

A server that keeps its sessions in URLs hands out the same page under a new URL on every visit.
Refusing such URLs would lose the whole site, since all its links carry the id; taking the id out
leaves the plain URL, which the server answers with a new session at worst. So it is taken out
before URLseen is asked.

Known: ``;jsessionid=...`` and ``;sid=...`` behind the path, ASP.NET's ``/(S(...))/``, and query
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
"""Every session id known here has one of these in its URL, in lower case."""

_SURE = "phpsessid|jsessionid|aspsessionid[a-z]*|cfid|cftoken|zenid|oscsid|sess(?:ion)?_?id"
_UNSURE = "sid|session|sess"
_RANDOM = r"(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z]{16,}"
_PARAMETER = rf"(?<=[?&])(?:(?:{_SURE})=[^&#]*|(?:{_UNSURE})={_RANDOM}(?![^&#]))(?:&|(?=#|$))"
_PATH_PARAMETER = rf";(?:(?:{_SURE})=[^;/?#]*|(?:{_UNSURE})={_RANDOM}(?![^;/?#]))"
_ASP_SEGMENT = r"/\(S\([0-9a-z]{16,}\)\)(?=/)"


def may_carry_session(urls: Iterable[str]) -> bool:
    """Whether a look at each of these URLs is worth its cost; asked once for a page.

    >>> may_carry_session(["http://a/?page=2"]), may_carry_session(["http://a/?PHPSESSID=7"])
    (False, True)
    """
    text = "\n".join(urls)
    if "?" not in text and ";" not in text and "(" not in text:
        return False
    text = text.lower()
    return any(hint in text for hint in _HINTS)


def without_session(url: str) -> str:
    """The URL with its session id taken out.

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
    """When it is first needed: few sites have sessions in their URLs."""
    return re.compile(pattern, re.IGNORECASE)
