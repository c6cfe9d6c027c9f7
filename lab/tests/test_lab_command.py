"""``headgate lab`` as a user meets it, with the work itself replaced."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from headgate.cli.main import main
from headgate.report.markup import element
from headgate_lab.bed import network
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.claim import Claim
from headgate_lab.papers.diligenti2004 import reproduction as diligenti
from headgate_lab.papers.kept_chapters import KeptChapters
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.reproducing import Trial
from headgate_lab.papers.zhu2020 import reproduction
from headgate_lab.papers.zhu2020.comparison import compare, comparison_tasks
from headgate_lab.papers.zhu2020.figures import Figure, Panel
from headgate_lab.papers.zhu2020.instant import InstantResult
from headgate_lab.papers.zhu2020.random_six import random_six
from headgate_lab.papers.zhu2020.reference import references
from headgate_lab.papers.zhu2020.reproduction import Reproduction
from headgate_lab.progress import LabProgress


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One instance of each uncapped kind stands for all of them."""

    def reproduce(instances: int, seed: int, mapper: Mapper, say: Any) -> Reproduction:
        say("working")
        tasks = [task for task in comparison_tasks(1, seed) if task.cell.caps == "no caps"]
        comparison = compare(tasks, mapper)
        six = [InstantResult("M-MAXT", 183.6, 863.8, 0.0)]
        figure = Figure(8, "t", "x", (1.0, 2.0), (Panel("y", {"headgate": (1.0, 2.0)}),))
        claim = Claim("5.1", "A thing holds", holds=True, numbers="1 < 2")
        beside = references(six, six, comparison)
        drawn = random_six(1, seed, map)
        return Reproduction(
            instances,
            seed,
            sufficient=six,
            insufficient=six,
            random_six=drawn,
            comparison=comparison,
            figures=[figure],
            claims=[claim],
            references=beside,
        )

    monkeypatch.setattr(reproduction, "reproduce", reproduce)


def _once(reproduce: Any) -> Any:
    """What it found the first time, whenever it is asked: it takes seconds."""
    found: list[Any] = []

    def again(*args: Any, **options: Any) -> Any:
        found.extend([] if found else [reproduce(*args, **options)])
        return found[0]

    return again


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "zhu2020", "--jobs", "1"]) == 0
    output = capsys.readouterr()
    for words in ("183.6", "ReAlloc-PRODataAmount", "holds: A thing holds", "Checks", "9 of 9"):
        assert words in output.out
    assert "working" in output.err


def test_json_and_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert (
        main(["lab", "zhu2020", "--jobs", "1", "--instances", "3", "--json", "--out", str(page)])
        == 0
    )
    document = json.loads(capsys.readouterr().out)["papers"]["zhu2020"]
    assert document["instances"] == 3
    assert document["seconds"] >= 0
    assert "</html>" in page.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_an_interrupted_run_goes_on_with_what_it_had_found(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diligenti, "_QUEUES", 1)
    monkeypatch.setattr(diligenti, "_SIMULATED_SECONDS", 61.0)
    monkeypatch.setattr(diligenti, "_SECONDS", 41.0)
    whole = diligenti.reproduce

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(diligenti, "reproduce", interrupted)
    page = tmp_path / "lab.html"
    words = ["lab", "zhu2020", "diligenti2004", "--quick", "--jobs", "1", "--out", str(page)]
    assert main(words) == 130
    error = capsys.readouterr().err
    assert f"interrupted; what is done is kept in {page}.parts: the same command goes on" in error
    assert not page.exists()

    def not_again(*_: Any) -> Reproduction:
        raise AssertionError("it was done")

    monkeypatch.setattr(diligenti, "reproduce", whole)
    monkeypatch.setattr(reproduction, "reproduce", not_again)
    assert main(words) == 0
    assert "zhu2020: as the interrupted run had found" in capsys.readouterr().err
    text = page.read_text(encoding="utf-8")
    assert 'id="zhu2020"' in text
    assert 'id="diligenti2004"' in text
    assert 'href="#diligenti2004-1"' in text
    assert [path.name for path in tmp_path.iterdir()] == ["lab.html"]


def test_what_was_asked_otherwise_is_not_taken_up(tmp_path: Path) -> None:
    page = tmp_path / "lab.html"
    kept = KeptChapters(page, Trial(seed=1))
    kept.open()
    chapter = Chapter(
        "zhu2020",
        "t",
        introduction="i",
        lots="l",
        claims=[],
        parts=[Part("h", element("p", "a & b"))],
        document={"x": 1},
    )
    kept.keep(chapter, 2.5)
    assert KeptChapters(page, Trial(seed=2)).taken_up("zhu2020") is None
    assert kept.taken_up("nakahira2008") is None
    assert kept.taken_up("zhu2020") == (chapter, 2.5)
    (kept.folder / "zhu2020.json").write_text('{"key": ', encoding="utf-8")
    assert kept.taken_up("zhu2020") is None


def test_how_long_it_will_take_follows_how_fast_the_machine_is() -> None:
    now = 0.0
    console = Console(file=io.StringIO(), width=200)
    progress = LabProgress(console, {"one": 10.0, "two": 100.0}, lambda: now)
    with progress:
        progress.begin("one")
        assert progress.seconds_left() == 110.0
        now = 20.0
        assert progress.done() == 20.0
        progress.begin("two")
        assert progress.seconds_left() == 200.0
        now = 60.0
        progress.say("a step")
        assert list(progress.counting(map)(abs, [-1, 2])) == [1, 2]
        assert progress.seconds_left() == 160.0
    assert "[2/2] two: a step, about 3 min left" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_example_is_written(tmp_path: Path) -> None:
    example = tmp_path / "fifty.toml"
    assert main(["lab", "zhu2020", "--write-example", str(example)]) == 0
    assert main(["plan", str(example), "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["zhu2021"], "there is no paper 'zhu2021'; did you mean 'zhu2020'?"),
        (["xyz"], "there is no paper 'xyz'; known: zhu2020, diligenti2004"),
        (["--instances", "0"], "too small"),
        (["--instances", "many"], "not a whole number"),
        (["--seed", "-1"], "too small"),
        (["zhu2020", "--out", "no/such/folder/x.html"], "no such folder"),
        (["zhu2020", "--out", "."], ". is a folder; name a file, as in lab.html"),
        (["--write-example", "no/such/folder/x.toml"], "no such folder"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_the_bed_needs_a_machine_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(network, "missing", lambda: "network namespaces need root")
    assert main(["lab", "diligenti2004"]) == 1
    error = capsys.readouterr().err
    assert "network namespaces need root; or run it with --simulated" in error
    assert error.count("\n") == 1


def test_virtual_time_needs_no_bed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(network, "missing", lambda: "network namespaces need root")
    monkeypatch.setattr(diligenti, "_QUEUES", 1)
    monkeypatch.setattr(diligenti, "_SIMULATED_SECONDS", 65.0)
    monkeypatch.setattr(diligenti, "reproduce", _once(diligenti.reproduce))
    page = tmp_path / "report.html"
    assert main(["lab", "diligenti2004", "--simulated"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "shares under one bucket",
        "109–116 %",
        "What the paper says",
        "Headgate promises",
    ):
        assert words in printed
    assert main(["lab", "diligenti2004", "--simulated", "--json", "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count('plane wide"') == 6
    assert "Fig. 3: on/off control" in text
    document = json.loads(capsys.readouterr().out)["papers"]["diligenti2004"]
    assert document["bed"] == {}
    assert len(document["series"]["maxd6"]["measured"]) == 120
