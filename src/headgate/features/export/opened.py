"""``headgate.open(...)``: the pages of a collection, for Python programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headgate.model.errors import UserMistake, extra
from headgate.storage.collection import RunFolder
from headgate.storage.runs import chosen_run, crawls
from headgate.storage.stored_page import StoredPage, page_versions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OpenedCollection", "open"]

Versions = Literal["newest", "all"]


def open(folder: str | Path = "headgate-data") -> OpenedCollection:  # noqa: A001
    """A collection to read from, also while a crawl writes to it."""
    return OpenedCollection(Path(folder))


class OpenedCollection:
    """Reads tables and archive lazily, some thousand pages at a time."""

    def __init__(self, path: Path) -> None:
        chosen_run(path)  # raises if the folder is no collection
        self.path = path

    def __repr__(self) -> str:
        return f"headgate.open({str(self.path)!r})"

    @property
    def runs(self) -> list[str]:
        """Names of its crawls, the newest first."""
        return [run.stamp for run in crawls(self.path)]

    def pages(
        self, where: str = "", *, versions: Versions = "newest", run: str | None = None
    ) -> Iterator[StoredPage]:
        """Stored pages that are not gone, the newest version of each or ``"all"``, of one run or of
        all.

        ``where`` is a condition in SQL on the columns of pages.parquet, like
        ``"url like '%/docs/%'"``."""
        collection, runs = self._runs(run)
        every = _every(versions)
        rows = page_versions(runs, where, every=every)

        def found() -> Iterator[StoredPage]:
            for some in rows.batches:
                for row in some.to_pylist():
                    yield StoredPage(collection, row)

        return found()

    def table(
        self, where: str = "", *, versions: Versions = "newest", run: str | None = None
    ) -> pa.Table:
        """The rows of the same pages, as an Arrow table."""
        rows = page_versions(self._runs(run)[1], where, every=_every(versions))
        import pyarrow as pa

        return pa.concat_tables([rows.schema.empty_table(), *rows.batches])

    def dataframe(
        self, where: str = "", *, versions: Versions = "newest", run: str | None = None
    ) -> Any:
        """The rows of the same pages, as a pandas ``DataFrame``."""
        extra("pandas", "data frames", "pandas")
        return self.table(where, versions=versions, run=run).to_pandas()

    def _runs(self, run: str | None) -> tuple[Path, list[RunFolder]]:
        runs = crawls(self.path) if run is None else [chosen_run(self.path, run)]
        return runs[0].collection if runs else self.path, runs


def _every(versions: str) -> bool:
    if versions not in ("newest", "all"):
        raise UserMistake(f"versions={versions!r}: must be 'newest' or 'all'")
    return versions == "all"
