"""The public suffix list says what was registered; addresses were not."""

from __future__ import annotations

import pytest

from headgate.features.survey.wrapping_up import registrable_domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("news.example.co.ke", "example.co.ke"),
        ("example.org", "example.org"),
        ("me.github.io", "me.github.io"),
        ("co.ke", "co.ke"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_the_registered_domain(host: str, domain: str) -> None:
    assert registrable_domain()(host) == domain
