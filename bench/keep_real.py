"""A real keeper over real HTTP for twenty minutes: every change archived once, and replayed.

    python -m bench.keep_real [--quick]

Three manuals of forty pages on loopback are rewritten at known moments, some pages every few
minutes and most hardly ever. `headgate keep` runs as a user runs it (``min_interval`` 5 s) and is
ended with SIGTERM. Then: every version that stood longer than a page is ever left alone is in the
archive; none is there twice; pywb replays each of them, byte for byte, out of the indexes; and what
`keep.json` said of freshness, minute by minute, is within 0.05 of the truth on average.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from base64 import b32encode
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path

import numpy as np
from bench.documentation import free_ports

from headgate.features.demo.keep import ChangingPage, ChangingSite, ChangingWeb, Law, drawn_changes
from headgate.features.demo.sites import DemoRequest, Response
from headgate.features.demo.web import DemoWeb

_PYWB = "pywb==2.10.0"
_SITES, _PAGES = 3, 40
_KINDS = ((0.2, 240.0), (0.8, 3_000.0))
"""Shares of the pages, and the mean seconds between their changes."""
_SIZES = (3_000, 15_000)
_WAIT_SECONDS = 120.0
"""No page is left alone for longer where pages may be asked every 5 s (`ByIndex`)."""
_SPARE_SECONDS = 30.0
_SAMPLE_SECONDS = 20.0
_MOST_WRONG = 0.05


@dataclass(slots=True)
class _Found:
    said: list[tuple[float, float]] = field(default_factory=list)
    """What the keeper said of freshness, and the truth."""


def _sites(seed: int, seconds: float) -> list[ChangingSite]:
    chance = np.random.default_rng(seed)
    shares = [share for share, _ in _KINDS]
    sites = []
    for number in range(_SITES):
        kinds = chance.choice(len(_KINDS), _PAGES, p=shares)
        pages = tuple(
            ChangingPage(
                f"/manual{number}-{page:02d}.html",
                int(chance.integers(*_SIZES)),
                drawn_changes(chance, Law.CHANCE, _KINDS[kind][1], seconds),
            )
            for page, kind in enumerate(kinds)
        )
        sites.append(ChangingSite(f"manual{number}", "", pages, validators=True))
    return sites


async def _keep(folder: Path, seed: int, seconds: float) -> tuple[ChangingWeb, _Found, str]:
    """For so long; gives the origin of each site by its name, as JSON."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    web = ChangingWeb(_sites(seed, seconds), lambda: loop.time() - began)
    found = _Found()
    async with DemoWeb(sites=web.served()) as served:
        file, out = folder / "sites.toml", folder / "kept"
        file.write_text("".join(
            f'[site.{one.name}]\nseeds = ["{one.seed}"]\ndelay = "0s"\nmin_interval = "5s"\n'
            for one in served.places
        ))  # fmt: skip
        keeper = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headgate", "keep", str(file), "--out", str(out), "--quiet"
        )
        try:
            while web.now() < seconds and keeper.returncode is None:
                await asyncio.sleep(min(_SAMPLE_SECONDS, max(seconds - web.now(), 0.1)))
                _compare(out / "keep.json", web, found)
        finally:
            ended_itself = keeper.returncode is not None
            if not ended_itself:
                keeper.terminate()
            code = await keeper.wait()
        if code or ended_itself:
            raise SystemExit(f"the keeper ended with {code} after {web.now():.0f} s")
        origins = {one.name: one.seed.rstrip("/") for one in served.places}
    return web, found, json.dumps(origins)


def _compare(status: Path, web: ChangingWeb, found: _Found) -> None:
    """What was said at its own moment, beside the truth of that moment."""
    if not status.exists() or not web.all_fetched():
        return
    state = json.loads(status.read_text())
    moment = web.now() - (time.time() - state["now"])
    if state.get("fresh") is None or moment < _WAIT_SECONDS:
        return
    pair = (float(state["fresh"]["estimated"]), web.score([moment]).freshness)
    if not found.said or found.said[-1][0] != pair[0]:
        found.said.append(pair)


def _body(web: ChangingWeb, page: ChangingPage, version: int) -> bytes:
    """As the server sent it when the page was in that version."""
    before = web.now
    moment = page.changes[version - 1] if version else 0.0
    web.now = lambda: moment
    try:
        for site, served in zip(web.sites, web.served(), strict=True):
            if page in site.pages:
                answer = served.answering(DemoRequest(page.path))
                assert isinstance(answer, Response)
                return answer.body
    finally:
        web.now = before
        web.looks[page.path].pop()
    raise AssertionError(page.path)


def _archived(out: Path) -> tuple[Counter[tuple[str, str]], dict[tuple[str, str], str]]:
    """Responses in all indexes by URL and digest, and a timestamp of each."""
    lines: Counter[tuple[str, str]] = Counter()
    stamps = {}
    for index in out.glob("runs/*/index.cdxj"):
        for line in index.read_text().splitlines():
            _, stamp, rest = line.split(" ", 2)
            fields = json.loads(rest)
            if fields.get("mime") == "warc/revisit" or fields["status"] != "200":
                continue
            key = (fields["url"], fields["digest"].removeprefix("sha1:"))
            lines[key] += 1
            stamps[key] = stamp
    return lines, stamps


def _problems(
    web: ChangingWeb, origins: dict[str, str], out: Path, ended: float
) -> tuple[list[str], int, int]:
    """What is wrong, how many versions were to be archived, and how many pywb gave back."""
    lines, stamps = _archived(out)
    problems, wanted = [], 0
    replays: list[tuple[str, str, bytes]] = []
    for site in web.sites:
        for page in site.pages:
            url = origins[site.name] + page.path
            last = bisect_right(page.changes, ended)
            for version in range(last + 1):
                began = page.changes[version - 1] if version else 0.0
                until = page.changes[version] if version < last else ended
                body = _body(web, page, version)
                digest = b32encode(sha1(body).digest()).decode()
                times = lines[url, digest]
                stood = until - began > _WAIT_SECONDS + _SPARE_SECONDS
                wanted += stood
                if stood and not times:
                    problems.append(f"{url}: version {version} is not archived")
                if times > 1:
                    problems.append(f"{url}: version {version} is archived {times} times")
                if times:
                    replays.append((stamps[url, digest], url, body))
    with _pywb(out) as wayback:
        for stamp, url, body in replays:
            with urllib.request.urlopen(f"{wayback}/all/{stamp}id_/{url}", timeout=60) as answer:
                if answer.read() != body:
                    problems.append(f"{url} of {stamp}: pywb replays something else")
    return problems, wanted, len(replays)


@contextmanager
def _pywb(out: Path) -> Iterator[str]:
    """In an environment of its own, made once: it needs a Brotli that is older than ours."""
    home = Path(sys.prefix) / "pywb"
    with home.with_name("pywb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            install = ["-m", "pip", "--python", str(home), "install", "--quiet", _PYWB]
            subprocess.run([sys.executable, *install], check=True)
            (home / "ready").touch()
    indexes = out / "all-indexes"
    indexes.mkdir()
    for run in (out / "runs").iterdir():
        (indexes / f"{run.name}.cdxj").symlink_to(run / "index.cdxj")
    collection = {"index_paths": f"{indexes}/", "archive_paths": f"{out}/"}
    (out / "config.yaml").write_text(json.dumps({"collections": {"all": collection}}))
    (port,) = free_ports(1)
    command = [str(home / "bin" / "wayback"), "--bind", "127.0.0.1", "--port", str(port)]
    with (out / "pywb.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=out, stdout=log, stderr=log)
    try:
        _await(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _await(address: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"nobody serves {address}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="five minutes instead of twenty")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    seconds = 300.0 if args.quick else 1_200.0
    with tempfile.TemporaryDirectory() as name:
        web, found, origins = asyncio.run(_keep(Path(name), args.seed, seconds))
        out = Path(name) / "kept"
        problems, wanted, replayed = _problems(web, json.loads(origins), out, seconds)
    print(f"{wanted} versions stood long enough to be seen; {replayed} replayed by pywb")
    if found.said:
        said, truth = np.array(found.said).mean(axis=0)
        print(
            f"fresh: {said:.3f} said, {truth:.3f} by the truth, on average of {len(found.said)}"
            f" states (within {_MOST_WRONG})"
        )
        if abs(said - truth) > _MOST_WRONG:
            problems.append("what was said of freshness is wrong")
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print("every change archived once" if not problems else "NOT AS IT SHOULD BE")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
