"""A PostgreSQL server of one's own, for tests and benches: a cluster that is made for the occasion
and deleted after it, reached by a Unix socket only."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from bench.ended_with_us import ended_with_us

__all__ = ["Postgres", "installed", "serving_postgres"]

_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
_USER = "postgres"
"""The server refuses to run as root."""
_PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class Postgres:
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    schemas: int = 0

    @property
    def url(self) -> str:
        return f"postgresql://{_USER}@/postgres?host={self.folder}"

    def new_catalog(self) -> str:
        """The URL of one with nothing in it."""
        self.schemas += 1
        name = f"catalog_{self.schemas}"
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}&options={quote(f'-csearch_path={name}')}"

    def start(self) -> None:
        """Again and again, while processes of one that was killed are still there."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            if self.process is None or self.process.poll() is not None:
                self._spawn()
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def _spawn(self) -> None:
        program: list[str | Path] = [_PROGRAMS / "postgres", "-D", self.folder / "data"]
        settings: list[str | Path] = [
            "-k",
            self.folder,
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                ended_with_us([*program, *settings]),
                stderr=log,
                cwd="/",
                user=_user(),
                group=_user(),
            )

    def kill(self) -> None:
        """All of it, at once."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None


def installed() -> bool:
    """Debian's postgresql-15."""
    return (_PROGRAMS / "postgres").exists()


@contextmanager
def serving_postgres() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="headgate-postgres-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, _USER)
        subprocess.run(
            [_PROGRAMS / "initdb", "-D", folder / "data", "-U", _USER, "-A", "trust", "-N"],
            check=True, capture_output=True, cwd="/", user=_user(), group=_user(),
        )  # fmt: skip
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | None:
    return _USER if os.getuid() == 0 else None
