"""``headgate lab`` as a user meets it, with the work itself replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.main import main
from headgate.lab.bed import network
from headgate.lab.papers.claim import Claim
from headgate.lab.papers.diligenti2004 import reproduction as diligenti
from headgate.lab.papers.mapping import Mapper
from headgate.lab.papers.zhu2020 import reproduction
from headgate.lab.papers.zhu2020.comparison import (
    compare,
    comparison_tasks,
)
from headgate.lab.papers.zhu2020.figures import Figure, Panel
from headgate.lab.papers.zhu2020.instant import InstantResult
from headgate.lab.papers.zhu2020.reference import references
from headgate.lab.papers.zhu2020.reproduction import Reproduction


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
        return Reproduction(instances, seed, six, six, comparison, [figure], [claim], beside)

    monkeypatch.setattr(reproduction, "reproduce", reproduce)


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
    document = json.loads(capsys.readouterr().out)
    assert document["paper"] == "zhu2020"
    assert document["instances"] == 3
    assert "</html>" in page.read_text(encoding="utf-8")


def test_the_example_is_written(tmp_path: Path) -> None:
    example = tmp_path / "fifty.toml"
    assert main(["lab", "zhu2020", "--write-example", str(example)]) == 0
    assert main(["plan", str(example), "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["zhu2021"], "there is no paper 'zhu2021'; known: zhu2020, diligenti2004"),
        (["--instances", "0"], "too small"),
        (["--instances", "many"], "not a whole number"),
        (["--seed", "-1"], "too small"),
        (["zhu2020", "--out", "no/such/folder/x.html"], "no such folder"),
        (["--json"], "--json is for one paper; name one of zhu2020, diligenti2004"),
        (["--out", "x.html"], "--out is for one paper"),
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
    page = tmp_path / "report.html"
    assert main(["lab", "diligenti2004", "--simulated", "--out", str(page)]) == 0
    printed = capsys.readouterr().out
    for words in (
        "shares under one bucket",
        "109–116 %",
        "What the paper says",
        "Headgate promises",
    ):
        assert words in printed
    text = page.read_text(encoding="utf-8")
    assert text.count('plane wide"') == 6
    assert "Fig. 3: on/off control" in text
    assert main(["lab", "diligenti2004", "--simulated", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bed"] == {}
    assert len(document["series"]["maxd6"]["measured"]) == 120
