"""What a style sheet refers to: other style sheets it imports, pictures, fonts."""

from __future__ import annotations

import re

__all__ = ["css_references", "style_references"]

_MOST_CHARACTERS = 2_000_000
_MOST_REFERENCES = 5_000
_COMMENT = re.compile(r"/\*[\s\S]*?(?:\*/|\Z)")
_REFERENCE = re.compile(
    r"\burl\(\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s\"'()]+))"
    r"|@import\s+(?:\"([^\"\n]*)\"|'([^'\n]*)')",
    re.IGNORECASE,
)
_STYLE = re.compile(
    r"<style\b[^>]*>([\s\S]*?)(?:</style|\Z)|\sstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)')",
    re.IGNORECASE,
)


def css_references(sheet: str) -> list[str]:
    """As written, without repetition and without ``data:`` URLs.

    >>> css_references("@import 'a.css'; b { background: url( c.png ) } /* url(d) */")
    ['a.css', 'c.png']
    """
    found: dict[str, None] = {}
    for match in _REFERENCE.finditer(_COMMENT.sub(" ", sheet[:_MOST_CHARACTERS])):
        reference = next((group for group in match.groups() if group), "").strip()
        if reference and not reference.lower().startswith(("data:", "#", "about:")):
            found[reference] = None
        if len(found) >= _MOST_REFERENCES:
            break
    return list(found)


def style_references(page: str) -> list[str]:
    """The same of the styles in a page of HTML.

    >>> style_references('<p style="background: url(a.png)"><style>b{src:url(c.woff)}</style>')
    ['a.png', 'c.woff']
    """
    found = _STYLE.finditer(page[:_MOST_CHARACTERS])
    styles = (next((group for group in match.groups() if group), "") for match in found)
    return css_references("\n".join(style for style in styles if "url(" in style or "@" in style))
