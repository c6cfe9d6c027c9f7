"""Seconds without what others took of the machine: for tests in which a bound in time is the point.

A bound counts what a quiet machine would show. Beside the test runs a process that does nothing but
look, twenty times a second: how long our processes (the test's and all that it started) were ready
to run and did not, how much of the processors went to others, and how late it was itself. Taken off
is what we waited, as far as others used the processors meanwhile, and the time for which even the
onlooker stood still. On a machine of our own nothing is taken off.

    with watched() as machine:
        began = time.monotonic()
        ...
        assert machine.own_seconds(began, time.monotonic()) < 1.0
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["Machine", "family", "peak_bytes", "wait_until", "watched"]

_LOOK_SECONDS = 0.05
_STILL_SECONDS = 0.025
"""Later than this, the onlooker was not let run; below it had its turn as others had theirs."""
_PATIENCE_SECONDS = 60.0


def wait_until(condition: Callable[[], object], seconds: float = _PATIENCE_SECONDS) -> None:
    """However long it takes on a busy machine; what never comes fails the test."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, f"not so after {seconds:.0f} s"
        time.sleep(0.01)


class Machine:
    """What the onlooker has noted. Moments are of the monotonic clock, which processes share."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes

    def own_seconds(self, start: float, end: float) -> float:
        return max(end - start - self.lost_seconds(start, end), 0.0)

    def lost_seconds(self, start: float, end: float) -> float:
        """To others, between two moments that have passed."""
        wait_until(lambda: (notes := self._read()) and notes[-1][0] >= end)
        notes = self._read()
        before = [note for note in notes if note[0] <= start] or notes[:1]
        after = [note for note in notes if note[0] >= end]
        waited, others, still = (
            after[0][column] - before[-1][column] for column in range(1, len(_Look.COLUMNS))
        )
        return max(min(waited, others), 0.0) + still

    def _read(self) -> list[tuple[float, ...]]:
        whole = self._notes.read_text().rpartition("\n")[0]
        return [tuple(map(float, line.split())) for line in whole.splitlines()]


@contextmanager
def watched() -> Iterator[Machine]:
    with tempfile.NamedTemporaryFile(prefix="machine-") as notes:
        command = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=notes) as onlooker:
            machine = Machine(Path(notes.name))
            try:
                wait_until(machine._read)
                yield machine
            finally:
                onlooker.kill()


def family(pid: int) -> list[int]:
    """A process and all below it. A child belongs to the thread that started it."""
    found = [pid]
    for member in found:
        for thread in Path(f"/proc/{member}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, thread.read_text().split())
    return found


class _Look:
    """Sums since some moment, in seconds; of processes that have ended, their last."""

    COLUMNS = ("moment", "waited", "others", "still")

    def __init__(self, root: int) -> None:
        self._root = root
        self._waited: dict[Path, float] = {}
        self._used: dict[int, float] = {}
        self._still = 0.0

    def note(self, late: float) -> tuple[float, ...]:
        """Its columns by now, where this look comes so late."""
        self._still += late if late > _STILL_SECONDS else 0.0
        for pid in family(self._root):
            if pid != os.getpid():
                with suppress(OSError):
                    self._look_at(pid)
        others = _busy_seconds() - sum(self._used.values())
        return time.monotonic(), sum(self._waited.values()), others, self._still

    def _look_at(self, pid: int) -> None:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            self._waited[thread] = int((thread / "schedstat").read_text().split()[1]) / 1e9
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        self._used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _busy_seconds() -> float:
    """Of all processors, the host's part included."""
    user, nice, system, _idle, _waiting, *rest = map(
        int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    )
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def _watch(root: int) -> None:
    look, late = _Look(root), 0.0
    while os.getppid() == root:
        sys.stdout.write(" ".join(f"{column:.6f}" for column in look.note(late)) + "\n")
        sys.stdout.flush()
        before = time.monotonic()
        time.sleep(_LOOK_SECONDS)
        late = time.monotonic() - before - _LOOK_SECONDS


if __name__ == "__main__":
    _watch(int(sys.argv[1]))


def peak_bytes(pid: int | str = "self") -> int:
    """The most memory that a process has held since its program began. What `getrusage` tells
    would count what the process that started it held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
