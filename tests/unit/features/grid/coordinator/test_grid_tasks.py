"""From sites to tasks of a grid: where each is, how often it may ask, and who shares a host."""

from __future__ import annotations

from headgate.control.forecast import Forecast, Source
from headgate.features.grid.coordinator.task_data import TaskSpec
from headgate.features.grid.coordinator.tasks import TaskFactory
from headgate.features.grid.protocol import decoded
from headgate.features.grid.scheduler.records import NewTask
from headgate.features.grid.scheduler.site_splitting import groups_of_hosts, is_shared, next_round
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import BytesPerSecond, Seconds


def making(*sites: Site) -> TaskFactory:
    groups = {site.name: groups_of_hosts(site) for site in sites if is_shared(site)}
    known = {site.name: Forecast(6e6, Source.HISTORY) for site in sites}
    return TaskFactory(sites, groups, forecasts=known, run="run", wall=0.0, contact="me")


def told(new: NewTask) -> Task:
    return decoded(new.spec, TaskSpec).task


def test_a_site_of_one_host_is_one_task() -> None:
    (new,) = making(Site("a", ("http://a.test/",), delay=Seconds(2.0))).new()
    assert (new.site, new.host, new.part, new.visit, new.nodes_at_once) == ("a", "a.test", "", 0, 1)
    assert told(new).part is None
    assert (told(new).site.delay, told(new).whose) == (2.0, ("a", 0))


def test_parts_of_several_hosts_are_each_at_their_own() -> None:
    seeds = ("http://a.test/", "http://b.test/", "http://www.a.test/x")
    site = Site("ab", seeds, max_rate=BytesPerSecond(1000.0))
    one, two = making(site).new()
    assert [one.host, two.host] == ["a.test", "b.test"]
    assert [one.visit, two.visit] == [1, 2]
    assert [told(new).whose for new in (one, two)] == [("ab", 1), ("ab", 2)]
    assert told(one).name != told(two).name, "a node may have both"
    assert told(one).site.max_rate == 500.0
    assert one.expected_bytes == 3e6
    assert decoded(one.spec, TaskSpec).site_bytes == 6e6, "one host may have almost all of it"


def test_a_part_waits_for_another_site_at_its_host() -> None:
    shared = Site("ab", ("http://a.test/", "http://b.test/"))
    hosts = [new.host for new in making(shared, Site("b", ("http://b.test/2",))).new()]
    assert hosts == ["a.test", "b.test", "b.test"]


def shares(site: Site, *others: Site) -> list[NewTask]:
    made = making(site, *others)
    (first, *_) = made.new()
    part = told(first).part
    assert part is not None
    return made.parts(site, next_round(site, part, {0: 9000}, 5, ()), 2)


def test_shares_of_a_host_together_ask_as_often_as_one() -> None:
    site = Site("a", ("http://a.test/",), nodes_at_once=3, delay=Seconds(2.0), connections=6)
    (first,) = making(site).new()
    assert (told(first).site.delay, told(first).nodes, first.nodes_at_once) == (2.0, 1, 1)
    later = shares(site)
    assert [new.visit for new in later] == list(range(2, 11))
    assert {new.host for new in later} == {"a.test"}
    assert {new.nodes_at_once for new in later} == {3}
    task = told(later[4])
    assert (task.site.delay, task.site.connections, task.nodes) == (6.0, 2, 3)
    assert later[4].part == "round 2, share 5 of 9"


def test_where_nothing_is_said_each_node_has_one_request_under_way() -> None:
    task = told(shares(Site("a", ("http://a.test/",), nodes_at_once=2))[0])
    assert task.site.connections == 1


def test_beside_other_sites_of_the_host_even_a_part_alone_leaves_room() -> None:
    site = Site("a", ("http://a.test/",), nodes_at_once=2, delay=Seconds(1.0))
    other = Site("b", ("http://a.test/b/",), nodes_at_once=2)
    first, _ = making(site, other).new()
    assert (told(first).site.delay, first.nodes_at_once) == (2.0, 2)


def test_hosts_that_seeds_led_to_are_the_parts_own() -> None:
    site = Site("a", ("http://a.test/",), nodes_at_once=2)
    made = making(site)
    (first,) = made.new()
    part = told(first).part
    assert part is not None
    planned = next_round(site, part, {0: 10}, 2, ())
    (new,) = made.parts(site, planned, 2, ["http://a.test/", "http://new.test/"])
    assert told(new).site.seeds == ("http://a.test/", "http://new.test/")
