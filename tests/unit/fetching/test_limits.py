"""Idle connections get a part of the files that may be open; errors of ours are told apart."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headgate.fetching.open_files import cannot_connect, is_ours, most_idle
from headgate.storage.safe_files import without_remedy


@contextmanager
def limited(soft: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("limit", "most"), [(256, 64), (1024, 256), (4096, 1000)])
def test_idle_connections_get_a_quarter(limit: int, most: int) -> None:
    with limited(limit):
        assert most_idle(1000) == most


def test_without_a_limit_all_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _: unlimited)
    assert most_idle(1000) == 1000


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_a_shortage_is_ours_and_has_a_remedy(number: int) -> None:
    error = OSError(number, "")
    words = str(cannot_connect("example.org:80", error))
    assert is_ours(error)
    assert "--resume" in words
    assert "--resume" not in without_remedy(words)


@pytest.mark.parametrize("number", [errno.ECONNREFUSED, errno.ENETUNREACH, errno.ETIMEDOUT, None])
def test_what_the_network_says_is_not_ours(number: int | None) -> None:
    error = OSError() if number is None else OSError(number, "")
    assert not is_ours(error)
