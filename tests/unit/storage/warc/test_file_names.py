from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.storage.warc.writer import file_safe


@given(st.text(max_size=300))
def test_every_site_has_a_name_any_disk_takes(site: str) -> None:
    name = file_safe(site)
    assert 0 < len(name) < 100
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>| \0\n')
    assert name[0] not in ".-"


@given(st.text(max_size=60), st.text(max_size=60))
def test_two_sites_never_share_a_file(one: str, two: str) -> None:
    assert (file_safe(one) == file_safe(two)) == (one == two)
