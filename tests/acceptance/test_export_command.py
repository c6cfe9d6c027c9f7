"""``headgate export``: text, Markdown, WACZ and SQLite, of whole, damaged and unfinished runs."""

from __future__ import annotations

import fcntl
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tests.acceptance.running import headgate, headgate_here
from tests.acceptance.small_web import SmallWeb, serving
from tests.integration.storage.crawled import STARTED, WARCINFO, crawl_again, crawl_once, end_run
from tests.unit.storage.warc.making import make_fetched

from headgate.model.page import Page
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.spool import SiteSpool

MENU = "<nav>" + "".join(f"<a href=/m{k}>Menu {k}</a> " for k in range(9)) + "</nav>"
STORY = " ".join(
    f"The engine number {k} pumps water from the deep mine to the canal near the town."
    for k in range(12)
)
HERONS = " ".join(
    f"Herons of kind {k} stand in the shallow water and wait for fish." for k in range(9)
)


def page_of_html(number: int, path: str, body: str) -> Page:
    html = (
        f"<!DOCTYPE html><html lang=en><head><title>Title {number}</title></head>"
        f"<body>{MENU}<main>{body}</main></body></html>"
    )
    fetched = make_fetched(number, html.encode())
    return Page(replace(fetched, url=f"http://site.example{path}"), 1, title=f"Title {number}")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Of a page about engines, one that is nearly the same, another, and a picture."""
    collection = Collection(tmp_path / "kept")
    with collection.lock():
        run = collection.new_run(STARTED)
        spool = SiteSpool(run.place("docs", WARCINFO))
        spool.put(page_of_html(1, "/docs/engine.html", f"<h1>Engines</h1><p>{STORY}</p>"))
        spool.put(page_of_html(2, "/copy", f"<h1>Engines</h1><p>{STORY} More.</p>"))
        birds = f"<p>{HERONS}</p><h2>Birds</h2><p>{STORY} <a href='b.html'>nests</a></p>"
        spool.put(page_of_html(3, "/docs/birds?page=2", birds))
        picture = make_fetched(4, b"\x89PNG" + bytes(500), content_type="image/png")
        spool.put(Page(picture, 1))
        end_run(run, spool)
    return run


def test_text_is_the_main_text_of_each_page(run: RunFolder) -> None:
    done = headgate("export", run.collection, "--as", "text", "--where", "url like '%/docs/%'")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The engine number 3 pumps water" in done.stdout
    assert "Menu 3" not in done.stdout
    assert 'url: "http://site.example/docs/engine.html"' in done.stdout
    assert 'language: "en"' in done.stdout
    assert "/copy" not in done.stdout


def test_markdown_goes_to_a_folder_with_a_file_for_each_page(
    run: RunFolder, tmp_path: Path
) -> None:
    done = headgate("export", run.collection, "--as", "markdown", "--to", f"{tmp_path}/out/")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files = sorted(str(file.relative_to(tmp_path / "out")) for file in tmp_path.rglob("*.md"))
    assert [name.partition("~")[0] for name in files] == [
        "site.example/copy.md", "site.example/docs/birds", "site.example/docs/engine.html.md"
    ]  # fmt: skip
    engine, birds = (tmp_path / "out" / name for name in (files[2], files[1]))
    assert "Menu 3" not in engine.read_text()
    assert "[nests](http://site.example/docs/b.html)" in birds.read_text()
    copy = (tmp_path / "out" / files[0]).read_text()
    assert 'duplicate_of: "http://site.example/docs/engine.html"' in copy
    assert not list((tmp_path / "out").glob(".*"))


def test_tables_can_have_the_text_as_a_column(run: RunFolder, tmp_path: Path) -> None:
    rows = [
        json.loads(line)
        for line in headgate(
            "export", run.collection, "--as", "jsonl", "--content", "text"
        ).stdout.splitlines()
    ]
    assert [bool(row["text"]) for row in rows] == [True, True, True, False]
    assert rows[1]["duplicate_of"] == rows[0]["url"]
    headgate("export", run.collection, "--content", "html", "--to", tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet")
    assert table.schema.names[-1] == "html"
    assert table.column("html")[0].as_py().startswith("<!DOCTYPE html>")


def test_a_condition_chooses_rows_and_a_wrong_one_is_told(run: RunFolder) -> None:
    done = headgate("export", run.collection, "--where", "content_type = 'image/png'")
    assert done.stdout.count("\n") == 2
    for wrong in ("nowhere = 1", "status =", "1); drop table rows", "load_extension('x')"):
        done = headgate("export", run.collection, "--where", wrong)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "a condition in SQL on site, url, role, status" in done.stderr


def test_sqlite_has_both_tables_and_a_search(run: RunFolder, tmp_path: Path) -> None:
    done = headgate("export", run.collection, "--to", tmp_path / "x.sqlite", "--content", "text")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database:
        (found,) = database.execute(
            "SELECT url FROM pages WHERE rowid IN"
            " (SELECT rowid FROM pages_fts WHERE pages_fts MATCH 'herons')"
        ).fetchall()
        assert found == ("http://site.example/docs/birds?page=2",)
        moment = database.execute("SELECT min(fetched_at) FROM pages").fetchone()[0]
        assert moment.startswith("2026-11-15T12:00:0")
        assert database.execute("SELECT count(*) FROM links").fetchone() == (0,)


def test_a_broken_archive_is_exported_as_far_as_it_goes(run: RunFolder, tmp_path: Path) -> None:
    row = pq.read_table(run.path / "pages.parquet").to_pylist()[0]
    file = run.warc / row["warc_file"]
    data = bytearray(file.read_bytes())
    data[row["warc_offset"] + 30] ^= 0xFF
    file.write_bytes(data)
    done = headgate("export", run.collection, "--as", "text")
    assert done.returncode == 1
    assert "Herons" in done.stdout
    assert "headgate: 1 page could not be read" in done.stderr
    assert "/docs/engine.html" in done.stderr
    done = headgate("export", run.collection, "--to", tmp_path / "x.wacz")
    assert done.returncode == 1
    assert "headgate: 1 record could not be read" in done.stderr
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        assert package.testzip() is None
        listed = package.read("pages/pages.jsonl").decode()
        assert "/docs/birds" in listed
        assert "/docs/engine.html" not in listed, "it could not be replayed"


def test_a_run_under_way_says_so(run: RunFolder) -> None:
    collection = Collection(run.collection)
    with collection.lock():
        begun = collection.new_run(STARTED)
        spool = SiteSpool(begun.place("docs", WARCINFO))
        spool.put(page_of_html(7, "/new", f"<p>{STORY}</p>"))
        spool.commit()
        done = headgate("export", run.collection, "--as", "text")
        spool.close()
    assert done.returncode == 0
    assert f"run {begun.stamp} is under way; this is what it stored" in done.stderr
    assert done.stdout.count("url: ") == 1


def test_a_second_export_into_the_same_file_is_refused(run: RunFolder, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    with (tmp_path / ".x.csv.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = headgate("export", run.collection, "--to", target)
    assert done.returncode == 2
    assert "is being written by another export" in done.stderr
    assert not target.exists()
    assert headgate("export", run.collection, "--to", target).returncode == 0
    assert sorted(file.name for file in tmp_path.glob("*x.csv*")) == ["x.csv"]


def test_all_runs_have_a_column_that_names_them(tmp_path: Path) -> None:
    first, second = crawl_once(tmp_path / "kept"), crawl_again(tmp_path / "kept")
    done = headgate("export", tmp_path / "kept", "--run", "all", "--as", "jsonl")
    stamps = [json.loads(line)["run"] for line in done.stdout.splitlines()]
    assert stamps == [second.stamp] * 2 + [first.stamp] * 11


def test_links_come_with_their_anchor_texts(tmp_path: Path) -> None:
    """Of two sites and two runs; what the second run found unchanged, too."""
    with serving(SmallWeb(9)) as one, serving(SmallWeb(5)) as other:
        file = tmp_path / "sites.toml"
        sites = [
            f"[site.s{web.pages}]\nseeds = ['{web.seed}']\ndelay = 0\n" for web in (one, other)
        ]
        file.write_text("".join(sites))
        for _ in range(2):
            assert headgate("crawl", file, "--out", tmp_path / "kept", "--quiet").returncode == 0
    told = ["--table", "links", "--content", "text", "--as", "jsonl"]
    done = headgate("export", tmp_path / "kept", "--run", "all", *told)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["site"] for row in rows} == {"s9", "s5"}
    assert len({row["run"] for row in rows}) == 2
    for row in rows:
        name = row["target"].rpartition("/")[2].removesuffix(".html")
        assert row["text"] == ("no" if name == "x" else name), row
    few = headgate("export", tmp_path / "kept", *told, "--where", "target like '%/3.html'")
    assert {json.loads(line)["text"] for line in few.stdout.splitlines()} == {"3"}


def test_links_of_damaged_pages_have_no_text(tmp_path: Path) -> None:
    with serving(SmallWeb(5)) as web:
        assert headgate("crawl", web.seed, "--out", tmp_path, "--quiet").returncode == 0
    (archive,) = tmp_path.rglob("*.warc.gz")
    archive.write_bytes(archive.read_bytes()[:2000])
    done = headgate("export", tmp_path, "--table", "links", "--content", "text", "--as", "jsonl")
    assert done.returncode == 1
    assert "pages could not be read; the first: http://127.0.0.1" in done.stderr
    assert None in [json.loads(line)["text"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--as", "sqlite"], "name a file with --to"),
        (["--as", "wacz", "--table", "links"], "leave --table out"),
        (["--as", "text", "--content", "html"], "--content is a column of a table"),
        (["--table", "links", "--content", "html"], "links have no html"),
        (["--to", "x.doc"], "its ending is none of"),
        (["--table", "servers"], "is a crawl and has no servers"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    run: RunFolder, arguments: list[str], words: str
) -> None:
    done = headgate_here("export", run.collection, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""
