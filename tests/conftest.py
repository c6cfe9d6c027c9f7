"""For all tests: a machine shared with others is no reason to fail; in CI, a skip is."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator

import pytest
from bench.postgres import Postgres, installed, serving_postgres
from hypothesis import settings
from tests.machine import Machine, watched

for proxy in ("http_proxy", "https_proxy", "all_proxy"):  # what they lead to is said on stderr
    for name in (proxy, proxy.upper()):
        os.environ.pop(name, None)

# What is begun by tests is marked by a key of theirs, not by that of whoever runs them.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="headgate-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# Hundreds of tests start processes, each of which would compile the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("headgate", deadline=None)
settings.load_profile("headgate")


@pytest.fixture
def machine() -> Iterator[Machine]:
    """To tell how long something took without what others took of the processors."""
    with watched() as machine:
        yield machine


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if not installed():
        pytest.skip("postgresql-15 is not installed")
    with serving_postgres() as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """`make test` installs what tests need, so nothing may be missing where CI runs it."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report
