"""A small crawl loads little: what costs a tenth of a second or ten megabytes comes when needed.

What is loaded is looked at, not the clock: seconds are the bench's business (bench/speed.py).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .small_web import SmallWeb, serving

DEAR = {
    "aiodns": "names: this crawl asks an address",
    "headgate.fetching.login": "sites behind a login",
    "headgate.scheduling.deadline_guard": "deadlines",
    "headgate.reading.change_detection": "sites that are kept",
    "headgate.features.survey.strategy.facts": "surveys",
    "headgate.cli.live_view": "progress, where somebody looks on",
    "highspy": "plans",
    "importlib.metadata": "policies and scorers of the user's own",
    "numpy": "deadlines, timetables and large sites",
    "pyarrow": "large tables",
    "rich": "progress, where somebody looks on",
    "scipy": "nothing at all",
}
"""Modules, each with what it is for."""
MOST_DATACLASSES = 20
"""To define one takes a millisecond, a msgspec Struct a thirtieth of that: with 170 dataclasses, a
quarter of the time of a crawl of ten pages went into them."""
PROGRAM = """\
import atexit, sys
def is_dataclass(value):
    return "__dataclass_fields__" in getattr(value, "__dict__", ())
def tell():
    ours = [module for name, module in sys.modules.items() if name.startswith("headgate.")]
    found = {value for module in ours for value in vars(module).values() if is_dataclass(value)}
    names = (f"dataclass:{value.__qualname__}" for value in found)
    with open(sys.argv[-1] + "/loaded", "w") as file:
        print(*sys.modules, *names, sep="\\n", file=file)
atexit.register(tell)
from headgate.__main__ import start
start()
"""


def test_a_small_crawl_loads_nothing_dear(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with serving(SmallWeb(10)) as web:
        for _ in ("first", "again"):
            loaded = _loaded_by_crawl(web.seed, out)
            assert "headgate.crawling.site_run" in loaded
            found = {name for name in DEAR if name in loaded}
            assert not found, {name: DEAR[name] for name in found}
            dataclasses = [name for name in loaded if name.startswith("dataclass:")]
            assert len(dataclasses) <= MOST_DATACLASSES, sorted(dataclasses)


def _loaded_by_crawl(seed: str, out: Path) -> set[str]:
    options = ["--quiet", "--contact", "tests@example.org", "--out", str(out)]
    command = [sys.executable, "-c", PROGRAM, "crawl", seed, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return set((out / "loaded").read_text().split())
