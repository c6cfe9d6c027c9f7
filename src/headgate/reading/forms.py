"""Forms of a page, as far as logging in needs them: action and fields.

One pass over the tags of forms and inputs; a form without an end tag extends to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.reading.tags import ATTRIBUTES, BLANK, attributes
from headgate.reading.urls import join

__all__ = ["Form", "find_form"]

_MOST_CHARACTERS = 2_000_000
_TAG = re.compile(
    rf"<(?:!--(?:-?>|[\s\S]*?(?:--!?>|\Z))|(/?)(form|input|button)(?=[{BLANK}/>])({ATTRIBUTES}))",
    re.IGNORECASE,
)
_UNSENT = frozenset(("submit", "button", "image", "reset", "file"))


@dataclass(slots=True)
class Form:
    """``fields`` are those that a browser would send as they are."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Of all inputs, those with nothing in them included."""


def find_form(page: str, url: str, names: Iterable[str]) -> Form | None:
    """The first form that has inputs of all these names.

    >>> page = '<form action="/in" method=post><input name=u><input name=t type=hidden value=7>'
    >>> form = find_form(page, "http://a.example/login", ["u"])
    >>> form.action, form.method, form.fields
    ('http://a.example/in', 'POST', {'u': '', 't': '7'})
    """
    wanted = set(names)
    form: Form | None = None
    for tag in _TAG.finditer(page, 0, _MOST_CHARACTERS):
        kind = (tag[2] or "").lower()
        if kind == "form":
            if form is not None and wanted <= form.names:
                return form
            form = None if tag[1] else _form(attributes(tag[3]), url)
        elif kind and not tag[1] and form is not None:
            _add(form, attributes(tag[3]))
    return form if form is not None and wanted <= form.names else None


def _form(said: Mapping[str, str], url: str) -> Form | None:
    action = join(url, said.get("action") or url)
    return None if action is None else Form(action, said.get("method", "get").strip().upper())


def _add(form: Form, said: Mapping[str, str]) -> None:
    name, kind = said.get("name", ""), said.get("type", "text").strip().lower()
    if not name:
        return
    form.names.add(name)
    unchecked = kind in ("checkbox", "radio") and "checked" not in said
    if kind not in _UNSENT and not unchecked:
        value = said.get("value", "on" if kind in ("checkbox", "radio") else "")
        form.fields.setdefault(name, value)
