"""Links between sites: whose they are, and which are new."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.link_exchange import Channels, KnownLinks
from headgate.model.site import Site

HOST = Site("host", seeds=("https://a.org/",))
FOLDERS = Site("folders", seeds=("https://b.org/x/",), include=(r"/x/", r"/y/"))
ANYWHERE = Site("anywhere", seeds=("https://c.org/",), include=(r"^https://d\.org/z/",))


def test_a_channel_is_a_host_a_folder_or_a_set_of_folders() -> None:
    channels = Channels([HOST, FOLDERS, ANYWHERE])
    whose = {
        "http://www.a.org/p": "host",
        "https://b.org/x/1": "folders",
        "https://b.org/y/2": "folders",
        "https://b.org/w/3": None,
        "https://d.org/z/4": "anywhere",
        "https://d.org/": None,
        "mailto:a@b.org": None,
    }
    assert {url: channels.site_of(url) for url in whose} == whose


def test_links_are_given_to_other_channels_than_the_finders() -> None:
    links = ["https://a.org/1", "https://b.org/x/2", "https://e.org/", "https://b.org/y/3"]
    given_out = Channels([HOST, FOLDERS]).given_out(links, found_by="host")
    assert given_out == {"folders": ["https://b.org/x/2", "https://b.org/y/3"]}


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=6))
def test_each_link_is_told_of_once_also_after_being_stored(visits: list[list[str]]) -> None:
    links, told = KnownLinks(), []
    for urls in visits:
        told += links.new(urls)
        links = KnownLinks.from_bytes(links.to_bytes())
    assert told == list(dict.fromkeys(url for urls in visits for url in urls))
    assert len(links) == len(told)


def test_of_very_many_links_the_oldest_are_forgotten() -> None:
    links = KnownLinks()
    links.new(str(number) for number in range(50_001))
    assert len(links.to_bytes()) == 400_000
    assert links.new(["0", "50000"]) == ["0"]
