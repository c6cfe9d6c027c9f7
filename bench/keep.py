"""How fresh `headgate keep` leaves its copies, by the truth, beside published policies.

    python -m bench.keep [--quick] [--policies index,uniform,...] [--seed 1]

Twelve sites of fifteen pages on loopback change by known laws: by chance, by the clock, in bursts;
after seconds or minutes, by site and by page. Half of the servers can say that a page is as it was.
For each policy there is a copy of that web and a keeper of its own, all at the same time: the
command's own code as a process over real HTTP, with pages asked more often than a user may have
them, so that a second is as ten hours. Each fetches all pages once; then its site file is written
anew with a bandwidth that is the same for all and scarce, it has time to learn, and what follows
counts.

The servers know when each page changed and when it was asked for, so staleness (the share of
pages out of date) and age (for how long, mean over all pages) are measured and not estimated. Bytes
are those of requests and answers at the servers. A policy with intervals of its own may leave bytes
unused: the table says so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from headgate.cli.keep_progress import keep_watched
from headgate.features.demo.keep import ChangingPage, ChangingSite, ChangingWeb, Law, drawn_changes
from headgate.features.demo.web import DemoWeb
from headgate.features.keep.job import KeepRequest
from headgate.features.keep.recrawl.policies import POLICY_NAMES
from headgate.model.site import Site
from headgate.model.units import Seconds
from headgate.site_file.parsing import SiteFile

_SITES, _PAGES = 12, 15
_SIZE, _SIZE_SPREAD, _SIZE_BOUNDS = 5_000.0, 0.95, (1_000.0, 60_000.0)
_MEAN_SECONDS, _SITE_SPREAD, _PAGE_SPREAD = 120.0, 1.0, 1.2
"""Between changes of a page: median, and the deviations of its logarithm, like that of sizes. Both
together are as wide as of the real pages of `headgate lab freshness`."""
_HORIZON = 1_800.0
_INTERVAL = Seconds(0.1)
_FIRST_RATE, _RATE = "1 MB/s", "30 KB/s"
_STEP = 0.5
_LEARNING, _MEASURED = 150.0, 120.0
_QUICK_LEARNING, _QUICK_MEASURED = 30.0, 30.0
_LEFT = 0.95
"""Of uniform's bytes: who moved less left some."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a policy came to in the time that counts."""

    policy: str
    stale: float
    age: float
    looks: int
    moved: int


def changing_sites(seed: int) -> list[ChangingSite]:
    chance = np.random.default_rng(seed)
    laws = tuple(Law)
    sites = []
    for number in range(_SITES):
        name = f"site{number:02d}"
        usual = _MEAN_SECONDS * float(chance.lognormal(0.0, _SITE_SPREAD))
        means = np.clip(usual * chance.lognormal(0.0, _PAGE_SPREAD, _PAGES), 2.0, _HORIZON)
        sizes = np.clip(chance.lognormal(np.log(_SIZE), _SIZE_SPREAD, _PAGES), *_SIZE_BOUNDS)
        pages = tuple(
            ChangingPage(
                f"/{name}-{page:02d}.html",
                int(size),
                drawn_changes(chance, laws[number % len(laws)], float(mean), _HORIZON),
            )
            for page, (mean, size) in enumerate(zip(means, sizes, strict=True))
        )
        sites.append(ChangingSite(name, "", pages, validators=number % 2 == 0))
    return sites


async def _tried(policy: str, folder: Path, seed: int, seconds: tuple[float, float]) -> Trial:
    loop = asyncio.get_running_loop()
    began = loop.time()
    pages = ChangingWeb(changing_sites(seed), lambda: loop.time() - began)
    folder.mkdir()
    async with DemoWeb(sites=pages.served()) as web:
        file = folder / "sites.toml"
        file.write_text(_site_file(web, _FIRST_RATE))
        keeper = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.keep", "--keep", str(file), str(folder / "kept"), policy
        )
        try:
            await _until_fetched(pages, keeper)
            file.write_text(_site_file(web, _RATE))
            await asyncio.sleep(seconds[0])
            first, moved = pages.now(), web.moved
            await asyncio.sleep(seconds[1])
            last, moved = pages.now(), web.moved - moved
        finally:
            with contextlib.suppress(ProcessLookupError):
                keeper.terminate()
            await keeper.wait()
    score = pages.score(np.arange(first, last, _STEP).tolist())
    looks = sum(first <= look <= last for each in pages.looks.values() for look in each)
    return Trial(policy, 1 - score.freshness, score.age, looks, moved)


async def _until_fetched(pages: ChangingWeb, keeper: asyncio.subprocess.Process) -> None:
    while not pages.all_fetched():
        if keeper.returncode is not None:
            raise SystemExit(f"the keeper ended with {keeper.returncode}")
        await asyncio.sleep(_STEP)


def _site_file(web: DemoWeb, rate: str) -> str:
    sites = [f'[site.{one.name}]\nseeds = ["{one.seed}"]\ndelay = "0s"\n' for one in web.places]
    return "\n".join([f'[budget]\nbandwidth = "{rate}"\n', *sites])


async def _try_all(policies: Sequence[str], seed: int, seconds: tuple[float, float]) -> list[Trial]:
    with tempfile.TemporaryDirectory() as folder:
        works = (_tried(policy, Path(folder) / policy, seed, seconds) for policy in policies)
        return list(await asyncio.gather(*works))


def _keep_here(file: str, out: str, policy: str) -> None:
    """As the command does, but pages may be asked again sooner."""
    request = KeepRequest(Path(file), lambda path: path.read_text(), policy=policy)
    job = request.job(Path(out))

    def hurried(sites: Sequence[Site]) -> tuple[Site, ...]:
        return tuple(
            replace(site, keeping=replace(site.keeping, min_interval=_INTERVAL)) for site in sites
        )

    def reread(anyway: bool) -> SiteFile | None:
        contents = request.reread(anyway)
        return None if contents is None else SiteFile(contents.budget, hurried(contents.sites))

    job = replace(job, sites=hurried(job.sites), reread=reread)
    asyncio.run(keep_watched(job, quiet=True))


def _told(trials: Sequence[Trial]) -> None:
    beside = next((one for one in trials if one.policy == "uniform"), trials[-1])
    print(
        f"{'policy':<9}{'looks':>7}{'bytes':>11}{'stale':>8}{'age':>9}"
        f"   beside {beside.policy}: bytes, stale, age"
    )
    for one in trials:
        moved = one.moved / max(beside.moved, 1)
        print(
            f"{one.policy:<9}{one.looks:>7,}{one.moved / 1e3:>8,.0f} KB{one.stale:>8.1%}"
            f"{one.age:>7.2f} s{moved:>19.2f}{one.stale / max(beside.stale, 1e-9):>7.2f}"
            f"{one.age / max(beside.age, 1e-9):>6.2f}{'  (left bytes)' if moved < _LEFT else ''}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a minute instead of five")
    parser.add_argument("--policies", default=",".join(POLICY_NAMES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.keep:
        _keep_here(*args.keep)
        return 0
    seconds = (_QUICK_LEARNING, _QUICK_MEASURED) if args.quick else (_LEARNING, _MEASURED)
    _told(asyncio.run(_try_all(args.policies.split(","), args.seed, seconds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
