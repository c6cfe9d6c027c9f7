"""A plain install plans, crawls, surveys and reports; what it lacks is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.plain_install import hidden, hiding, modules_beyond_a_plain_install
from tests.acceptance.running import headgate
from tests.acceptance.small_web import SmallWeb, serving


def test_the_tests_have_more_than_a_plain_install() -> None:
    beyond = modules_beyond_a_plain_install()
    assert {"scipy", "Stemmer", "holidays", "pytest"} <= beyond
    assert not {"headgate", "numpy", "pyarrow", "rich", "pygments"} & beyond


@pytest.mark.parametrize("more", [["--compare"], ["--bandwidth", "80 KB/s"]])
def test_a_plain_install_plans(tmp_path: Path, more: list[str]) -> None:
    asked = ["plan", "--example", "six-sites-insufficient", *more]
    done = headgate(*asked, PYTHONPATH=hidden(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == headgate(*asked).stdout


def test_a_plain_install_crawls_surveys_and_reports(tmp_path: Path) -> None:
    plain, out = hidden(tmp_path / "path"), tmp_path / "out"
    with serving(SmallWeb(20)) as web:
        crawled = headgate("crawl", web.seed, "--out", out, "--quiet", PYTHONPATH=plain)
        assert crawled.returncode == 0, crawled.stderr
        (tmp_path / "list.txt").write_text(web.seed)
        surveyed = headgate(
            "survey",
            tmp_path / "list.txt",
            "--out",
            out,
            "--delay",
            "0s",
            "--quiet",
            PYTHONPATH=plain,
        )
        assert surveyed.returncode == 0, surveyed.stderr
    for command in ("report", "export", "servers"):
        done = headgate(command, out, PYTHONPATH=plain)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("module", "extra", "asked"),
    [
        ("Stemmer", "focus", ["crawl", "http://127.0.0.1:9/", "--focus", "food safety"]),
        ("holidays", "holidays", ["plan", "holidays.toml"]),
    ],
)
def test_a_missing_extra_is_named_with_its_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    extra: str,
    asked: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("holidays.toml").write_text(
        '[budget]\nbandwidth = "1 MB/s"\ncountry = "KE"\n[site.a]\nexpect = "1 MB"\n'
    )
    done = headgate(*asked, PYTHONPATH=hiding(tmp_path / "path", module))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f'pip install "headgate[{extra}]"' in done.stderr
    assert not Path("headgate-data").exists()
