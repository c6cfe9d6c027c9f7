"""What the board of a keeper costs with a million pages in ten thousand sites.

    python -m bench.keep_board [--sites 10000] [--pages 100]

Outlooks of all sites are made once and kept as the catalog would keep them (packed, outside of
what is measured). Then a process of its own starts a board from them, and takes decisions, with
the memory of one site at a time as a visit has it: choosing the pages, taking in what looks found,
making the next outlook.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite, SitePages, SiteTerms
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.scheduler import VisitScheduler
from headgate.features.keep.recrawl.site_outlook import Outlook, outlook_of
from headgate.features.keep.recrawl.visit_choice import chosen_visit
from headgate_lab.worlds.looked_pages import Look, take_in

_T0 = 1.7e9
_DECISIONS = 500
_POLICY = keep_policy("index")


def _site(number: int, pages: int, prior: RatePrior) -> KeptSite:
    """With a history, by its number."""
    rng = np.random.default_rng(number)
    terms = SiteTerms(fresh_within=30 * DAY_SECONDS if number % 10 == 0 else None)
    arrays = SitePages.unasked(pages)
    arrays.asked[:] = arrays.known_at[:] = _T0 - rng.exponential(10 * DAY_SECONDS, pages)
    arrays.validators = rng.random(pages) < 0.5
    rates = rng.lognormal(np.log(1 / 60), 1.6, pages)
    kept = KeptSite(terms, arrays, prior.probabilities(terms.grid))
    for _ in range(3):
        _look(kept, np.arange(pages), float(arrays.asked.max()) + 5 * DAY_SECONDS, rates, rng)
    return kept


def _look(
    kept: KeptSite,
    pages: npt.NDArray[np.int_],
    now: float,
    rates: FloatArray,
    rng: np.random.Generator,
) -> None:
    gaps = (now - kept.pages.known_at[pages]) / DAY_SECONDS
    changed = rng.random(len(pages)) < -np.expm1(-rates[pages] * gaps)
    found = zip(pages.tolist(), changed.tolist(), strict=True)
    take_in(kept, [Look(page, now, seen) for page, seen in found])


def _make(path: Path, sites: int, pages: int) -> None:
    prior = RatePrior()
    encode = msgspec.msgpack.Encoder().encode
    with path.open("wb") as file:
        for number in range(sites):
            kept = _site(number, pages, prior)
            row = encode((str(number), outlook_of(kept, _POLICY.pages, _T0 + 20 * DAY_SECONDS)))
            file.write(len(row).to_bytes(4, "little") + row)


def _resident_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measure(path: Path, pages: int) -> None:
    began = time.perf_counter()
    board, prior = VisitScheduler(), RatePrior()
    decode = msgspec.msgpack.Decoder(tuple[str, Outlook]).decode
    with path.open("rb") as file:
        while size := file.read(4):
            name, outlook = decode(file.read(int.from_bytes(size, "little")))
            fresh = 30 * DAY_SECONDS if int(name) % 10 == 0 else None
            board.put(name, SiteTerms(fresh_within=fresh, hosts=(f"host{name}",)), outlook)
            prior.counted(name, np.array(outlook.rate_weights, np.float32))
    prior.renew()
    started = time.perf_counter() - began
    decisions, visits, looks = [], [], 0
    now = _T0 + 40 * DAY_SECONDS
    rng = np.random.default_rng(0)
    for _ in range(_DECISIONS):
        now += 60.0
        began = time.process_time()
        task = board.next_task(now)
        decisions.append(time.process_time() - began)
        assert task is not None
        kept = _site(int(task.site), pages, prior)
        began = time.process_time()
        board.begin(task.site, now)
        visit = chosen_visit(kept, _POLICY.pages, now)
        assert visit is not None
        _look(kept, visit.pages, now, np.full(pages, 1 / 60), rng)
        outlook = outlook_of(kept, _POLICY.pages, now)
        prior.visited(task.site, np.array(outlook.rate_weights, np.float32))
        board.remember(task.site, outlook)
        board.end(task.site, now)
        visits.append(time.process_time() - began)
        looks += len(visit.pages)
    print(f"{len(board.places):,} sites with {len(board.places) * pages:,} pages")
    print(f"start: {started:.2f} s (at most 5)")
    print(
        f"next task: median {1e3 * float(np.median(decisions)):.2f} ms, worst"
        f" {1e3 * max(decisions):.2f} ms of CPU (at most 5)"
    )
    print(f"resident: {_resident_megabytes():.0f} MB at the most (at most 300)")
    print(
        f"beside fetching: {1e3 * sum(visits) / looks:.2f} ms of CPU per look,"
        f" {1e3 * float(np.median(visits)):.2f} ms per visit of {looks / len(visits):.0f} looks"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        _measure(args.measure, args.pages)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outlooks"
        _make(path, args.sites, args.pages)
        command = [sys.executable, "-m", "bench.keep_board", "--measure", str(path)]
        subprocess.run([*command, "--pages", str(args.pages)], check=True)


if __name__ == "__main__":
    main()
