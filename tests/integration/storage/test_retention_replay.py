"""pywb replays all that is left of a collection whose old versions were removed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.simulation.test_retention import captures, kept

from headgate.model.keeping import KeepVersions

from .replaying import replayed, serving_pywb


def test_every_capture_that_is_left_is_replayed(tmp_path: Path, pywb_bin: Path) -> None:
    """A revisit gives the payload of the capture that it refers to."""
    web = kept(tmp_path, KeepVersions(newest=2), ("a.example",))
    shown = tmp_path / "shown"
    shown.mkdir()
    for index in (tmp_path / "runs").glob("*/index.cdxj"):
        (shown / f"{index.parent.name}.cdxj").symlink_to(index)
    collections = {"kept": {"index_paths": f"{shown}/", "archive_paths": f"{tmp_path}/"}}
    (tmp_path / "config.yaml").write_text(json.dumps({"collections": collections}))
    versions = set()
    with serving_pywb(pywb_bin, tmp_path) as address:
        for url, seen in captures(tmp_path).items():
            for stamp, fields in seen if _is_page(url) else ():
                body = replayed(address, "kept", stamp, url)
                assert b"<p>version " in body
                versions.add((url, fields["digest"], body.partition(b"</p>")[0]))
    assert len({digest for _, digest, _ in versions}) == len(versions)
    changing = [each for each in versions if each[0].endswith("/p1")]
    assert len(changing) == 2 < len(web.sent["http://a.example/p1"])


def _is_page(url: str) -> bool:
    return not url.endswith((".txt", ".xml"))
