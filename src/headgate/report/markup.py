"""Safe HTML and SVG: whatever is not markup already is escaped.

Site names, hosts and reasons come from strangers. A plain ``str`` given as content or attribute is
text and stays text; only `element` and `joined` make markup. Bidirectional controls and characters
that pages, or XML of any kind, must not contain are shown as �.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

__all__ = ["Markup", "element", "joined", "printable", "raw", "shortened"]

_LEAVES = frozenset(("circle", "line", "path", "rect", "use"))
"""SVG elements without content, closed as in XML."""
_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_NO_CHARACTERS = frozenset("\ufffe\uffff")
"""A feed with one of them is no XML, and no reader shows any of it."""

Value = str | float | None


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: Value) -> Markup:
    """An element; an attribute of None is left out, ``class_`` is written without its underscore.

    >>> element("td", "a < b", class_="late")
    '<td class="late">a &lt; b</td>'
    >>> element("rect", x=1.25, y=2.0, data_site=3)
    '<rect x="1.2" y="2" data-site="3"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _LEAVES:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(content)}</{name}>")


def joined(parts: Iterable[str], separator: str = "") -> Markup:
    """Joined parts; plain text is escaped, the separator is markup."""
    return Markup(separator.join(_as_markup(part) for part in parts))


def raw(text: str) -> Markup:
    """Markup of this package, such as a style sheet; never for input."""
    return Markup(text)


def printable(text: str) -> str:
    """Text as it can be shown in one line, on a page or in a terminal.

    >>> printable("a\\x1b[31m\\nb\\u202ec")
    'a�[31m�b�c'
    """
    if text.isprintable():
        return text
    return "".join("�" if _is_unfit(character) else character for character in text)


def shortened(text: str, most: int) -> str:
    """Text cut to ``most`` characters.

    >>> shortened("abcdef", 4), shortened("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_unfit(character: str) -> bool:
    if character in _TURNING or character in _NO_CHARACTERS:
        return True
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _as_markup(part: str) -> str:
    return part if isinstance(part, Markup) else escape(printable(part))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Markup) else escape(printable(value))
    return f"{value:.1f}".removesuffix(".0")
