"""Commands and hooks are told what changed: real children, real sockets, a real disk."""

from __future__ import annotations

import asyncio
import errno
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from tests.integration.storage.test_volume import run, visit
from tests.unit.storage.warc.making import make_url

from headgate.engine.clock import SystemClock
from headgate.features.keep import notices as change_notices
from headgate.features.keep import notices as notice_queue
from headgate.features.keep.notice_log import NoticeLog
from headgate.features.keep.notices import ChangeNotices
from headgate.features.keep.status import NoticeCounts
from headgate.model.keeping import Keeping
from headgate.model.page import ArchivedPage, Change, ChangeNotice, PageChange
from headgate.model.site import Site
from headgate.storage.collection import RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.page_states import page_states

__all__ = ["run"]  # a fixture

AGENT = "Headgate/test"
NOBODY = "http://127.0.0.1:1/"


def change(number: int = 1) -> PageChange:
    return PageChange(
        Change.CHANGED,
        "docs",
        url=f"https://a.org/{number}",
        title="A title",
        seen_at=20.0,
        before_at=10.0,
    )


def notice(number: int = 1) -> ChangeNotice:
    return ChangeNotice(change(number))


async def until(condition: Callable[[], bool]) -> None:
    """Patiently: the machine may be busy."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def script(folder: Path, text: str) -> str:
    path = folder / "told.py"
    path.write_text(f"import json, os, sys, time\n{text}\n")
    return f"{sys.executable} '{path}' 'two words'"


def told_to(**receivers: str) -> list[Site]:
    return [Site(name, keeping=Keeping(on_change=to)) for name, to in receivers.items()]


def telling(folder: Path, to: str, seconds: float = 60.0) -> ChangeNotices:
    return ChangeNotices(folder, SystemClock(), AGENT, told_to(docs=to), seconds)


@asynccontextmanager
async def hook(answer: Callable[[bytes], bytes | None]) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that answers requests so; None: not at all."""
    asked: list[bytes] = []
    over = asyncio.Event()
    serving: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
        asked.append(head + await reader.readexactly(length))
        words = answer(asked[-1])
        if words is None:
            await over.wait()
        writer.write(words or b"")
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?a=b", asked
    finally:
        server.close()
        over.set()
        await asyncio.gather(*filter(None, serving), return_exceptions=True)


def test_a_command_has_it_on_stdin_and_in_its_environment(tmp_path: Path) -> None:
    command = script(
        tmp_path,
        "its = os.environ\n"
        "said = json.dumps([json.load(sys.stdin), sys.argv[1:], json.loads(its['HEADGATE_CHANGE']),"
        " its['HEADGATE_URL'], its['HEADGATE_SITE'], its['HEADGATE_KIND']])\n"
        f"open({str(tmp_path / 'said')!r}, 'a').write(said + '\\n')",
    )

    async def play() -> None:
        async with telling(tmp_path, command) as notices:
            for number in range(3):
                notices.enqueue(notice(number))
            await until(lambda: notices.counts == NoticeCounts(told=3))
            assert notices.troubles() == ()

    asyncio.run(play())
    said = [json.loads(line) for line in (tmp_path / "said").read_text().splitlines()]
    assert [told[0]["url"] for told in said] == [f"https://a.org/{n}" for n in range(3)]
    told, words, brief, url, site, kind = said[0]
    assert told == brief == {
        "change": "changed", "site": "docs", "url": "https://a.org/0", "title": "A title",
        "seen_at": 20.0, "before_at": 10.0,
    }  # fmt: skip
    assert (words, url, site, kind) == (["two words"], "https://a.org/0", "docs", "changed")


def test_no_shell_is_asked_unless_the_user_writes_one(tmp_path: Path) -> None:
    out = tmp_path / "out"

    async def play() -> None:
        async with telling(tmp_path, f"echo $HEADGATE_SITE > {out}") as notices:
            notices.enqueue(notice())
            await until(lambda: notices.counts.told == 1)
            assert not out.exists()
            notices.set_sites(told_to(docs=f"sh -c 'echo $HEADGATE_SITE > {out}'"))
            notices.enqueue(notice())
            await until(lambda: notices.counts.told == 2)

    asyncio.run(play())
    assert out.read_text() == "docs\n"


def test_a_command_that_never_ends_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f"sh -c 'sleep 1000 & echo $! > {pid}; wait'"

    async def play() -> None:
        async with telling(tmp_path, command, seconds=0.5) as notices:
            notices.enqueue(notice())
            await until(lambda: bool(notices.troubles()))
            [trouble] = notices.troubles()
            assert "not done in 0.5 seconds" in trouble.what
            assert trouble.remedy
            assert notices.counts == NoticeCounts(waiting=1)

    asyncio.run(play())
    for _ in range(1000):
        if not Path(f"/proc/{pid.read_text().strip()}").exists():
            return
        time.sleep(0.01)
    state = Path(f"/proc/{pid.read_text().strip()}/stat").read_text()
    assert ") Z" in state, "its child still runs"


@pytest.mark.parametrize(
    ("command", "what", "remedy"),
    [
        ("no-such-program-here --x", "No such file", "install 'no-such-program-here'"),
        ("/", "Permission denied", "install '/'"),
        ("sh -c 'no-such-program-here'", "not found", "install 'sh'"),
    ],
)
def test_a_command_that_cannot_be_run_is_told_with_a_remedy(
    tmp_path: Path, command: str, what: str, remedy: str
) -> None:
    async def play() -> None:
        async with telling(tmp_path, command) as notices:
            notices.enqueue(notice())
            await until(lambda: notices.counts.failed == 1)
            [trouble] = notices.troubles()
            assert what in trouble.what
            assert remedy in trouble.remedy

    asyncio.run(play())


def test_a_command_that_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notice_queue, "_FIRST_PAUSE", 0.01)
    command = script(
        tmp_path,
        f"tries = open({str(tmp_path / 'tries')!r}, 'a+')\ntries.write('x'); tries.seek(0)\n"
        "if len(tries.read()) < 3: print('not yet ' + 'x' * 100_000 + ' really', file=sys.stderr);"
        " sys.exit(1)",
    )

    async def play() -> None:
        async with telling(tmp_path, command) as notices:
            notices.enqueue(notice())
            await until(lambda: bool(notices.troubles()))
            assert notices.troubles()[0].what.endswith("x really")
            assert len(notices.troubles()[0].what) < 1000
            await until(lambda: notices.counts == NoticeCounts(told=1))
            assert notices.troubles() == ()

    asyncio.run(play())


def _no_file_left(*_: object, **__: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def _broken(*_: object) -> None:
    raise KeyError("page")


@pytest.mark.parametrize(
    ("where", "what", "problem"),
    [
        ("asyncio.create_subprocess_exec", _no_file_left, "Too many open files"),
        ("os.pipe", _no_file_left, "Too many open files"),
        ("headgate.features.keep.notices._with_difference", _broken, "'page'"),
    ],
)
def test_what_the_machine_lacks_is_no_fault_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, what: object, problem: str
) -> None:
    """The notice is sent once there is enough of it, and so are those after it."""
    monkeypatch.setattr(notice_queue, "_FIRST_PAUSE", 0.01)

    async def play() -> None:
        async with telling(tmp_path, "true") as notices:
            with monkeypatch.context() as lacking:
                lacking.setattr(where, what)
                notices.enqueue(notice())
                await until(lambda: bool(notices.troubles()))
            [trouble] = notices.troubles()
            assert trouble.what.endswith(problem)
            assert "it is tried again" in trouble.remedy
            notices.enqueue(notice(2))
            await until(lambda: notices.counts == NoticeCounts(told=2))
            assert notices.troubles() == ()

    asyncio.run(play())


def test_json_is_posted(tmp_path: Path) -> None:
    async def play() -> None:
        async with hook(lambda _: b"HTTP/1.1 204 No Content\r\n\r\n") as (url, asked):
            named = url.replace("http://", "http://me:p%40ss@")
            async with telling(tmp_path, named) as notices:
                notices.enqueue(notice())
                await until(lambda: notices.counts == NoticeCounts(told=1))
            head, _, body = asked[0].partition(b"\r\n\r\n")
            assert head.startswith(b"POST /hook?a=b HTTP/1.1\r\nHost: 127.0.0.1:")
            assert b"User-Agent: Headgate/test\r\n" in head
            assert b"Authorization: Basic bWU6cEBzcw==\r\n" in head
            assert json.loads(body)["url"] == "https://a.org/1"

    asyncio.run(play())


@pytest.mark.parametrize(
    ("answer", "what", "failed"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "it answered 302", 1),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "it answered 404", 1),
        (b"HTTP/1.1 503 Busy\r\n\r\n", "it answered 503", 0),
        (b"HTTP/1.1 429 Slowly\r\n\r\n", "it answered 429", 0),
        (b"220 mail.example.org ESMTP\r\n", "is no HTTP server", 0),
        (b"x" * 100_000, "", 0),
        (b"", "", 0),
        (None, "no answer in 0.5 seconds", 0),
    ],
)
def test_answers_of_hooks(tmp_path: Path, answer: bytes | None, what: str, failed: int) -> None:
    async def play() -> None:
        async with (
            hook(lambda _: answer) as (url, asked),
            telling(tmp_path, url, seconds=0.5) as notices,
        ):
            notices.enqueue(notice())
            await until(lambda: bool(notices.troubles()))
            [trouble] = notices.troubles()
            assert what in trouble.what
            assert trouble.remedy
            assert notices.counts == NoticeCounts(failed=failed, waiting=1 - failed)
            assert len(asked) == 1, "no redirect is followed"

    asyncio.run(play())


def test_nobody_listening_there(tmp_path: Path) -> None:
    async def play() -> None:
        async with telling(tmp_path, NOBODY) as notices:
            notices.enqueue(notice())
            await until(lambda: bool(notices.troubles()))
            assert notices.counts == NoticeCounts(waiting=1)

    asyncio.run(play())


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    async def stop_half_way() -> None:
        async with hook(lambda _: None) as (url, asked), telling(tmp_path, url) as notices:
            for number in range(3):
                notices.enqueue(notice(number))
            await until(lambda: bool(asked))

    asyncio.run(stop_half_way())
    log = NoticeLog(tmp_path)
    assert [one.change.url for one in log.open.values()] == [f"https://a.org/{n}" for n in range(3)]
    out = tmp_path / "out"
    for number in list(log.open):
        log.done(number)
    for number in range(3):
        log.add(notice(number))
    log.close()

    async def go_on() -> None:
        async with telling(tmp_path, f"sh -c 'echo $HEADGATE_URL >> {out}'") as notices:
            await until(lambda: notices.counts == NoticeCounts(told=3))

    asyncio.run(go_on())
    assert out.read_text().splitlines() == [f"https://a.org/{n}" for n in range(3)]
    assert NoticeLog(tmp_path).open == {}


def test_a_visit_that_is_not_merged_yet_is_not_told_with_another(tmp_path: Path) -> None:
    """It leaves the same notices again if that fails."""
    folder = tmp_path / "notices"
    folder.mkdir()
    for number, name in enumerate(["a.org~2", "b.org~2", "b.org~3"]):
        told = msgspec.json.encode([notice(number)])
        (folder / f"{name}.json").write_bytes(told)

    async def play() -> None:
        async with telling(tmp_path, NOBODY) as notices:
            assert notices.counts.waiting == 0, "nor at the start"
            notices.collect(Owner("b.org", 2))
            assert notices.counts.waiting == 1
            assert sorted(file.stem for file in folder.iterdir()) == ["a.org~2", "b.org~3"]
            notices.collect()
            assert notices.counts.waiting == 3

    asyncio.run(play())
    assert not list(folder.iterdir())


def test_a_torn_line_and_a_tidied_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.features.keep.notice_log._TIDY_AFTER", 10)
    log = NoticeLog(tmp_path)
    for number in range(30):
        log.done(log.add(notice(number)))
    last = log.add(notice(99))
    log.close()
    path = tmp_path / "notices.jsonl"
    assert len(path.read_bytes().splitlines()) < 12
    with path.open("ab") as file:
        file.write(b'{"number": 100, "notice": {"change"')
    assert NoticeLog(tmp_path).open == {last: notice(99)}


def test_too_many_and_a_full_disk_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (notice_queue, change_notices):
        monkeypatch.setattr(module, "MOST_WAITING", 2)

    async def play() -> None:
        async with telling(tmp_path, NOBODY) as notices:
            for number in range(5):
                notices.enqueue(notice(number))
            assert notices.counts == NoticeCounts(dropped=3, waiting=2)
            assert "3 notices of changes were dropped" in notices.troubles()[-1].what
            assert "headgate changes" in notices.troubles()[-1].remedy

    asyncio.run(play())


def test_the_difference_is_told(tmp_path: Path, run: RunFolder) -> None:
    visit(run, 1, {0: b"<title>t</title><p>5 EUR<p>9 views"})
    visit(run, 2, {0: b"<title>t</title><p>6 EUR<p>10 views"})
    old, new = (
        ArchivedPage(state.file, state.offset, state.record_url, state.digest)
        for _, _, state in sorted(page_states(run))
    )
    out = tmp_path / "out"
    told = PageChange(
        Change.CHANGED, "docs", url=make_url(0), title="t", seen_at=20.0, before_at=10.0
    )

    async def play() -> None:
        async with telling(run.collection, f"sh -c 'cat > {out}'") as notices:
            notices.enqueue(ChangeNotice(told, old, new))
            await until(lambda: notices.counts == NoticeCounts(told=1))

    asyncio.run(play())
    assert json.loads(out.read_bytes())["difference"] == ["  t", "- 5 EUR", "+ 6 EUR"]


def test_telling_takes_no_time(tmp_path: Path) -> None:
    """A thousand notices to a hook that never answers."""

    async def play() -> float:
        async with hook(lambda _: None) as (url, _), telling(tmp_path, url) as notices:
            start = time.process_time()
            for number in range(1000):
                notices.enqueue(notice(number))
            return (time.process_time() - start) / 1000

    assert asyncio.run(play()) < 0.005


def test_what_waits_goes_to_whom_the_site_file_names_now(tmp_path: Path) -> None:
    """Not to whom it named once, nor to whom the collection names."""
    log = NoticeLog(tmp_path)
    for number, site in enumerate(["docs", "news", "gone"]):
        log.add(ChangeNotice(structs.replace(change(number), site=site)))
    log.close()
    path = tmp_path / "notices.jsonl"
    evil = path.read_bytes().replace(b'"notice":{', b'"notice":{"to":"touch evil",')
    path.write_bytes(evil)
    said = tmp_path / "said"

    async def play() -> None:
        sites = told_to(docs=NOBODY, news="", other="touch other")
        async with ChangeNotices(tmp_path, SystemClock(), AGENT, sites) as notices:
            assert notices.counts == NoticeCounts(waiting=1), "news and gone name nobody"
            await until(lambda: bool(notices.troubles()))
            notices.set_sites(told_to(docs=f"sh -c 'echo $HEADGATE_URL >> {said}'"))
            assert notices.troubles() == (), "what is named no more troubles nobody"
            await until(lambda: notices.counts == NoticeCounts(told=1))

    asyncio.run(play())
    assert said.read_text() == "https://a.org/0\n"
    assert not (tmp_path / "evil").exists()
    assert NoticeLog(tmp_path).open == {}


def test_a_receiver_named_no_more_gets_no_second_try(tmp_path: Path) -> None:
    """The site file changes while a notice is on its way; that try fails."""

    async def play() -> None:
        async with (
            hook(lambda _: None) as (url, asked),
            telling(tmp_path, url, seconds=0.5) as notices,
        ):
            notices.enqueue(notice())
            await until(lambda: bool(asked))
            notices.set_sites(told_to(docs="true"))
            assert notices.counts == NoticeCounts(waiting=1)
            await until(lambda: notices.counts == NoticeCounts(told=1))

    asyncio.run(play())
