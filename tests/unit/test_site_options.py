"""What the command line says of sites, in the words of the site file."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from headgate.cli.arguments import add_site_options, asked_options
from headgate.engine.site_inputs import SITE_DEFAULTS, with_defaults
from headgate.features.crawl.request import CrawlRequest
from headgate.features.keep.job import KeepRequest
from headgate.features.survey.request import SurveyRequest
from headgate.model.errors import UserMistake
from headgate.model.site import Access, OnDeadline, Requisites, Site
from headgate.site_file.site_values import ACCESS_READERS

ALL = (
    "--include /docs/ --include /news/ --exclude [.]zip$ --depth 0 --expect 3MB --max-rate 1MB/s"
    " --on-deadline stop --max-pages 5 --max-bytes 2MB --max-time 10m --max-page-size 1MB"
    " --fetch text/html,image/* --store application/pdf,<5MB --requisites page --max-queries 0"
    " --connections 3 --delay 0"
)
ACCESS = """--user-agent Archive/1 --robots-agent archivebot --headers X-Team:archive
 --cookies c.txt --login http://a/in --login-fields u=me --login-fields p=env:P
 --proxy http://p:3128 --client-certificate c.pem --robots ignore"""


def said(text: str) -> dict[str, object]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_site_options(parser)
    return dict(asked_options(parser.parse_args(text.split())))


def test_every_option_reaches_a_site_that_does_not_say() -> None:
    site = with_defaults(Site("a"), said(ALL))  # type: ignore[arg-type]
    assert site == Site(
        "a", include=("/docs/", "/news/"), exclude=("[.]zip$",), depth=0, expect=3e6, max_rate=1e6,  # type: ignore[arg-type]
        on_deadline=OnDeadline.STOP, max_pages=5, max_bytes=2e6, max_time=600.0,  # type: ignore[arg-type]
        max_page_size=1e6, fetch=("text/html", "image/*"), store=("application/pdf", "<5MB"),  # type: ignore[arg-type]
        requisites=Requisites.PAGE,
        max_queries=0, connections=3, delay=0.0,  # type: ignore[arg-type]
    )  # fmt: skip
    assert with_defaults(site, said("--max-pages 9 --delay 5s --fetch */*")) == site  # type: ignore[arg-type]


def said_of_access() -> dict[str, object]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_site_options(parser)
    words = [*ACCESS.split(), "--auth", "basic env:LOGIN"]
    return dict(asked_options(parser.parse_args(words)))


def test_the_options_are_the_keys_that_a_request_knows() -> None:
    assert said(ALL).keys() == set(SITE_DEFAULTS)
    assert said_of_access().keys() == ACCESS_READERS.keys()


def test_who_asks_reaches_a_site_that_does_not_say() -> None:
    site = with_defaults(Site("a", access=Access(proxy="socks5://q:1")), said_of_access())  # type: ignore[arg-type]
    assert site.access == Access(
        "Archive/1",
        "archivebot",
        headers=("X-Team:archive",),
        auth="basic env:LOGIN",
        cookies="c.txt",
        login="http://a/in",
        login_fields=("u=me", "p=env:P"),
        proxy="socks5://q:1",
        client_certificate="c.pem",
        robots="ignore",
    )


def test_nothing_said_changes_nothing() -> None:
    assert said("") == {}
    assert with_defaults(Site("a"), {}) == Site("a")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("--max-pages 0", "--max-pages: 0 is too small"),
        ("--include (", "is not a regular expression"),
        ("--max-bytes 0", "--max-bytes: a limit of 0"),
        ("--max-bytes 5Mb", "--max-bytes: "),
        ("--max-time 0s", "--max-time: a time of 0"),
        ("--max-page-size big", "--max-page-size: "),
        ("--store >big", "--store: 'big' is not a size"),
        ("--fetch html", "--fetch: 'html' is not a media type"),
        ("--on-deadline halt", "--on-deadline: 'halt'"),
        ("--delay 2h", "say an hour or less"),
        ("--delay soon", "write it like"),
        ("--connections 101", "100 or fewer"),
        ("--connections 0", "--connections: 0 is too small"),
    ],
)
def test_what_cannot_be_is_refused_by_the_options_name(words: str, remedy: str) -> None:
    with pytest.raises(UserMistake, match=remedy):
        with_defaults(Site("a"), said(words))  # type: ignore[arg-type]


def test_a_whole_number_is_one() -> None:
    with pytest.raises(argparse.ArgumentError, match="is not a whole number"):
        said("--max-pages many")


def test_a_stop_needs_a_deadline() -> None:
    request = CrawlRequest(urls=("http://a.org/",), site_options={"on_deadline": "stop"})
    with pytest.raises(UserMistake, match="needs a deadline"):
        request.contents()


WHO = """[budget]
bandwidth = "1 MB/s"
contact = "https://archive.example"
processes = 2
[site.a]
seeds = ["https://a.example/"]
[site.b]
seeds = ["https://b.example/"]
"""


@pytest.mark.parametrize(
    ("options", "contact", "processes"),
    [
        ({}, "https://archive.example", 2),
        ({"contact": "me@b.example", "processes": 1}, "me@b.example", 1),
    ],
)
def test_what_holds_for_a_run_may_stand_in_the_file(
    tmp_path: Path, options: dict[str, object], contact: str, processes: int
) -> None:
    """What the command line says wins."""
    request = CrawlRequest(path="sites.toml", text=WHO, **options)  # type: ignore[arg-type]
    job = request.job(tmp_path)
    assert (job.fetcher.contact, job.processes) == (contact, processes)
    who = {key: value for key, value in options.items() if key == "contact"}
    kept = KeepRequest(Path("sites.toml"), lambda _: WHO, **who)  # type: ignore[arg-type]
    assert kept.job(tmp_path).contact == contact
    survey = SurveyRequest.from_options(
        ("https://a.example/",), {**who, "budget_path": "sites.toml", "budget_text": WHO}
    )
    assert survey.job(tmp_path).fetcher.contact == contact
