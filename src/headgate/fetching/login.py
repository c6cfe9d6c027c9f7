"""Logs in by a form: requests its page, fills it in and posts it, once.

The form is the first on the page with fields of the given names; its other fields, such as hidden
tokens, are sent unchanged. The login failed if the response is an error or has the same form again.
Nothing of it is archived.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlencode, urlsplit

from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.reading.charset import decode
from headgate.reading.content_coding import decode_content
from headgate.reading.forms import find_form
from headgate.reading.urls import in_header, join

__all__ = ["Ask", "log_in"]

_MOST_BYTES = 2_000_000
_EXPECTED_BYTES = 20_000
_MOST_REDIRECTS = 5
_FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
Ask = Callable[[FetchRequest], Awaitable[Fetched | FetchFailure]]


async def log_in(site: str, url: str, fields: Mapping[str, str], ask: Ask) -> str:
    """Returns why it failed; empty: it succeeded. ``ask`` keeps the cookies."""
    page = await _got(site, url, ask)
    if isinstance(page, str):
        return f"{url}: {page}"
    form = find_form(_text(page), page.url, fields)
    if form is None:
        names = ", ".join(sorted(fields))
        return f"{url}: there is no form with fields {names} (status {page.status})"
    action, asked_for = urlsplit(form.action), urlsplit(url)
    if action.hostname != asked_for.hostname:
        return f"{url}: its form goes to another host"
    if asked_for.scheme == "https" and action.scheme != "https":
        return f"{url}: its form would be sent without encryption"
    body = urlencode({**form.fields, **fields})
    if form.method == "POST":
        asked = FetchRequest(
            form.action,
            site,
            _EXPECTED_BYTES,
            _MOST_BYTES,
            _FORM,
            method="POST",
            body=body.encode(),
        )
    else:
        query = f"{form.action.partition('?')[0]}?{body}"
        asked = FetchRequest(query, site, _EXPECTED_BYTES, _MOST_BYTES)
    answer = await _followed(site, await ask(asked), ask)
    if isinstance(answer, str):
        return f"{url}: {answer}"
    if find_form(_text(answer), answer.url, fields) is not None:
        return f"{url}: the login was refused; the form came again"
    return f"{url}: the login was refused: {answer.status}" if answer.status >= 400 else ""


async def _got(site: str, url: str, ask: Ask) -> Fetched | str:
    request = FetchRequest(url, site, _EXPECTED_BYTES, _MOST_BYTES)
    return await _followed(site, await ask(request), ask)


async def _followed(site: str, answer: Fetched | FetchFailure, ask: Ask) -> Fetched | str:
    """The page after redirects, or why there is none."""
    for _ in range(_MOST_REDIRECTS):
        if isinstance(answer, FetchFailure):
            return answer.detail or answer.kind.value
        target = in_header(answer.header("location"))
        if not (300 <= answer.status < 400 and target):
            break
        url = join(answer.url, target)
        if url is None or urlsplit(url).hostname != urlsplit(answer.url).hostname:
            return "it leads to another host"
        answer = await ask(FetchRequest(url, site, _EXPECTED_BYTES, _MOST_BYTES))
    if isinstance(answer, FetchFailure):
        return answer.detail or answer.kind.value
    return answer


def _text(page: Fetched) -> str:
    body = decode_content(page.payload, page.coding, _MOST_BYTES).data
    return decode(body, page.header("content-type") or "")
