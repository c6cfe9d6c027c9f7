"""The examples of docs/scrapy.md, as a user would put them together, on pages of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.acceptance.small_web import SmallWeb, serving

PAGE = (Path(__file__).parents[2] / "docs" / "scrapy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|toml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BY_RATE, BY_PLAN, SITES, BY_META, SPIDER = [text for _, text in BLOCKS]
TITLES = """\
import scrapy


class Titles(scrapy.Spider):
    name = "titles"

    async def start(self):
        url = SEED
        REQUEST

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
"""


def run(folder: Path, *command: str) -> str:
    """What it printed, in its log too; the environment has no proxy, and no Internet is needed."""
    clean = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder, env=clean, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stderr


def test_the_whole_spider_runs(tmp_path: Path) -> None:
    with serving(SmallWeb(5)) as web:
        text = SPIDER.replace("https://docs.example.org/", web.seed)
        text = text.replace('"FEEDS"', '"COOKIES_ENABLED": False, "FEEDS"')
        (tmp_path / "spider.py").write_text(text)
        said = run(tmp_path, "spider.py")
    lines = (tmp_path / "titles.jsonl").read_text().splitlines()
    assert {json.loads(line)["title"] for line in lines} >= {f"Page {k}" for k in range(5)}
    assert "1 site, 6 pages" in said, "the seed is asked for twice, as Scrapy does"


@pytest.mark.parametrize("settings", [BY_RATE, BY_PLAN], ids=["by rate", "by plan"])
def test_a_project_with_these_settings(tmp_path: Path, settings: str) -> None:
    with serving(SmallWeb(5)) as web:
        (tmp_path / "settings.py").write_text(
            f"{settings}\nSPIDER_MODULES = ['titles']\nCOOKIES_ENABLED = False\n"
        )
        (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
        (tmp_path / "sites.toml").write_text(SITES.replace("https://docs.example.org/", web.seed))
        spider = TITLES.replace("SEED", repr(web.seed)).replace("REQUEST", BY_META.strip())
        (tmp_path / "titles.py").write_text(spider)
        said = run(tmp_path, "-m", "scrapy", "crawl", "titles", "-o", "items.jsonl")
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    assert {json.loads(line)["url"] for line in lines} >= web.urls
    assert ", 5 pages, 10 KB" in said
    if settings is BY_PLAN:
        assert "The deadline was met" in said
