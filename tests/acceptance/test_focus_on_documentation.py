"""A focus on real documentation: most of what is relevant within two fifths of the fetches.

Two of the topics of `bench.focus`, which has them all, with its rule of what is relevant: each word
three times in the page, links left out, and one of them in its title or a heading.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.focus import FETCHED_SHARE, document, fetched, share_until
from bench.installed_documents import DOCUMENTS, nginx_program, serving

SITE = "postgresql"
INSTALLED = Path(nginx_program()).exists() and (DOCUMENTS[SITE][1] / "index.html").exists()


@pytest.mark.skipif(
    not INSTALLED, reason="needs nginx and postgresql-doc-15; `python -m bench.focus` installs them"
)
def test_most_relevant_pages_come_early(tmp_path: Path) -> None:
    with serving(tmp_path) as web:
        seed = web.seeds[SITE]
        plain = fetched(seed, tmp_path / "plain")
        documents = {url: document(SITE, url) for url in plain}
        for topic in ("replication", "index scan"):
            relevant = {url for url, page in documents.items() if page.is_about(topic)}
            assert len(relevant) > 10
            focused = fetched(seed, tmp_path / topic, "--focus", topic)
            assert set(focused) == set(plain)
            assert share_until(focused, relevant) <= FETCHED_SHARE
            assert share_until(focused, relevant) < share_until(plain, relevant)
