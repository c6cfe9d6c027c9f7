"""Every file that a command reads of a collection, cut short everywhere and changed at random.

The command line is entered in this process, so that a traceback is an exception here, and hundreds
of damaged files take seconds. Nothing is fetched: see `without_the_web`. HEADGATE_FUZZ=10 tries ten
times as many.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from isal import isal_zlib
from tests.acceptance.small_web import SmallWeb, serving
from tests.machine import wait_until

from .strange_collections import Strange, entered, make_crawl, make_survey, without_the_web

Capture = pytest.CaptureFixture[bytes]
Find = Callable[[Strange], Path]
TIMES = int(os.environ.get("HEADGATE_FUZZ", "1"))
CHANGES, MOST_CUTS = 24 * TIMES, 40 * TIMES
SEED = 20261116


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    return make_crawl(tmp_path_factory.mktemp("crawled") / "data")


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Strange:
    return make_survey(tmp_path_factory.mktemp("surveyed") / "data")


def state(name: str) -> Find:
    return lambda here: here.spool / f"{name}.state"


def memory(here: Strange) -> Path:
    return next((here.path / "sites").iterdir())


def catalog(here: Strange) -> Path:
    return here.path / "catalog.sqlite"


def journal(here: Strange) -> Path:
    return next(here.spool.glob("*.journal"))


def cuts(whole: bytes) -> Iterator[bytes]:
    """All of them, as far as there are not too many; those at the ends in any case."""
    length = len(whole)
    step = max(length // MOST_CUTS, 1)
    yield from (
        whole[:end] for end in sorted({*range(0, length, step), *range(0, min(64, length), 8)})
    )


def changes(whole: bytes) -> Iterator[bytes]:
    """Bits turned, bytes put in and left out, pieces overwritten and doubled, other bytes whole."""
    chance = np.random.default_rng(SEED + len(whole))
    for number in range(CHANGES):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            at = int(chance.integers(max(len(data), 1)))
            match number % 6:
                case 0:
                    data[at] ^= 1 << int(chance.integers(8))
                case 1:
                    data[at : at + 1] = b""
                case 2:
                    data[at:at] = chance.bytes(int(chance.integers(1, 4)))
                case 3:
                    data[at : at + 16] = bytes(16)
                case 4:
                    data[at:at] = data[at : at + int(chance.integers(1, 200))]
                case 5:
                    data[at : at + 1] = bytes([chance.choice(list(b'0919-"{}[],.eE'))])
        yield bytes(data)
    yield from (b"", b"\0" * len(whole), b"null", b"[]", b"{}", b"9" * 5000, b"[" * 100_000)
    yield b'{"seconds":1e308,"ended":true}'
    yield b"nan"
    yield b"-1"


def check(
    whole: Strange,
    folder: Path,
    capture: Capture,
    find: Find,
    commands: Sequence[Sequence[str]],
    codes: Sequence[int] = (0, 2, 130),
    damaged: Iterator[bytes] | None = None,
) -> int:
    """How many of the damaged files were refused."""
    refused = 0
    here, name = whole.copy(folder), find(whole).relative_to(whole.path)
    original = (whole.path / name).read_bytes()
    for data in damaged or (*cuts(original), *changes(original)):
        (here.path / name).write_bytes(data)
        for words in commands:
            place = (
                [str(here.path)] if words[0] in READERS else ["--out", str(here.path), "--quiet"]
            )
            done = entered(capture, *words, *place)
            assert done.code in codes, (words, data, done.err)
            if done.code in (1, 2):
                assert done.complaint
            if done.code == 2:
                refused += 1
            if done.code != 2 or words[0] == "budget":
                here = whole.copy(folder)
                (here.path / name).write_bytes(data)
        here = here if done.code == 2 else whole.copy(folder)
    return refused


READERS = ("report", "export", "servers", "plan")
RESUME = ("crawl", "--resume")
ABANDON = ("crawl", "--abandon")

CASES: dict[str, tuple[Find, Sequence[Sequence[str]]]] = {
    "request.state": (state("request"), [RESUME]),
    "elapsed.state": (state("elapsed"), [RESUME, ABANDON, ("report",)]),
    "report.state": (state("report"), [RESUME, ("report",)]),
    "memory": (memory, [RESUME]),
    "catalog": (catalog, [("servers",), RESUME]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_file_is_named_or_does_no_harm(
    crawled: Strange,
    tmp_path: Path,
    capfdbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
) -> None:
    without_the_web(monkeypatch)
    find, commands = CASES[case]
    refused = check(crawled, tmp_path / "data", capfdbinary, find, commands)
    assert refused or case == "memory", "a memory is mended, not refused"


def test_a_budget_that_is_none_is_refused_before_a_crawl(
    crawled: Strange, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_web(monkeypatch)
    here = crawled.copy(tmp_path / "data")
    for bad in (b"", b"nan", b"-1", b"0", b"fast", b"\xff\xfe", b"1e400 x", b"0x10"):
        (here.spool / "budget.state").write_bytes(bad)
        done = entered(capfdbinary, *RESUME, "--out", here.path, "--quiet")
        assert done.code == 2, bad
        assert "budget.state is damaged" in done.complaint


def test_a_budget_that_becomes_none_does_not_end_a_crawl(tmp_path: Path) -> None:
    """It goes on as before, and says once why."""
    out, said = tmp_path / "data", tmp_path / "said"
    words = ["--out", str(out), "--bandwidth", "5MB/s", "--delay", "0"]
    command = [sys.executable, "-m", "headgate", "crawl"]
    with (
        serving(SmallWeb(40, held_after=10)) as web,
        said.open("wb") as err,
        subprocess.Popen([*command, web.seed, *words], stdout=err, stderr=err) as process,
    ):
        try:
            wait_until(lambda: len(web.served) >= 10)
            (spool,) = (out / "spool").iterdir()
            (spool / "budget.state").write_bytes(b"\xff\xfefast")
            wait_until(lambda: "budget.state is damaged" in said.read_text())
            web.held_after = None
            process.wait(60)
        finally:
            process.kill()
    assert process.returncode == 0, said.read_text()
    assert said.read_text().count("budget.state") == 1
    assert len(web.served) > 40


def test_damaged_journals_and_tables(
    crawled: Strange, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal cut short is what a crash leaves; both are the disk's faults otherwise."""
    without_the_web(monkeypatch)
    codes = (0, 1, 2, 130)
    folder = tmp_path / "data"
    check(
        crawled,
        folder,
        capture=capfdbinary,
        find=journal,
        commands=[("export",), ("report",)],
        codes=codes,
    )
    monkeypatch.setattr("tests.integration.strangers.test_damaged_files.MOST_CUTS", 10 * TIMES)
    for name in ("pages.parquet", "report.json"):

        def of_finished(here: Strange, name: str = name) -> Path:
            return here.finished / name

        original = of_finished(crawled).read_bytes()
        here = crawled.copy(folder)
        for data in (*cuts(original), *changes(original)):
            of_finished(here).write_bytes(data)
            command = "report" if name == "report.json" else "export"
            done = entered(capfdbinary, command, here.finished)
            assert done.code in codes, (name, data)


def test_damaged_surveys(
    surveyed: Strange, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_web(monkeypatch)
    resume = ("survey", "--resume")
    codes = (0, 1, 2, 130)
    assert check(
        surveyed,
        tmp_path / "data",
        capture=capfdbinary,
        find=state("survey"),
        commands=[resume],
        codes=codes,
    )

    def log(here: Strange) -> Path:
        return here.unfinished / "survey.log"

    monkeypatch.setattr("tests.integration.strangers.test_damaged_files.MOST_CUTS", 10 * TIMES)
    check(
        surveyed,
        tmp_path / "data",
        capture=capfdbinary,
        find=log,
        commands=[resume, ("report",)],
        codes=codes,
    )


def resealed(data: bytearray) -> bytes:
    """A memory under checks that fit what is in it."""
    end = int.from_bytes(data[40:48], "little")
    data[48:52] = isal_zlib.crc32(bytes(data[60:end])).to_bytes(4, "little")
    data[52:56] = isal_zlib.crc32(bytes(data[end:])).to_bytes(4, "little")
    data[56:60] = isal_zlib.crc32(bytes(data[:56])).to_bytes(4, "little")
    return bytes(data)


def test_a_memory_made_on_purpose(
    crawled: Strange, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its check sums are right: nobody notices before it is used."""
    without_the_web(monkeypatch)
    whole = memory(crawled).read_bytes()
    assert resealed(bytearray(whole)) == whole
    chance = np.random.default_rng(SEED)
    made = []
    for _ in range(4 * CHANGES):  # most of them change a figure, and only some what makes an entry
        data = bytearray(whole)
        for _ in range(3):
            data[int(chance.integers(24, len(data)))] = int(chance.integers(256))
        made.append(resealed(data))
    refused = check(
        crawled, tmp_path / "data", capfdbinary, memory, [RESUME, ABANDON], damaged=iter(made)
    )
    assert refused
