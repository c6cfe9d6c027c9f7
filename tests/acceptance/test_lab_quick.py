"""``headgate lab --quick --out lab.html``, as the README has it: every paper, wholly wired.

With smaller webs and simulations than the command has: papers have tests of their own
(tests/unit/lab), which run what is left out here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.cli.main import main
from headgate_lab.papers import PAPERS
from headgate_lab.papers.diligenti2004 import reproduction as diligenti
from headgate_lab.papers.freshness import reproduction as freshness
from headgate_lab.papers.nakahira2008 import reproduction as nakahira
from headgate_lab.papers.sarss2010 import simulation as sarss
from headgate_lab.papers.zhu2020 import reproduction as zhu
from headgate_lab.papers.zhu2020.comparison import BANDWIDTHS, Task, comparison_tasks


def _some_tasks(instances: int, seed: int) -> list[Task]:
    """One family at one bandwidth, with and without caps."""
    tasks = comparison_tasks(instances, seed)
    return [t for t in tasks if (t.cell.family, t.cell.bandwidth) == ("P", BANDWIDTHS[0])]


def test_every_paper_is_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zhu, "comparison_tasks", _some_tasks)
    monkeypatch.setattr(diligenti, "_QUEUES", 1)
    monkeypatch.setattr(diligenti, "_SIMULATED_SECONDS", 65.0)
    monkeypatch.setattr(nakahira, "SITES", nakahira.SITES // 2)
    monkeypatch.setattr(sarss, "TENTH", sarss.Extent(50, 2_000))
    some_pages = freshness._held_out()[::4]
    monkeypatch.setattr(freshness, "_held_out", lambda: some_pages)
    page = tmp_path / "lab.html"
    assert main(["lab", "--quick", "--jobs", "1", "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    for paper in PAPERS:
        assert f'id="{paper}"' in text
    assert list(tmp_path.iterdir()) == [page], "parts are kept until the page is written"
