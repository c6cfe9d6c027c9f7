"""The survey's log on a real disk: what was committed comes back, torn tails go."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.features.survey.log import SurveyFile, SurveyIndex, read_survey
from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.model.errors import WorldFault


def _entry(number: int, ending: RequestEnding = RequestEnding.PAGE, links: int = 3) -> SurveyEntry:
    return SurveyEntry(
        "a.ke",
        "http://a.ke/",
        round=0,
        url=f"http://a.ke/{number}",
        depth=1,
        ending=ending,
        wall_time=1e9 + number,
        status=200,
        links=[(f"http://h{link}.org/", "an anchor") for link in range(links)],
    )


def _plain(entries: list[SurveyEntry]) -> list[str]:
    return [entry.url for entry in entries]


def test_committed_entries_come_back_after_a_reopening(tmp_path: Path) -> None:
    path = tmp_path / "survey.log"
    log = SurveyFile(path)
    for number in range(10):
        log.put(_entry(number))
        if number % 3 == 0:
            log.commit()
    assert log.waiting_bytes == 0
    log.close()
    again = SurveyFile(path)
    assert again.stored == 10
    again.put(_entry(10))
    assert again.commit() == 11
    again.close()
    assert _plain(list(read_survey(path))) == [f"http://a.ke/{number}" for number in range(11)]


@pytest.mark.parametrize("torn", range(1, 60, 7))
def test_a_torn_tail_is_cut_and_the_rest_stands(tmp_path: Path, torn: int) -> None:
    path = tmp_path / "survey.log"
    log = SurveyFile(path)
    log.put(_entry(0))
    log.commit()
    log.put(_entry(1))
    log.commit()
    log.close()
    path.write_bytes(path.read_bytes()[:-torn])
    again = SurveyFile(path)
    assert again.stored == 1
    again.put(_entry(2))
    again.commit()
    again.close()
    assert _plain(list(read_survey(path))) == ["http://a.ke/0", "http://a.ke/2"]


def test_the_index_finds_the_latest_answer_and_no_robots(tmp_path: Path) -> None:
    path = tmp_path / "survey.log"
    log = SurveyFile(path)
    log.put(_entry(0))
    log.put(_entry(1, RequestEnding.ROBOTS))
    log.commit()
    log.put(_entry(0, RequestEnding.UNCHANGED))
    log.commit()
    log.close()
    index = SurveyIndex(path)
    found = index.find("http://a.ke/0")
    assert found is not None
    assert found.ending is RequestEnding.UNCHANGED
    assert found.links[2] == ("http://h2.org/", "an anchor")
    assert index.find("http://a.ke/1") is None
    assert index.find("http://a.ke/none") is None


def test_half_a_surrogate_pair_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "survey.log"
    log = SurveyFile(path)
    log.put(
        SurveyEntry(
            "a.ke",
            "http://a.ke/",
            round=0,
            url="http://a.ke/",
            depth=0,
            ending=RequestEnding.PAGE,
            wall_time=0.0,
            language="\ud800",
            links=[("http://b.org/", "\udfff")],
        )
    )
    log.commit()
    log.close()
    assert next(read_survey(path)).links[0] == ("http://b.org/", "?")


def test_a_bad_frame_before_a_good_one_is_reported_and_nothing_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "survey.log"
    log = SurveyFile(path)
    for number in range(3):
        log.put(_entry(number))
        log.commit()
    log.close()
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(WorldFault, match="whole entries follow a broken one"):
        SurveyFile(path)
    assert path.read_bytes() == data


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.log"
    path.write_bytes(b"something else\n")
    with pytest.raises(WorldFault, match="no log of a survey"):
        SurveyFile(path)
    assert path.read_bytes() == b"something else\n"
