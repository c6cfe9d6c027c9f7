"""Faults planted into the product, that crawls of made webs must not miss (`whole_crawls`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from headgate.crawling import frontier_driver, page_reader
from headgate.crawling.page_reader import PageReader, ReadPage
from headgate.crawling.second_reader_child import ReadAnswer
from headgate.frontier import scope, seen_urls, url_filter
from headgate.frontier.dispatch import Dispatch
from headgate.frontier.frontier import Frontier
from headgate.frontier.scope import Scope
from headgate.frontier.url_filter import UrlFilter
from headgate.reading import charset, links, other_links, urls
from headgate.reading.links import References
from headgate.reading.robots import RobotsRules
from headgate.reading.urls import UrlJoiner
from headgate.storage.memory.known_pages import KnownPages

__all__ = ["LANDED", "MISSED", "OTHERS", "Fault", "planted"]

Plant = Callable[[Any, str, object], None]
"""Sets an attribute until the fault is taken out again."""
Fault = Callable[[Plant], None]


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    with ExitStack() as patches:

        def plant(target: Any, name: str, value: object) -> None:
            patches.enter_context(patch.object(target, name, value))

        urls._known.clear()  # noqa: SLF001 - what was resolved without the fault
        fault(plant)
        yield
    urls._known.clear()  # noqa: SLF001


# Joining.


def an_origin_is_taken_for_its_root_folder(plant: Plant) -> None:
    """As landed on 17 November."""
    begin = UrlJoiner.__init__

    def begun(joiner: UrlJoiner, base: str, codec: str = "utf-8") -> None:
        begin(joiner, base, codec)
        if joiner._anywhere is not None:  # noqa: SLF001
            joiner._anywhere = urls._known.at(joiner._prefixes["/"])  # noqa: SLF001

    plant(UrlJoiner, "__init__", begun)


def folders_of_all_hosts_are_one(plant: Plant) -> None:
    at = urls._Known.at  # noqa: SLF001
    plant(urls._Known, "at", lambda known, place: at(known, re.sub("//[^/]*", "//", place)))  # noqa: SLF001


def what_means_the_page_itself_is_remembered(plant: Plant) -> None:
    plant(urls, "_OF_ITS_FOLDER", re.compile(r"[\s\S]*").fullmatch)


def one_step_up_is_enough(plant: Plant) -> None:
    prefixes = urls._prefixes  # noqa: SLF001

    def short(folder: str) -> dict[str, str]:
        found = prefixes(folder)
        return {lead: found["../"] if lead.startswith("../../") else found[lead] for lead in found}

    plant(urls, "_known_prefixes", short)


def a_query_is_no_part_of_the_name(plant: Plant) -> None:
    join = UrlJoiner.join
    plant(UrlJoiner, "join", lambda joiner, ref: join(joiner, ref.partition("?")[0]))


def escapes_are_left_as_they_are(plant: Plant) -> None:
    plant(urls, "_with_normal_escapes", lambda href: href)


def blanks_around_are_kept(plant: Plant) -> None:
    plant(links, "bare", lambda ref: ref.replace(" ", "%20"))


def a_base_is_not_heeded(plant: Plant) -> None:
    plant(References, "_read_base", lambda *_: None)


def the_last_base_wins(plant: Plant) -> None:
    def read(found: References, tag: dict[str, str]) -> None:
        found.base = tag.get("href", found.base)

    plant(References, "_read_base", read)


def a_redirect_is_taken_from_the_root(plant: Plant) -> None:
    plant(page_reader, "join", lambda url, ref: urls.join(urls.origin(url) + "/", ref))


def headers_are_latin(plant: Plant) -> None:
    plant(page_reader, "in_header", lambda value: value or "")


# Charsets.


def queries_are_written_in_utf_8(plant: Plant) -> None:
    plant(urls, "query_in", lambda _, ref: ref)


def a_charset_in_the_header_is_not_heeded(plant: Plant) -> None:
    plant(charset, "header_charset", lambda _: None)


def a_charset_in_a_meta_is_not_heeded(plant: Plant) -> None:
    plant(charset, "_meta_encoding", lambda _: None)


# What leads on.


def frames_are_no_links(plant: Plant) -> None:
    plant(References, "_read_frame", lambda *_: None)


def a_refresh_leads_nowhere(plant: Plant) -> None:
    plant(links, "refresh_target", lambda _: None)


def nofollow_is_not_heeded(plant: Plant) -> None:
    plant(links, "_nofollow", lambda *_: frozenset[str]())


def feeds_have_one_link_less(plant: Plant) -> None:
    read = other_links.xml_links
    plant(page_reader, "xml_links", lambda *args: read(*args)[:-1])


def style_sheets_import_nothing(plant: Plant) -> None:
    plant(page_reader, "css_references", lambda _: [])


def a_sitemap_of_an_index_is_not_read(plant: Plant) -> None:
    sitemaps = UrlFilter.sitemaps
    plant(UrlFilter, "sitemaps", lambda gate, some: sitemaps(gate, some)[:1])


def robots_rules_are_not_heeded(plant: Plant) -> None:
    plant(RobotsRules, "allows", lambda *_: True)


# Seen set and filters.


def capitals_make_no_difference(plant: Plant) -> None:
    plant(seen_urls, "xxh3_64_intdigest", lambda octets: xxh3_64_intdigest(octets.lower()))


def few_bits_of_a_hash_are_kept(plant: Plant) -> None:
    plant(seen_urls, "xxh3_64_intdigest", lambda octets: xxh3_64_intdigest(octets) & 0xFFF)


def a_full_cache_forgets_what_is_being_judged(plant: Plant) -> None:
    remember = UrlFilter._remember  # noqa: SLF001

    def forgetful(gate: UrlFilter, some: Sequence[str]) -> None:
        if len(gate._lately) > url_filter._MOST_LATELY:  # noqa: SLF001
            gate.seen.add([url + "x" for url in some])
        remember(gate, [*some, *(url + "index.html" for url in some if url.endswith("/"))])

    plant(UrlFilter, "_remember", forgetful)


# Scope and depth.


def www_is_another_site(plant: Plant) -> None:
    plant(scope, "_names", lambda host: (host,))


def a_port_makes_no_difference(plant: Plant) -> None:
    at_home = Scope.candidates
    plant(
        Scope,
        "candidates",
        lambda bounds, some: [
            url for url in some if at_home(bounds, [re.sub(r":\d+/", "/", url, count=1)])
        ],
    )


def exclude_is_not_heeded(plant: Plant) -> None:
    plant(Scope, "not_excluded", lambda _, some: list(some))


def include_covers_no_other_host(plant: Plant) -> None:
    plant(scope, "names_host", lambda _: False)


def a_seed_may_not_move(plant: Plant) -> None:
    plant(UrlFilter, "redirect", lambda gate, target, _, **__: gate.links([target]))


def the_last_level_is_left_out(plant: Plant) -> None:
    plant(Scope, "has", lambda bounds, depth: bounds.depth is None or depth < bounds.depth)


def one_level_more_is_followed(plant: Plant) -> None:
    plant(Scope, "has", lambda bounds, depth: bounds.depth is None or depth <= bounds.depth + 1)


def what_pages_show_is_anywhere(plant: Plant) -> None:
    plant(Scope, "needed", lambda bounds, some: some if bounds.requisites != "none" else [])


def what_was_refused_as_a_link_is_never_shown(plant: Plant) -> None:
    needed = UrlFilter.needed

    def refused(gate: UrlFilter, some: Sequence[str]) -> list[str]:
        return needed(gate, [url for url in some if url not in gate._lately])  # noqa: SLF001

    plant(UrlFilter, "needed", refused)


# From one process or run to the next.


def a_resumed_crawl_takes_pictures_for_seeds(plant: Plant) -> None:
    recall = UrlFilter.recall
    plant(UrlFilter, "recall", lambda gate, some, depth, **_: recall(gate, some, depth))


def a_resumed_crawl_loses_the_last_entry(plant: Plant) -> None:
    replay = Frontier.replay

    def short(frontier: Frontier, read: Callable[[], Iterable[Any]]) -> None:
        entries = list(read())
        if entries:
            entries[-1] = replace(entries[-1], found=())
        replay(frontier, lambda: entries)

    plant(Frontier, "replay", short)


def the_second_reader_forgets_what_not_to_follow(plant: Plant) -> None:
    def from_page(read: ReadPage) -> ReadAnswer:
        return ReadAnswer(
            read.title, read.language, read.digest, read.links, None if read.links else ()
        )

    plant(ReadAnswer, "from_page", from_page)


def the_second_reader_loses_a_link(plant: Plant) -> None:
    page = ReadAnswer.page

    def short(answer: ReadAnswer) -> ReadPage:
        read = page(answer)
        return replace(read, to_follow=read.to_follow[:-1])

    plant(ReadAnswer, "page", short)


def the_child_reads_no_requisites(plant: Plant) -> None:
    async def read(_: str, method: Any, *args: Any) -> Any:
        found = method(*args)
        return replace(found, requisites=()) if isinstance(found, ReadPage) else found

    plant(frontier_driver, "read_aside", read)


def of_many_links_the_first_are_lost(plant: Plant) -> None:
    async def last(_: Any, event: Any, __: int) -> Any:
        return replace(event, links=event.links[-frontier_driver.LINKS_AT_ONCE :])

    plant(frontier_driver.FrontierDriver, "tell_most", last)


def what_is_remembered_is_not_asked(plant: Plant) -> None:
    plant(KnownPages, "pages", lambda _: iter(()))


def unchanged_pages_have_no_links(plant: Plant) -> None:
    read = PageReader._read_html  # noqa: SLF001

    def fresh(reader: PageReader, fetched: Any, body: bytes, kind: str) -> ReadPage:
        found = read(reader, fetched, body, kind)
        return found if fetched.seconds else replace(found, to_follow=())

    plant(PageReader, "_read_html", fresh)


def levels_overlap(plant: Plant) -> None:
    begin = Dispatch.__init__

    def begun(dispatch: Dispatch, *args: Any, **others: Any) -> None:
        begin(dispatch, *args, **{**others, "strict_levels": False})

    plant(Dispatch, "__init__", begun)


LANDED = an_origin_is_taken_for_its_root_folder
OTHERS: tuple[Fault, ...] = (
    folders_of_all_hosts_are_one, what_means_the_page_itself_is_remembered,
    one_step_up_is_enough, a_query_is_no_part_of_the_name, escapes_are_left_as_they_are,
    blanks_around_are_kept, a_base_is_not_heeded, the_last_base_wins,
    a_redirect_is_taken_from_the_root, headers_are_latin, queries_are_written_in_utf_8,
    a_charset_in_the_header_is_not_heeded, a_charset_in_a_meta_is_not_heeded,
    frames_are_no_links, a_refresh_leads_nowhere, nofollow_is_not_heeded,
    feeds_have_one_link_less, style_sheets_import_nothing, a_sitemap_of_an_index_is_not_read,
    robots_rules_are_not_heeded, capitals_make_no_difference, few_bits_of_a_hash_are_kept,
    a_full_cache_forgets_what_is_being_judged, www_is_another_site, a_port_makes_no_difference,
    exclude_is_not_heeded, include_covers_no_other_host, a_seed_may_not_move,
    the_last_level_is_left_out, one_level_more_is_followed, what_pages_show_is_anywhere,
    what_was_refused_as_a_link_is_never_shown, a_resumed_crawl_takes_pictures_for_seeds,
    a_resumed_crawl_loses_the_last_entry, the_second_reader_forgets_what_not_to_follow,
    the_second_reader_loses_a_link, the_child_reads_no_requisites,
    of_many_links_the_first_are_lost, what_is_remembered_is_not_asked,
    unchanged_pages_have_no_links,
)  # fmt: skip
MISSED = (levels_overlap,)
"""What these crawls do not find: pages whose depth depends on what comes first may be asked for."""
