"""A long site file is parsed in pieces, and nobody can tell by what comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.model.errors import SiteFileError
from headgate.site_file import toml_text
from headgate.site_file.toml_text import SiteFileText

_ONE = '[site.a]\nseeds = ["http://a/"]\n'
_TWO = '[site.b]\nseeds = [\n  "http://b/1",\n  "http://b/2",\n]\n'
_BUDGET = '[budget]\nbandwidth = "1 MB/s"\n'


@pytest.fixture
def loaded_whole(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were not parsed in pieces, since a piece may be a few characters."""
    texts: list[str] = []
    whole = SiteFileText._loaded

    def loaded(self: SiteFileText) -> dict[str, Any]:
        texts.append(self.text)
        return whole(self)

    monkeypatch.setattr(toml_text, "_PIECE_CHARACTERS", 5)
    monkeypatch.setattr(SiteFileText, "_loaded", loaded)
    return texts


@pytest.mark.parametrize(
    "words",
    [
        _BUDGET + _ONE + _TWO,
        _ONE + _TWO + _BUDGET,
        "# sites\n" + _ONE + '[ "site" . "c d" ]\ndepth = 2\n' + _BUDGET + _TWO,
        _ONE + '  [grid]\nlease = "5s"\n' + _TWO + _BUDGET,
    ],
)
def test_sites_with_headers_of_their_own_are_parsed_in_pieces(
    words: str, loaded_whole: list[str]
) -> None:
    in_pieces = SiteFileText(words, "sites.toml").document()
    assert not loaded_whole
    assert in_pieces == SiteFileText(words, "sites.toml")._loaded()


@pytest.mark.parametrize(
    "words",
    [
        _ONE + _TWO + _ONE,
        _BUDGET + _ONE + _BUDGET,
        "[site]\nz = {}\n" + _ONE + "[site]\n" + _TWO,
        "site = {z = {}}\n" + _ONE,
        "site = 5\n" + _ONE,
        _ONE + "[[site.z]]\n" + _TWO,
        _ONE + "[site.a.more]\ndepth = 1\n" + _TWO,
        _ONE + 'seeds = ["http://a/2"]\n' + _TWO,
        _ONE + "[site.z]\nseeds = [\n[site.y],\n]\n" + _TWO,
        _ONE + 'focus = """\n[site.z]\n"""\n' + _TWO,
    ],
)
def test_what_has_to_be_seen_as_a_whole_is(words: str, loaded_whole: list[str]) -> None:
    def outcome(source: SiteFileText) -> object:
        try:
            return source.document()
        except SiteFileError as error:
            return str(error)

    found = outcome(SiteFileText(words, "sites.toml"))
    assert loaded_whole == [words]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toml_text, "_PIECE_CHARACTERS", 1 << 20)
        assert found == outcome(SiteFileText(words, "sites.toml"))
