"""`headgate manager` and `headgate node` as processes of their own, over a real NATS server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.ended_with_us import ended_with_us
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving

__all__ = ["Grid", "grid_on_loopback", "stored_pages"]

_PATIENCE_SECONDS = 120.0


@dataclass(slots=True)
class Grid:
    """Commands are run in ``folder``; processes are ended with the test."""

    folder: Path
    webs: Sequence[SmallWeb]
    catalog: str = ""
    port: int = 0
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.folder / "collection"

    @property
    def site_file(self) -> Path:
        return self.folder / "sites.toml"

    def write_sites(self, lease: str = "3s", grid: str = "") -> None:
        sites = [f'[site.s{k}]\nseeds = ["{web.seed}"]\n' for k, web in enumerate(self.webs)]
        self.site_file.write_text("\n".join([f'[grid]\nlease = "{lease}"\n{grid}', *sites]))

    def manager(self, *options: str, beside: bool = False) -> subprocess.Popen[str]:
        """``beside``: another runs; else the port of one that was killed is free in a moment."""
        self.wait(lambda: beside or self.port_is_free())
        where = ["--serve-nats", f"127.0.0.1:{self.port}", "--host", "127.0.0.1"]
        return self.start("manager", self.site_file, *self._common(), *where, *options)

    def node(
        self, name: str, *options: str, group: str = "", under: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """Invited as soon as the manager is there. ``under``: a command that starts it."""
        token = self.folder / f"{name}.token"
        if not token.exists():
            self.wait(lambda: self.invite(name, "--group", group).returncode == 0)
        usual = ("--allow-private", "--until-idle", "--quiet")
        return self.start("node", token, *usual, *options, under=under)

    def invite(self, name: str, *options: str) -> subprocess.CompletedProcess[str]:
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            return headgate("manager", "invite", name, *self._common(), *options)
        finally:
            os.chdir(before)

    def told(self, *words: str) -> Any:
        """What a word of the manager prints as JSON."""
        done = headgate("manager", *words, *self._common(), "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < until, f"nothing came of it; {self._ended()}"
            time.sleep(0.1)

    def _ended(self) -> str:
        """What processes said that are no more."""
        return "; ".join(
            f"ended with {process.returncode}: {process.communicate(timeout=10)[1].strip()}"
            for process in self.processes
            if process.poll() is not None
        )

    def report(self) -> Any:
        (path,) = self.out.glob("runs/*/report.json")
        return json.loads(path.read_text())

    def port_is_free(self) -> bool:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self.port))
            except OSError:
                return False
        return True

    def _common(self) -> list[str]:
        catalog = ["--catalog", self.catalog] if self.catalog else []
        return ["--out", str(self.out), *catalog]

    def start(self, *arguments: str | Path, under: Sequence[str] = ()) -> subprocess.Popen[str]:
        """`headgate` with these words, ended with the test."""
        process = subprocess.Popen(
            ended_with_us([*under, sys.executable, "-m", "headgate", *arguments]),
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip
        self.processes.append(process)
        return process


def stored_pages(out: Path) -> set[tuple[str, str]]:
    """URL and digest of all that a collection's indexes list, each once."""
    found: list[tuple[str, str]] = []
    for index in out.glob("runs/*/index.cdxj"):
        for line in index.read_text().splitlines():
            fields = json.loads(line.split(" ", 2)[2])
            found.append((fields["url"], fields["digest"]))
    assert len(set(found)) == len(found), "stored twice"
    return set(found)


@contextlib.contextmanager
def grid_on_loopback(folder: Path, webs: Sequence[SmallWeb], catalog: str = "") -> Iterator[Grid]:
    with contextlib.ExitStack() as stack:
        for web in webs:
            stack.enter_context(serving(web))
        grid = Grid(folder, webs, catalog=catalog, port=_free_port())
        grid.write_sites()
        try:
            yield grid
        finally:
            for process in grid.processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                process.communicate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
