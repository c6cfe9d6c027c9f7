"""``headgate survey`` as a user runs it: options, results, interruptions, what has changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import networkx
import pyarrow.parquet as pq
import pytest
from tests.acceptance.reckoning import interrupted
from tests.acceptance.running import headgate, headgate_here
from tests.acceptance.small_web import SmallWeb, serving
from tests.machine import wait_until

QUICK = ("--delay", "0s", "--quiet")


@dataclass
class LinkedWeb(SmallWeb):
    """Every page links to a host of its own and to one that all link to."""

    without: frozenset[str] = frozenset()
    """Pages that have lost their own link."""

    def body(self, path: str) -> bytes | None:
        plain = super().body(path)
        if plain is None or path == "/robots.txt":
            return plain
        name = path.removeprefix("/").removesuffix(".html")
        own = "" if name in self.without else f'<a href="http://h{name}.example/">own</a>'
        return f'{own}<a href="https://all.example/&amp;quot">all</a>'.encode() + plain


def hosts_of(run: Path) -> set[str]:
    return set(pq.read_table(run / "links.parquet").column("host").to_pylist())


def only_run(out: Path) -> Path:
    (run,) = (out / "runs").iterdir()
    return run


def pages_asked_twice(web: SmallWeb) -> list[str]:
    return [path for path, count in web.asked.items() if count > 1 and path != "/robots.txt"]


def test_a_survey_from_the_list_to_the_tables(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving(LinkedWeb(30)) as web:
        (tmp_path / "list.txt").write_text(f"# ours\n{web.seed}\nno url at all\n")
        done = headgate("survey", tmp_path / "list.txt", "--out", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "list.txt:3: 'no url at all' is no URL; left out" in done.stderr
    assert "1 of 1 server answered; links to 31 other hosts (31 pairs)" in done.stdout
    assert "ended: finished" in done.stdout
    run = only_run(out)
    assert hosts_of(run) == {f"h{k}.example" for k in range(30)} | {"all.example"}
    graph = networkx.read_graphml(run / "hosts.graphml")
    assert graph.is_directed()
    assert graph.number_of_nodes() == 32
    assert graph.nodes["127.0.0.1"]["reachable"] is True
    assert graph.edges["127.0.0.1", "all.example"]["weight"] == 30
    server = pq.read_table(run / "servers.parquet").to_pylist()[0]
    assert (server["pages"], server["requests"]) == (30, 31)
    assert sum(pq.read_table(run / "depths.parquet").column("new_hosts").to_pylist()) == 31
    assert (run / "report.html").stat().st_size > 1000


def test_a_survey_that_brought_nothing_says_so_first(tmp_path: Path) -> None:
    with serving(SmallWeb(3, status=403)) as web:
        starts = (web.seed, "http://nobody.invalid/")
        done = headgate("survey", *starts, "--out", tmp_path, *QUICK)
        as_json = headgate("survey", *starts, "--out", tmp_path, "--json", *QUICK)
    first, *rest = done.stdout.splitlines()
    assert first == (
        "Nothing was fetched from 2 servers: 1 × dns (the name does not resolve),"
        " 1 × status 403 (Forbidden)"
    )
    assert not [line for line in rest if "403" in line or "dns" in line], "it is said once"
    assert (done.returncode, as_json.returncode) == (4, 4)
    assert "<h1>Nothing was fetched from 2 servers" in newest_page(tmp_path)


def newest_page(out: Path) -> str:
    return (max((out / "runs").iterdir()) / "report.html").read_text(encoding="utf-8")


def test_the_tables_open_in_duckdb(tmp_path: Path) -> None:
    with serving(LinkedWeb(5)) as web:
        headgate("survey", web.seed, "--out", tmp_path, *QUICK)
    run = only_run(tmp_path)
    query = (
        f"select s.server, count(*) from '{run}/servers.parquet' s"
        f" join '{run}/links.parquet' l on s.server = l.server group by 1"
    )
    # Not in this process: what pytest holds of it until the end, it calls leaked.
    code = f"import duckdb; print(duckdb.sql({query!r}).fetchall())"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert asked.stdout == "[('127.0.0.1', 6)]\n"


def test_json_is_the_report_and_quiet_is_quiet(tmp_path: Path) -> None:
    with serving(LinkedWeb(40)) as web:
        done = headgate("survey", web.seed, "--json", "--depth", "2", "--out", tmp_path, *QUICK)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report == json.loads((only_run(tmp_path) / "report.json").read_bytes())
    assert [level["pages"] for level in report["depths"]] == [1, 2, 4]
    assert [level["requests"] for level in report["ahead"]][:2] == [8, 16]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what to survey"),
        (["no-such-list.txt"], "is no URL"),
        ([__file__, "http://a.ke/"], "a list stands alone"),
        ([str(Path(__file__).parent)], "is a folder"),
        (["http://a.ke/", "--depth", "99"], "--depth"),
        (["http://a.ke/", "--until", "1.5"], "--until"),
        (["http://a.ke/", "--yield", "-1"], "--yield"),
        (["http://a.ke/", "--max-pages", "1"], "--max-pages"),
        (["http://a.ke/", "--yield", "inf"], "--yield"),
        (["http://a.ke/", "--max-bytes", "many"], "many"),
        (["http://a.ke/", "--max-bytes", "0"], "--max-bytes must be more than 0"),
        (["http://a.ke/", "--bandwidth", "0"], "--bandwidth must be more than 0"),
        (["http://a.ke/", "--contact", "a\r\nb: c"], "cannot stand in a header"),
        (["http://a.ke/", "--scope", ".ke,,"], "--scope"),
        (["http://a.ke/", "--delay", "soon"], "soon"),
        (["http://a.ke/", "--at-once", "0"], "--at-once"),
        (["--resume"], "no unfinished survey"),
        (["http://a.ke/", "--resume"], "no unfinished survey to go on with; leave out --resume"),
        (["--resume", "--registrable"], "--registrable"),
        (["diff", "here"], "two surveys"),
        (["diff", "here", "there"], "holds no survey"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    out = () if "diff" in arguments else ("--out", tmp_path / "out")
    done = headgate_here("survey", *arguments, *out)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headgate: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_help_tells_what_and_how() -> None:
    done = headgate("survey", "--help")
    assert done.returncode == 0
    for word in ("--scope", "--until", "--registrable", "examples:", "diff"):
        assert word in done.stdout


def start(web: SmallWeb, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "headgate", "survey", web.seed, "--out", str(out), *QUICK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUTF8": "1"},
    )


def test_ctrl_c_saves_and_resume_goes_on(tmp_path: Path) -> None:
    with serving(LinkedWeb(60, seconds_per_page=0.03, held_after=20)) as web:
        process = start(web, tmp_path)
        wait_until(lambda: len(web.served) >= 20)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        web.held_after = None
        assert process.returncode == 130
        refused = headgate("survey", web.seed, "--out", tmp_path, *QUICK)
        assert (refused.returncode, "--resume" in refused.stderr) == (2, True)
        shown = headgate("report", tmp_path)
        assert (shown.returncode, "ended: interrupted" in shown.stdout) == (0, True)
        done = headgate("survey", "--resume", "--out", tmp_path, *QUICK)
        assert done.returncode == 0, done.stderr
    assert "links to 61 other hosts" in done.stdout
    assert len(pages_asked_twice(web)) <= 1  # the one under way


def test_kill_9_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    with serving(LinkedWeb(80, seconds_per_page=0.05, held_after=45)) as web:
        process = start(web, tmp_path)
        wait_until(lambda: len(web.served) >= 45)
        log = only_run(tmp_path) / "survey.log"
        wait_until(lambda: log.stat().st_size > 100)  # some of it is stored
        process.kill()
        process.communicate(timeout=60)
        web.held_after = None
        done = headgate("survey", "--resume", "--out", tmp_path, *QUICK)
        assert done.returncode == 0, done.stderr
    assert "links to 81 other hosts" in done.stdout
    # A commit comes every half second, or later on a busy machine: what came since is asked again.
    assert len(pages_asked_twice(web)) < 40
    assert len(web.asked) == 81


def test_a_second_survey_and_what_has_changed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving(LinkedWeb(20)) as web:
        first = json.loads(headgate("survey", web.seed, "--json", "--out", out, *QUICK).stdout)
        second = json.loads(headgate("survey", web.seed, "--json", "--out", out, *QUICK).stdout)
    assert second["unchanged"] == 20
    assert second["hosts"] == first["hosts"]
    assert second["wire_bytes"] < 0.4 * first["wire_bytes"]
    runs = [out / "runs" / report["stamp"] for report in (first, second)]
    done = headgate("survey", "diff", *runs)
    assert done.returncode == 0, done.stderr
    assert "links gone: 0" in done.stdout
    found = json.loads(headgate("survey", "diff", *runs, "--json").stdout)
    assert found["links_new"] == found["servers_gone"] == []


def test_a_link_that_is_gone_is_told(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    web = LinkedWeb(20)
    with serving(web):
        headgate("survey", web.seed, "--out", before, *QUICK)
        web.without = frozenset("7")
        headgate("survey", web.seed, "--out", after, *QUICK)
    done = headgate("survey", "diff", before, after)
    assert "links gone: 1\n  127.0.0.1 -> h7.example" in done.stdout


def test_a_survey_that_is_not_finished_says_how_to_go_on(tmp_path: Path) -> None:
    with serving(SmallWeb(200, seconds_per_page=0.3)) as web:
        words = ("survey", web.seed, "--out", tmp_path, "--quiet")
        interrupted(signal.SIGINT, *words, web=web, after_seconds=0.5)
        said = headgate("report", tmp_path).stdout
        assert f"not finished: 'headgate survey --resume --out {tmp_path}' continues it" in said
        assert headgate("crawl", "--abandon", "--out", tmp_path).returncode == 0
        assert "not finished" not in headgate("report", tmp_path).stdout


def test_report_and_export_know_surveys(tmp_path: Path) -> None:
    with serving(LinkedWeb(10)) as web:
        done = headgate("survey", web.seed, "--out", tmp_path, *QUICK)
    shown = headgate("report", tmp_path)
    assert (shown.returncode, shown.stdout) == (0, done.stdout)
    table = headgate("export", tmp_path)
    assert table.returncode == 0, table.stderr
    head, row = table.stdout.splitlines()
    assert head.startswith('"server","start"')
    assert row.startswith('"127.0.0.1"')
    rows = headgate("export", tmp_path, "--as", "jsonl").stdout.splitlines()
    assert json.loads(rows[0])["pages_by_depth"] == [1, 2, 4, 3]
    assert len(headgate("export", tmp_path, "--table", "links").stdout.splitlines()) == 1 + 11
    refused = headgate("export", tmp_path, "--table", "pages")
    assert refused.returncode == 2
    assert "is a survey and has no pages; --table is one of servers, links" in refused.stderr
