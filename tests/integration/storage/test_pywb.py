"""pywb, the replay tool people use, serves what we archived."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.storage.warc.making import make_body, make_url
from tests.unit.storage.warc.test_index import KEYS

from headgate.storage.warc.index import surt_key

from .crawled import SHARED_BODY, crawl_again, crawl_once
from .replaying import replayed, serving_pywb

WHATWG_URLS = Path(__file__).parents[2] / "data" / "wpt-url" / "urltestdata.json"
KEYS_OF_PYWB = """
import json, sys, surt
for line in sys.stdin:
    print(json.dumps(surt.surt(json.loads(line))))
"""


@pytest.fixture(scope="module")
def wayback(pywb_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address under which pywb serves a collection of two runs."""
    folder = tmp_path_factory.mktemp("collection")
    runs = [crawl_once(folder), crawl_again(folder)]
    collections = {
        run.stamp: {"index_paths": str(run.path / "index.cdxj"), "archive_paths": f"{folder}/"}
        for run in runs
    }
    both = folder / "both"
    both.mkdir()
    for run in runs:
        (both / f"{run.stamp}.cdxj").symlink_to(run.path / "index.cdxj")
    collections["both"] = {"index_paths": f"{both}/", "archive_paths": f"{folder}/"}
    (folder / "config.yaml").write_text(json.dumps({"collections": collections}))
    with serving_pywb(pywb_bin, folder) as address:
        yield address


@pytest.mark.parametrize(
    ("number", "body"),
    [
        pytest.param(3, make_body(3), id="a page"),
        pytest.param(5, SHARED_BODY, id="a payload others refer to"),
        pytest.param(6, SHARED_BODY, id="a revisit of another URL"),
        pytest.param(7, make_body(7), id="a response that came in chunks"),
        pytest.param(8, make_body(8)[:50], id="a response cut short"),
    ],
)
def test_a_page_is_replayed(wayback: str, number: int, body: bytes) -> None:
    stamp = f"2026111512000{number}"
    assert replayed(wayback, "2026-11-15T12-00-00", stamp, make_url(number)) == body


@pytest.mark.parametrize(
    ("number", "body"),
    [
        pytest.param(5, SHARED_BODY, id="not modified"),
        pytest.param(1, make_body(1), id="the same payload"),
    ],
)
def test_an_unchanged_page_of_a_later_run_is_replayed_from_the_first(
    wayback: str, number: int, body: bytes
) -> None:
    assert replayed(wayback, "both", "20261116", make_url(number)) == body


def urls_to_compare() -> set[str]:
    """The WHATWG's normal forms with a host worth the name, ours, and combinations of odd parts."""
    cases = [case for case in json.loads(WHATWG_URLS.read_text()) if isinstance(case, dict)]
    normal = {case["href"] for case in cases if case.get("protocol") in {"http:", "https:"}}
    paths = ("", "A/", "a//b", "./x/../y", "%2e%2E/z", "a%252Fb", "a;v=1/B.aspx", "%ff%00", "~x/*")
    queries = ("", "?", "?b=1&a=2", "?A=%26&a", "?sid=" + "0f" * 16, "?x&&y=", "?q=%20+%2B", "?=")
    hosts = ("www.Example.org", "www12.a.b:8080", "127.0.0.1", "xn--bcher-kva.example", "a-b_c.d")
    odd = {f"https://{host}/{path}{query}" for host in hosts for path in paths for query in queries}
    return {url for url in normal if "//." not in url} | odd | set(KEYS)


def test_our_keys_are_those_of_pywb(pywb_bin: Path) -> None:
    urls = sorted(urls_to_compare())
    answer = subprocess.run(
        [str(pywb_bin / "python"), "-W", "ignore", "-c", KEYS_OF_PYWB],
        input="\n".join(map(json.dumps, urls)),
        capture_output=True,
        check=True,
        text=True,
    )
    theirs = {
        url: json.loads(key) for url, key in zip(urls, answer.stdout.splitlines(), strict=True)
    }
    assert {url: surt_key(url) for url in urls} == theirs
