"""The HTML frame of all pages, which need no network and no other file.

The content security policy allows only the page's own scripts and styles, and no requests.
"""

from __future__ import annotations

import base64
from hashlib import sha256

from headgate.views.chart import HATCH
from headgate.views.markup import Markup, element, joined, raw
from headgate.views.own_files import own_file

__all__ = ["document", "section"]

_STYLE = ("colours.css", "charts.css", "page.css")


def document(title: str, body: Markup) -> str:
    style = "".join(map(own_file, _STYLE))
    script = own_file("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        raw('<meta charset="utf-8">'),
        raw(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        raw('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        raw('<meta name="color-scheme" content="light dark">'),
        element("title", title),
        element("style", raw(style)),
    )
    page = element(
        "html",
        element("head", joined(head, "\n")),
        element(
            "body",
            element("svg", HATCH, class_="hidden", aria_hidden="true"),
            element("main", body),
            element("div", id="tip", hidden="hidden"),
            element("script", raw(script)),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def section(heading: str, content: Markup | None, note: str = "", otherwise: str = "") -> Markup:
    """Empty without content or a text for that case."""
    if content is None and not otherwise:
        return Markup("")
    parts = [element("h2", heading)]
    if content is None:
        parts.append(element("p", otherwise, class_="note"))
    else:
        parts += [element("p", note, class_="note")] if note else []
        parts.append(content)
    return element("section", *parts)
