"""What others take of the machine is told, and what we take ourselves is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.machine import Machine

SPIN = "import time; until = time.monotonic() + 30\nwhile time.monotonic() < until: pass"


def spin(seconds: float) -> tuple[float, float]:
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        pass
    return began, time.monotonic()


def test_a_processor_shared_with_a_stranger_counts_by_half(machine: Machine) -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        # Through a shell that ends at once: then it is none of ours.
        shell = ["sh", "-c", '"$@" >&- 2>&- & echo $!', "sh", sys.executable, "-c", SPIN]
        stranger = int(subprocess.run(shell, stdout=subprocess.PIPE, check=True).stdout)
        try:
            spin(0.3)  # until it has begun
            span = spin(1.0)
        finally:
            os.kill(stranger, 9)
    finally:
        os.sched_setaffinity(0, cores)
    assert machine.own_seconds(*span) < 0.8


def test_our_own_work_is_not_taken_off(machine: Machine) -> None:
    before = time.process_time()
    span = spin(1.0)
    assert machine.own_seconds(*span) >= time.process_time() - before - 0.15
