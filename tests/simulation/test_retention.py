"""Old versions go while a collection is kept, and all that stays can be replayed."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.simulation.kept_web import ChangingPages, keep_job, keep_virtually, site
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headgate.features.keep.recrawl.policies import keep_policy
from headgate.model.fetch import FetchRequest
from headgate.model.keeping import KeepVersions, VolumeBounds
from headgate.model.units import Seconds
from headgate.storage.collection import Collection
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.memory.site import SiteMemory
from headgate.storage.retention import apply_retention
from headgate.testing.simulated_web import Answer


@dataclass(slots=True)
class LargePages(ChangingPages):
    """Pages that cannot be made small, each version another one."""

    def answer(self, request: FetchRequest, now: float) -> Answer:
        answer = ChangingPages.answer(self, request, now)
        if answer.status != 200:
            return answer
        rng = np.random.default_rng(list(answer.body[:80]))
        return Answer(200, answer.headers, answer.body + rng.bytes(10_000).hex().encode())


HOSTS = ("a.example", "b.example")


def kept(out: Path, rule: KeepVersions, hosts: tuple[str, ...] = HOSTS) -> ChangingPages:
    """Six hours of pages that change four times an hour, and are looked at as often; a volume an
    hour."""
    web = LargePages(hosts, pages=3, rates=(0.0, 96.0), heeds=False)
    sites = [site(host, min_interval=Seconds(900.0), keep_versions=rule) for host in hosts]
    volume = VolumeBounds(Seconds(3600.0), None)
    job = keep_job(out, sites, 0.25, tend_seconds=60.0, volume=volume)
    keep_virtually(replace(job, policy=keep_policy("uniform")), web)
    return web


def captures(out: Path) -> dict[str, list[tuple[str, dict[str, str]]]]:
    """Index lines by URL."""
    found = defaultdict(list)
    for index in sorted((out / "runs").glob("*/index.cdxj")):
        for line in index.read_text().splitlines():
            _, stamp, fields = line.split(" ", 2)
            found[json.loads(fields)["url"]].append((stamp, json.loads(fields)))
    return found


def check_replay(out: Path) -> int:
    """Every line leads to a response, or to a revisit of one that has a line."""
    lines = captures(out)
    moments = {(url, stamp) for url, seen in lines.items() for stamp, _ in seen}
    count = 0
    for url, seen in lines.items():
        for _, fields in seen:
            with (out / fields["filename"]).open("rb") as file:
                file.seek(int(fields["offset"]))
                record = next(iter(ArchiveIterator(file)))
                assert record.rec_headers.get_header("WARC-Target-URI") == url
                if record.rec_type == "revisit":
                    refers = record.rec_headers.get_header("WARC-Refers-To-Date")
                    to = record.rec_headers.get_header("WARC-Refers-To-Target-URI")
                    stamp = refers.translate({ord(c): None for c in "-:TZ"})
                    assert (to, stamp) in moments
                else:
                    assert record.rec_type == "response"
                    body = record.content_stream().read()
                    assert body or fields["status"] == "404"
            count += 1
    for file_path in (out / "runs").glob("*/warc/*.gz"):
        with file_path.open("rb") as file:
            kinds = [record.rec_type for record in ArchiveIterator(file, check_digests="raise")]
        assert kinds[0] == "warcinfo"
    return count


def check_memories(out: Path) -> None:
    """Of each page the newest content can be had."""
    for host in HOSTS:
        known = KnownPages(Collection(out), host)
        with SiteMemory(Collection(out).memory(host), host) as memory:
            for page in memory:
                earlier = known.find(page.url)
                assert earlier is not None
                assert known.stored(page.url, earlier) is not None
        known.close()


def versions(seen: list[tuple[str, dict[str, str]]]) -> int:
    return len({fields["digest"] for _, fields in seen})


def disk_bytes(out: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in (out / "runs").glob("*/warc/*.gz"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with every version."""
    out = tmp_path_factory.mktemp("whole")
    kept(out, KeepVersions())
    return out


def test_the_newest_stay_and_all_that_is_left_is_replayed(tmp_path: Path, whole: Path) -> None:
    web = kept(tmp_path / "some", KeepVersions(newest=2))
    shutil.copytree(whole, tmp_path / "all")
    assert max(len(sent) for sent in web.sent.values()) > 10, "there was much to remove"
    assert check_replay(tmp_path / "some") < check_replay(tmp_path / "all")
    check_memories(tmp_path / "some")
    pages = {url: seen for url, seen in captures(tmp_path / "some").items() if "/p1" in url}
    assert {versions(seen) for seen in pages.values()} == {2}
    assert disk_bytes(tmp_path / "some") < 0.9 * disk_bytes(tmp_path / "all")
    assert not list((tmp_path / "some").glob("runs/*/removing.json"))


def test_versions_stay_for_a_time_after_they_were_replaced(tmp_path: Path) -> None:
    web = kept(tmp_path, KeepVersions(seconds=Seconds(2 * 3600.0)))
    assert check_replay(tmp_path)
    for url, seen in captures(tmp_path).items():
        if url.endswith("/p1"):
            assert 3 <= versions(seen) < len(web.sent[url])


class Killed(Exception):
    pass


@pytest.mark.parametrize("step", range(0, 12, 2))
def test_a_kill_at_any_step_is_made_good(
    tmp_path: Path, whole: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are replaced one by one, each in one step; the kill is before one of them."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    rules = {host: {"newest": 1} for host in HOSTS}
    (tmp_path / "retention.json").write_text(json.dumps(rules))
    left = [step]
    put = Path.replace

    def dying(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return put(self, target)

    monkeypatch.setattr(Path, "replace", dying)
    with pytest.raises(Killed):
        apply_retention(Collection(tmp_path), 2e9)
    monkeypatch.undo()
    check_memories(tmp_path)
    apply_retention(Collection(tmp_path), 2e9)
    assert check_replay(tmp_path)
    check_memories(tmp_path)
    for url, seen in captures(tmp_path).items():
        assert versions(seen) == 1, url
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*")}
    assert apply_retention(Collection(tmp_path), 2e9).captures == 0
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*")}
