"""Readers of a site's access keys: they check the syntax and do not resolve secrets."""

from __future__ import annotations

import re

from headgate.model.access import IGNORE
from headgate.model.errors import UserMistake
from headgate.site_file.values import ElementMistake, shown, strings, web_address

__all__ = ["ACCESS_READERS"]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[\t -~]*[!-~])?")
_AGENT = re.compile(r"[A-Za-z_-]+")
_REFERENCE = re.compile(r"(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*)")
_PROXY = re.compile(r"(?:http|socks5)://(?:\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+):[0-9]{1,5}/?")
_SECRET_HEADERS = frozenset(("authorization", "cookie", "proxy-authorization"))
_OURS = frozenset(
    ("host", "user-agent", "accept-encoding", "connection", "content-length", "transfer-encoding",
     "te", "upgrade", "expect", "range", "if-none-match", "if-modified-since")
)  # fmt: skip


def _text(value: object, example: str) -> str:
    if not isinstance(value, str) or not _VALUE.fullmatch(value):
        raise UserMistake(f"{shown(value)} cannot be used; write one line like {example!r}")
    return value


def read_user_agent(value: object) -> str:
    return _text(value, "Archive/1.0 (+https://example.org/)")


def read_robots_agent(value: object) -> str:
    if not isinstance(value, str) or not _AGENT.fullmatch(value):
        raise UserMistake(f"{shown(value)} is no product token; letters, - and _ only: 'mybot'")
    return value.lower()


def read_headers(value: object) -> tuple[str, ...]:
    headers = strings(value, example='["X-Team: archive"]')
    for index, line in enumerate(headers):
        name, colon, rest = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(rest.strip()):
            problem = f"{line!r} is no header; write one line like 'X-Team: archive', in ASCII"
            raise ElementMistake(problem, index)
        if name.lower() in _OURS:
            raise ElementMistake(f"{name} is set by Headgate itself; drop it", index)
        if name.lower() in _SECRET_HEADERS and not _REFERENCE.fullmatch(rest.strip()):
            problem = f"{name} is a secret; write '{name}: env:NAME' or '{name}: file:PATH'"
            raise ElementMistake(problem, index)
    return tuple(headers)


def read_auth(value: object) -> str:
    kind, _, where = str(value).partition(" ")
    if kind not in ("basic", "bearer") or not _REFERENCE.fullmatch(where.strip()):
        raise UserMistake(
            f"{_hidden(value)}: write 'basic env:NAME' (a variable with name:password), 'bearer"
            " env:NAME', or file:PATH in place of env:NAME"
        )
    return f"{kind} {where.strip()}"


def read_file(value: object) -> str:
    return _text(value, "cookies.txt")


def read_login(value: object) -> str:
    if not isinstance(value, str) or not web_address(value):
        raise UserMistake(f"{shown(value)} is not the URL of a page with a login form")
    return value


def read_login_fields(value: object) -> tuple[str, ...]:
    fields = strings(value, example='["user=editor", "password=env:WIKI_PASSWORD"]')
    for index, field in enumerate(fields):
        if "=" not in field or field.startswith("="):
            raise ElementMistake("a field is written 'name=value'", index)
    if not any(_REFERENCE.fullmatch(field.partition("=")[2]) for field in fields):
        raise UserMistake("the password is a secret; write it 'password=env:NAME' or '=file:PATH'")
    return tuple(fields)


def read_proxy(value: object) -> str:
    if isinstance(value, str) and (_REFERENCE.fullmatch(value) or _PROXY.fullmatch(value)):
        return value
    raise UserMistake(
        f"{_hidden(value)}: write 'http://proxy:3128' or 'socks5://proxy:1080'; one with a password"
        " is 'env:NAME' or 'file:PATH'"
    )


def read_robots(value: object) -> str:
    if value != IGNORE:
        raise UserMistake(f"{shown(value)} is not a choice; write 'ignore', or drop the key")
    return IGNORE


def _hidden(value: object) -> str:
    """In place of a value that may be a secret."""
    return "it cannot be understood" if isinstance(value, str) else f"{shown(value)} is no text"


ACCESS_READERS = {
    "user_agent": read_user_agent,
    "robots_agent": read_robots_agent,
    "headers": read_headers,
    "auth": read_auth,
    "cookies": read_file,
    "login": read_login,
    "login_fields": read_login_fields,
    "proxy": read_proxy,
    "client_certificate": read_file,
    "robots": read_robots,
}
"""By key, which is the field of `Access` as well."""
