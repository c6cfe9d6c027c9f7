"""What a run that was not begun here would do in its reader's name."""

from __future__ import annotations

import pytest

from headgate.cli.unfinished import dangers, private_hosts
from headgate.model.site import Access, Site

PUBLIC = "https://example.org/"


@pytest.mark.parametrize(
    ("access", "would"),
    [
        (Access(), []),
        (Access(user_agent="Mine/1", robots_agent="mine", headers=("X-Team: archive",)), []),
        (Access(auth="basic env:LOGIN"), ["send env:LOGIN to example.org"]),
        (
            Access(headers=("X-A: env:A", "X-B: b", "X-C: file:/c"), cookies="/c.txt"),
            ["send env:A, file:/c, /c.txt to example.org"],
        ),
        (
            Access(login="https://sso.example.org/", login_fields=("u=me", "p=env:P")),
            ["send me, env:P to example.org, sso.example.org"],
        ),
        (Access(login="https://a.org/in"), ["log in at https://a.org/in"]),
        (Access(client_certificate="/me.pem"), ["send /me.pem to example.org"]),
        (
            Access(proxy="http://evil.example:3128"),
            ["go to example.org through the proxy http://evil.example:3128"],
        ),
        (Access(robots="ignore"), ["ignore robots.txt of example.org"]),
    ],
)
def test_secrets_and_manners_are_named(access: Access, would: list[str]) -> None:
    assert list(dangers([Site("a", seeds=(PUBLIC,), access=access)])) == would


def test_every_field_of_access_is_thought_of() -> None:
    """One that is added is either harmless or dangerous: say so here and in `dangers`."""
    harmless = {"user_agent", "robots_agent"}
    asked = {
        "headers", "auth", "cookies", "login", "login_fields", "proxy", "client_certificate",
        "robots",
    }  # fmt: skip
    assert set(Access.__struct_fields__) == harmless | asked


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]",
        "[fd00::1]", "localhost", "router", "nas.local", "wiki.internal", "a.lan", "A.LOCAL.",
        "100.64.0.1", "0.0.0.0",
    ],
)  # fmt: skip
def test_private_hosts(host: str) -> None:
    assert list(private_hosts([host])) == [f"ask {host}, which is private"]


@pytest.mark.parametrize("host", ["example.org", "8.8.8.8", "[2606:4700::1]", "local.example.org"])
def test_public_hosts(host: str) -> None:
    assert list(private_hosts([host])) == []


@pytest.mark.parametrize("seed", ["http://0x7f000001/", "http://127.1/", "http://2130706433/"])
def test_an_address_is_one_however_it_is_written(seed: str) -> None:
    assert list(dangers([Site("a", seeds=(seed,))])) == ["ask 127.0.0.1, which is private"]
