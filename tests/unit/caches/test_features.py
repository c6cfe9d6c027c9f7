"""What keepers, surveys and grids remember: each thing a value depends on is varied, with the
others fixed."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.features.grid.scheduler.test_board import task
from tests.unit.features.grid.scheduler.test_placement_policies import MadeUpGrid, nodes
from tests.unit.features.survey.strategy.playing import Answer, play

from headgate.features.grid import protocol
from headgate.features.grid.coordinator.task_data import GivenTasks, TaskSpec
from headgate.features.grid.protocol import Lease, decoded, encoded
from headgate.features.grid.scheduler import placement_policies
from headgate.features.grid.scheduler.placement_policies import ByZone, CoordinateSpace
from headgate.features.grid.transport.credentials import Key, Whose
from headgate.features.keep import notice_delivery
from headgate.features.keep.kept_memory import basis_of, decode_outlook, encode_outlook
from headgate.features.keep.recrawl import page_estimates, page_histories, rates
from headgate.features.keep.recrawl.policies import POLICY_NAMES, keep_policy
from headgate.features.keep.recrawl.rates import RateGrid, RatePrior
from headgate.features.keep.recrawl.site_outlook import KNOTS_SECONDS, Outlook
from headgate.features.keep.status_log import HOUR, KeepLog
from headgate.features.survey import log as log_module
from headgate.features.survey.log import SurveyFile, SurveyIndex
from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.features.survey.strategy.events import FetchPage, FetchRobots
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.server_tree import ChosenPage, KindQueue
from headgate.features.survey.strategy.surveyor import Surveyor
from headgate.features.survey.strategy.territory import Territory
from headgate.features.survey.strategy.turns import RequestChoice
from headgate.features.survey.strategy.yields import PageKind, YieldModel
from headgate.features.survey.wrapping_up import registrable_domain
from headgate.fetching.tls import trusting_context
from headgate.model.keeping import Keeping, Staleness
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Seconds
from headgate.scrapy.shared_session import SiteNames
from headgate.storage.collection import Collection


def test_grids_of_rates_go_by_the_speed_and_are_few() -> None:
    for interval in (86_400.0, 1_800.0, 5.0, 86_400.0):
        grid = RateGrid.for_interval(interval)
        assert np.array_equal(grid.rates, RateGrid(grid.speed).rates)
    for interval in np.linspace(1.0, 3_000.0, 200):
        RateGrid.for_interval(float(interval))
    assert rates._grid.cache_info().currsize <= 64


def test_likelihoods_and_tables_go_by_grid_and_function_and_are_few() -> None:
    slow, fast = RateGrid.for_interval(86_400.0), RateGrid.for_interval(5.0)
    since = np.array([[0.5, 3.0]])
    for grid in (slow, fast, slow):
        told = page_histories._told_by.__wrapped__(grid)
        assert np.array_equal(page_histories._told_by(grid), told)
        even = np.full((2, len(grid)), 1 / len(grid))
        means = [
            page_estimates.mean_changed(grid, even, since),
            page_estimates.mean_changed_twice(grid, even, since),
            page_estimates.mean_ages(grid, even, since),
            *(page_estimates.mean_values(staleness, grid, even, since) for staleness in Staleness),
        ]
        assert len({mean.tobytes() for mean in means}) == len(means)
        for of in (page_estimates.expected_age, page_estimates.probability_changed):
            own = page_estimates._table.__wrapped__(grid, of)
            assert np.array_equal(page_estimates._table(grid, of), own)
    assert page_histories._told_by.cache_info().maxsize == 64
    assert page_estimates._table.cache_info().maxsize == 320


def test_the_prior_in_use_goes_by_its_pages_once_it_is_renewed() -> None:
    def prior(*sums: float) -> RatePrior:
        made = RatePrior()
        for number, weight in enumerate(sums):
            made.counted(str(number), np.eye(32)[number] * weight)
        made.renew()
        return made

    grid = RateGrid()
    made = prior(100.0, 100.0)
    for name, weight in (("0", 10.0), ("1", 500.0)):
        before = made.probabilities(grid)
        made.counted(name, np.eye(32)[int(name)] * weight)
        assert np.array_equal(made.probabilities(grid), before), "not yet"
        made.renew()
    assert np.allclose(made.probabilities(grid), prior(10.0, 500.0).probabilities(grid))
    made.forget("1")
    made.renew()
    assert np.allclose(made.probabilities(grid), prior(10.0).probabilities(grid))


def test_a_stored_outlook_holds_for_the_policy_and_terms_it_was_made_by() -> None:
    none = (0.0,) * len(KNOTS_SECONDS)
    outlook = Outlook(
        begins=0.0, values=none, fresh=none, ages=none, pages=1, oldest_look=0.0,
        expected_bytes=1.0, expected_seconds=1.0, promise_bytes=1.0, promise_seconds=1.0,
        rate_weights=(1.0,), unseen=0,
    )  # fmt: skip
    plain = Site("a", seeds=("http://a.org/",), keeping=Keeping())
    keepings = [
        Keeping(importance=2.0),
        Keeping(fresh_within=Seconds(60.0)),
        Keeping(min_interval=Seconds(60.0)),
    ]
    policies = [keep_policy(name).pages for name in POLICY_NAMES]
    policies.append(keep_policy(POLICY_NAMES[0], Staleness.FRESHNESS).pages)
    own = basis_of(policies[0], plain)
    stored = encode_outlook(outlook, own)
    assert decode_outlook(stored, own) == outlook
    others = [basis_of(policies[0], replace(plain, keeping=keeping)) for keeping in keepings]
    others += [basis_of(policy, plain) for policy in policies[1:]]
    assert own not in others
    assert [decode_outlook(stored, other) for other in others] == [None] * len(others)
    assert basis_of(policies[0], replace(plain, name="b")) == own, (
        "a row of the catalog is a site's"
    )


def test_the_calibration_is_that_of_all_hours() -> None:
    log = KeepLog(0.0)
    for hour in range(1, 4):
        log.record_fetch(0.5, changed=True)
        before = log.checked()
        log.turn(hour * HOUR)
        assert log.checked() == before
        log.record_fetch(0.5, changed=False)
        assert log.checked() != before
    assert sum(log.checked().looks) == 6


def test_frames_of_a_survey_go_by_file_and_place(tmp_path: Path) -> None:
    def entry(number: int, status: int) -> SurveyEntry:
        return SurveyEntry(
            "a.ke", "http://a.ke/", round=0, url=f"http://a.ke/{number}", depth=1,
            ending=RequestEnding.PAGE, wall_time=1e9, status=status,
        )  # fmt: skip

    indexes = []
    for status in (200, 404):
        log = SurveyFile(tmp_path / str(status))
        for number in range(40):
            log.put(entry(number, status))
            log.commit()
        log.close()
        indexes.append(SurveyIndex(tmp_path / str(status)))
    for number, (index, status) in itertools.product(
        [*range(40), 0], zip(indexes, (200, 404), strict=True)
    ):
        found = index.find(f"http://a.ke/{number}")
        assert found is not None
        assert (found.url, found.status) == (f"http://a.ke/{number}", status)
    assert {index._read.cache_info().maxsize for index in indexes} == {log_module._FRAMES_KEPT}


def test_the_best_kind_is_looked_for_after_each_page_of_its_server() -> None:
    model, queue = YieldModel(), KindQueue()
    near, far = (
        ChosenPage(f"http://a.ke/{depth}", PageKind(0, "a.ke/", depth, ""), ()) for depth in (1, 2)
    )
    queue.put(far)
    assert queue.best(model) == model.value(far.kind)
    queue.put(near)
    assert queue.best(model) == model.value(near.kind), "a new kind"
    for _ in range(200):
        model.learn(near.kind, (), 0)
        model.learn(far.kind, (), 8)
    queue.unsettle()
    assert queue.best(model) == model.value(far.kind), "a page of its server was fetched"
    assert queue.pop(model) == far
    assert queue.best(model) == model.value(near.kind), "a kind is empty"


def test_a_decoder_goes_by_the_kind_of_message() -> None:
    lease = Lease(1, 2)
    assert decoded(encoded(lease), Lease) == lease
    with pytest.raises(ValueError, match="Expected `object`"):
        decoded(encoded(lease), protocol.Manifest)
    assert decoded(encoded(lease), Lease) == lease
    assert all(isinstance(kind, type) for kind in protocol._decoders)


def test_a_public_key_is_that_of_its_private_one_and_kind() -> None:
    user, other = Key.new(Whose.USER), Key.new(Whose.USER)
    account = Key(Whose.ACCOUNT, user._raw)
    assert user.public == user.public == Key.of_seed(user.seed).public
    assert len({user.public, other.public, account.public}) == 3


def test_coordinates_are_made_anew_with_a_tenth_more_samples() -> None:
    times = {f"h{k}": {"a": 0.01 * (k + 1), "b": 0.02} for k in range(10)}
    grid = MadeUpGrid(nodes("a", "b"), [], times)
    space = CoordinateSpace(grid, np.random.default_rng(1))
    first = space.distances()
    times["h10"] = {"a": 0.5}
    assert space.distances() is first, "a twentieth"
    times["h11"] = {"a": 0.5}
    assert space.distances() is not first
    assert set(space.distances()) == set(times)


def test_zones_are_of_the_coordinates_and_the_nodes_of_now() -> None:
    times = {f"h{k}": {"a": 0.01 * (k + 1), "b": 0.02} for k in range(10)}
    grid = MadeUpGrid(nodes("a", "b"), [task(k) for k in range(4)], times)
    placing = ByZone(grid, CoordinateSpace(grid, np.random.default_rng(3)))

    def given() -> set[str]:
        return {name for name in grid.nodes if placing.choose(name, grid.tasks) is not None}

    given()
    first = placing._can
    given()
    assert placing._can is first
    grid.nodes = nodes("b")
    assert given() == {"b"}, "all is the last one's"
    times |= {f"g{k}": {"a": 0.3, "b": 0.2} for k in range(10)}
    given()
    assert placing._can is not first


def test_owners_of_tasks_that_are_done_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_policies, "_FEW_OWNERS", 10)
    grid = MadeUpGrid(nodes("a"))
    placing = ByZone(grid, CoordinateSpace(grid, np.random.default_rng(3)), _most_owners=10)
    grid.times = {"h": {"a": 0.1}}
    for number in range(100):
        grid.tasks = [task(number)]
        assert placing.choose("a", grid.tasks) is grid.tasks[0]
        assert len(placing._owners) <= 12


def test_a_spec_goes_by_its_task_and_is_forgotten_with_it(tmp_path: Path) -> None:
    tasks = [
        TaskSpec(task=Task(Site(str(number), seeds=("http://a.org/",)))) for number in range(500)
    ]
    asked: list[int] = []

    def stored(number: int) -> bytes:
        asked.append(number)
        return encoded(tasks[number])

    open_tasks: Any = {0: "open", 1: "open"}
    board: Any = SimpleNamespace(tasks=open_tasks)
    store: Any = SimpleNamespace(spec=stored)
    nothing: Any = None
    given = GivenTasks(board, store, nothing, Collection(tmp_path), nothing)
    for number in (0, 1, 0, 1):
        assert asyncio.run(given.spec(number)) == tasks[number]
    assert asked == [0, 1]
    changed = TaskSpec(task=Task(Site("0", seeds=("http://b.org/",))))
    given.know(0, encoded(changed))
    assert asyncio.run(given.spec(0)) == changed, "as it was given out last"
    for number in range(2, 500):
        asyncio.run(given.spec(number))
        assert len(given._specs) <= 70
    assert {0, 1} <= given._specs.keys()


def test_the_site_of_a_url_goes_by_the_file_and_the_url() -> None:
    docs = Site("docs", seeds=("https://docs.example.org/",))
    with_file, without = SiteNames([docs]), SiteNames([])
    for url, of_file, of_none in (
        ("https://docs.example.org/a", "docs", "example.org"),
        ("https://www.example.org/a", "example.org", "example.org"),
        ("https://docs.example.com/a", "example.com", "example.com"),
    ) * 2:
        assert with_file.site_of(url, {}) == of_file
        assert without.site_of(url, {}) == of_none
        assert with_file.site_of(url, {"headgate_site": "mine"}) == "mine"
    known: Any = with_file._of_url
    before = known.cache_info()
    assert with_file.site_of("https://docs.example.org/" + "x" * 1_000, {}) == "docs"
    assert known.cache_info() == before
    assert before.maxsize == 4_096


def test_authorities_that_a_notice_goes_by_are_those_of_this_machine() -> None:
    """As they were when the first was sent; a keeper that is started again reads them again."""
    context = notice_delivery._context()
    assert context is notice_delivery._context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == len(trusting_context().get_ca_certs())


def test_robots_txt_is_that_of_an_origin_until_its_server_is_closed() -> None:
    rules = SurveyRules()
    values = YieldModel()
    territory = Territory(rules, registrable_domain())
    asking = RequestChoice(rules, values)
    servers = [territory.plant(f"http://{name}.ke/", 0) for name in "ab"]
    for tree in servers:
        tree.add(f"{tree.start}x", 0, "", values)
        asked = asking.next(tree)
        assert isinstance(asked, FetchRobots)
        assert asked.origin == tree.start.rstrip("/")
    asking.learned(servers[0], "http://a.ke", lambda _: True)
    assert isinstance(asking.next(servers[1]), FetchRobots)
    asking.learned(servers[1], "https://b.ke", lambda _: True)
    assert isinstance(asking.next(servers[1]), FetchRobots), "another scheme"
    asking.learned(servers[1], "http://b.ke", lambda _: False)
    assert isinstance(asking.next(servers[0]), FetchPage)
    assert asking.next(servers[1]) is None, "forbidden"
    for tree in servers:
        asking.forget(tree)
    assert not asking._robots


def test_a_survey_that_has_ended_remembers_no_robots_txt() -> None:
    surveyor = Surveyor(SurveyRules())
    surveyor.start([f"http://{name}.ke/" for name in "abc"])
    web: dict[str, Answer] = {"http://a.ke/": [], "http://b.ke/": 404}
    played = play(surveyor, web, allows=lambda url: "c" not in url)
    assert len(played.robots) == 3
    assert not surveyor._choice._robots
