"""Whatever a server does, what it is asked for stays bounded. On real sockets, by its own count."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from headgate.features.survey.job import SurveyJob, survey
from headgate.features.survey.log import read_survey
from headgate.features.survey.report import SurveyReport
from headgate.features.survey.strategy.facts import SurveyFacts
from headgate.features.survey.strategy.rules import ALL, SurveyRules
from headgate.fetching.client import FetcherSettings
from headgate.fetching.limits import Limits
from headgate.frontier.politeness import PolitenessRules
from headgate.model.budget import Budget
from headgate.model.units import UNLIMITED
from headgate.storage.collection import SURVEY_LOG

from .looking_on import Nobody, parts_with_names
from .odd_servers import ENDLESS, Odd, OddServers, html, redirect

_CAP = 40


def _survey(
    tmp_path: Path,
    answers: Mapping[str, Odd],
    starts: list[str],
    rules: SurveyRules,
    names: Mapping[str, str] | None = None,
) -> tuple[SurveyReport, OddServers, SurveyFacts]:
    async def surveyed() -> tuple[SurveyReport, OddServers]:
        async with OddServers(answers).serving() as servers:
            job = SurveyJob(
                tuple(f"http://{name}:{servers.port}/" for name in starts),
                rules,
                Budget(UNLIMITED),
                tmp_path,
                FetcherSettings(
                    "test", Limits(first_byte_seconds=10.0), named=frozenset(("127.0.0.0/8",))
                ),
            )
            parts = parts_with_names(names or {"*": "127.0.0.1"})
            async with asyncio.timeout(100):
                return await survey(job, parts, Nobody()), servers

    report, servers = asyncio.run(surveyed())
    facts = SurveyFacts.from_log(lambda: read_survey(tmp_path / "runs" / report.stamp / SURVEY_LOG))
    return report, servers, facts


def _rules(**changes: object) -> SurveyRules:
    plain = {"most_requests": _CAP, "pace": PolitenessRules(connections=1, failure_limit=3)}
    return SurveyRules(**(plain | changes))  # type: ignore[arg-type]


def _says_yes(host: str, path: str) -> bytes:
    """Answers everything with 200 and links to what is not there."""
    del host
    return html(*(f"{path.rstrip('/')}/{word}" for word in ("a", "b", "c")))


def _calendar(host: str, path: str) -> bytes:
    """Each day links to the next, and to the same day in a thousand other ways."""
    del host
    last = path.rpartition("/")[2]
    day = int(last) if last.isdigit() else 0
    others = (f"/day?date={day}&view={view}" for view in range(50))
    return html(f"/day/{day + 1}", f"/day/{day + 2}", *others)


_session = count()


def _sessions(host: str, path: str) -> bytes:
    """Every link has a session of its own in its path."""
    del host, path
    return html(*(f"/s{next(_session):08x}/page{number}" for number in range(10)))


def _loop(host: str, path: str) -> bytes:
    """Redirects in circles, and on and on."""
    del host
    if path == "/":
        return html("/round/a", "/on/0")
    if path.startswith("/round"):
        return redirect("/round/b" if path.endswith("a") else "/round/a")
    return redirect(f"/on/{int(path.rpartition('/')[2]) + 1}")


def _huge(host: str, path: str) -> bytes:
    """A hundred thousand links, a third of them out."""
    del host, path
    return html(*(f"http://h{k}.out.test/" if k % 3 == 0 else f"/page/{k}" for k in range(100_000)))


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (_says_yes, _CAP),
        (_calendar, _CAP),
        (_sessions, _CAP),
        (_loop, 14),  # robots, front, two of the circle, and six of the other
        (lambda host, path: ENDLESS, 2),  # noqa: ARG005
    ],
    ids=["yes to all", "calendar", "sessions", "redirects", "endless body"],
)
def test_it_ends_and_asks_for_no_more_than_the_cap(tmp_path: Path, answer: Odd, most: int) -> None:
    report, servers, facts = _survey(
        tmp_path, {"odd.test": answer}, ["odd.test"], _rules(most_page_bytes=100_000)
    )
    asked = servers.asked["odd.test"]
    assert 2 <= len(asked) <= most
    assert len(set(asked)) == len(asked)
    assert facts.servers["odd.test"].requests == len(asked)
    assert not report.interrupted


def test_a_calendar_is_asked_for_one_query(tmp_path: Path) -> None:
    _, servers, facts = _survey(tmp_path, {"odd.test": _calendar}, ["odd.test"], _rules())
    assert sum("?" in url for url in servers.asked["odd.test"]) == 1
    assert facts.servers["odd.test"].pages_by_depth[8] > 0


def test_a_thousand_names_share_one_cap(tmp_path: Path) -> None:
    """robots.txt of each name counts."""

    def names(host: str, path: str) -> bytes:
        del path
        _, _, port = host.partition(":")
        every = (f"http://n{number}.names.test:{port}/" for number in range(1000))
        return html(*every) if host.startswith("names") else html()

    _, servers, _ = _survey(tmp_path, {"names.test": names}, ["names.test"], _rules())
    asked = servers.asked["names.test"]
    assert len(asked) == _CAP
    assert sum(url.endswith("/robots.txt") for url in asked) == _CAP // 2


def test_wildcard_names_become_few_starts(tmp_path: Path) -> None:
    """With --scope all: any name below wild.test resolves, answers, and links to more such."""
    names = count()

    def answer(host: str, path: str) -> bytes:
        del path
        port = host.partition(":")[2]
        return html(*(f"http://x{next(names)}.wild.test:{port}/" for _ in range(100)))

    report, servers, _ = _survey(
        tmp_path,
        {"start.test": answer, "wild.test": answer},
        ["start.test"],
        _rules(scope=ALL, rounds=5, names_per_domain=8),
    )
    assert len(servers.asked["start.test"]) == 2
    assert report.servers == 1 + 8
    assert len(servers.asked["wild.test"]) == 8 * 2  # robots.txt and front page of each
    assert report.hosts == 9 * 100


def test_a_page_of_a_hundred_thousand_links_is_read_as_far_as_is_bearable(tmp_path: Path) -> None:
    report, servers, facts = _survey(
        tmp_path, {"odd.test": _huge}, ["odd.test"], _rules(most_requests=5)
    )
    assert len(servers.asked["odd.test"]) == 5
    assert 1000 < report.hosts <= 20_000
    assert facts.servers["odd.test"].requests == 5


def test_hosts_made_up_without_end_are_taken_in_up_to_a_bound(tmp_path: Path) -> None:
    names = count()

    def answer(host: str, path: str) -> bytes:
        del host
        made_up = (f"http://m{next(names)}.out.test/" for _ in range(50))
        return html(*made_up, *(f"{path.rstrip('/')}/{word}" for word in "ab"))

    report, _, facts = _survey(tmp_path, {"odd.test": answer}, ["odd.test"], _rules(most_hosts=120))
    assert report.hosts == len(facts.servers["odd.test"].links) == 120


def test_names_that_do_not_resolve_are_facts(tmp_path: Path) -> None:
    report, _, facts = _survey(
        tmp_path, {"here.test": _says_yes}, ["gone.test", "here.test"], _rules(depth=1),
        {"here.test": "127.0.0.1"},
    )  # fmt: skip
    assert report.unreachable == {"dns": 1}
    assert not facts.servers["gone.test"].reachable


def test_a_wiki_whose_pages_have_endless_queries(tmp_path: Path) -> None:
    """As MediaWiki has them: every page links to its edits and histories under one script."""

    def wiki(host: str, path: str) -> bytes:
        del host
        title = path.partition("?")[0].rpartition("/")[2] or "0"
        number = int(title) if title.isdigit() else 0
        tools = (f"/index.php?title={number}&action={what}" for what in ("edit", "history"))
        below = (f"/index.php/{page}" for page in (2 * number + 1, 2 * number + 2) if page < 60)
        return html(*tools, f"http://host-{number}.example/", *below)

    _, servers, facts = _survey(
        tmp_path, {"wiki.test": wiki}, ["wiki.test"], _rules(most_requests=1000)
    )
    asked = servers.asked["wiki.test"]
    assert sum("?" in url for url in asked) == 1
    assert len(asked) == 1 + 1 + 1 + 59  # robots, front, one query, pages
    assert set(facts.servers["wiki.test"].links) == {f"host-{k}.example" for k in range(60)}
