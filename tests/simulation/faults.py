"""Fault simulation: whole crawls in which everything goes wrong, by seeds, in virtual time.

python -m tests.simulation.faults --seed 17             one, with all it says
python -m tests.simulation.faults --seeds 0-2000        many; those that fail are named
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.simulation.fault_checks import check
from tests.simulation.faulty_world import FaultyWorld

__all__ = ["play"]


def play(seed: int) -> str:
    """What is wrong with a seed; empty: nothing."""
    with tempfile.TemporaryDirectory(dir=_quick()) as folder:
        world = FaultyWorld(seed, Path(folder))
        try:
            check(world, world.play())
        except Exception as error:
            if isinstance(error, TimeoutError) and world.budget.quota is not None:
                return ""  # it waits for the next day, as it should; nobody here does
            legs = " ".join(leg.ending or "?" for leg in world.legs)
            return (
                f"seed {seed} ({legs}):\n{traceback.format_exc()}"
                f"again: python -m tests.simulation.faults --seed {seed}\n"
            )
    return ""


def _quick() -> str | None:
    """A folder in memory, where there is one: nothing here outlives the process."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", default="0-2000", help="from-to")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    if args.seed is not None:
        wrong = play(args.seed)
        _say(wrong or f"seed {args.seed}: all is well")
        return bool(wrong)
    first, _, end = args.seeds.partition("-")
    began, failed = time.monotonic(), 0
    with multiprocessing.Pool(args.processes) as pool:
        for wrong in pool.imap_unordered(play, range(int(first), int(end)), chunksize=4):
            if wrong:
                failed += 1
                _say(wrong)
        pool.close()
        pool.join()
    seconds, of_cpu = time.monotonic() - began, os.times()
    cpu = of_cpu.children_user + of_cpu.children_system
    _say(f"{int(end) - int(first)} seeds in {seconds:.0f} s, {cpu:.0f} s of CPU, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
