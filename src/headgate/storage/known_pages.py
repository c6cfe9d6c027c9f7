"""What earlier runs know of pages: the adapter of `headgate.crawling.ports.Known`.

A later run asks for every page that the last one stored, on condition that it changed. Links of an
unchanged page need not be read again then: what they lead to is asked for already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from headgate.model.page import Earlier, Role
from headgate.storage.collection import Collection
from headgate.storage.faults import reading
from headgate.storage.validators import Validators

__all__ = ["KnownPages", "NothingKnown"]

_BATCH_ROWS = 10_000
_ANSWERED = frozenset((200, 304))


class KnownPages:
    """Of all finished runs of a collection; memory does not grow with pages."""

    def __init__(self, collection: Collection) -> None:
        self._validators = Validators(collection.validator_files())
        finished = [run.path / "pages.parquet" for run in collection.runs() if not run.unfinished]
        self._tables = [path for path in finished if path.exists()]

    def find(self, url: str) -> Earlier | None:
        return self._validators.find(url)

    def urls(self, site: str) -> Iterator[tuple[int, Sequence[str]]]:
        """From the newest run that visited the site."""
        for path in self._tables:
            found = False
            for batch in self._of(path, site):
                found = True
                yield batch
            if found:
                return

    def close(self) -> None:
        self._validators.close()

    def _of(self, path: Path, site: str) -> Iterator[tuple[int, Sequence[str]]]:
        import pyarrow.parquet as pq  # here: a first run does without its 50 MB

        columns = ["site", "url", "depth", "status", "role"]
        with reading(path), pq.ParquetFile(path) as table:
            for batch in table.iter_batches(_BATCH_ROWS, columns=columns):
                by_depth: dict[int, list[str]] = defaultdict(list)
                for of, url, depth, status, role in zip(
                    *(batch.column(name).to_pylist() for name in columns), strict=True
                ):
                    if of == site and role == Role.PAGE and status in _ANSWERED:
                        by_depth[depth].append(url)
                yield from by_depth.items()


class NothingKnown:
    """The first run's."""

    def find(self, url: str) -> Earlier | None:  # noqa: ARG002
        return None

    def urls(self, site: str) -> Iterator[tuple[int, Sequence[str]]]:  # noqa: ARG002
        return iter(())

    def close(self) -> None:
        pass
