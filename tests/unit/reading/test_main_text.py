"""Main text of pages as documentation has them: whole, and Markdown that reads well."""

from __future__ import annotations

import pytest

from headgate.reading.main_text import main_text

PROSE = "This is a sentence of some length, so that it is taken for what the page has to say. " * 3


def markdown(body: str) -> str:
    page = f"<html><body><main><article>{body}<p>{PROSE}</p><p>{PROSE}</p></article></main>"
    return main_text(page, "http://example.org/docs/a.html", "markdown").text


@pytest.mark.parametrize("mark", ["¶", "#", "§", ""])
def test_a_heading_has_no_link_to_itself(mark: str) -> None:
    text = markdown(f'<h1>Limits<a class="headerlink" href="#limits">{mark}</a></h1>')
    assert "# Limits\n" in text
    assert "#limits" not in text


def test_a_heading_that_is_a_link_stays() -> None:
    assert "[Limits](http://example.org/limits)" in markdown(
        '<h2><a href="/limits">Limits</a></h2>'
    )


def test_one_line_of_code_is_a_block() -> None:
    text = markdown(f"<p>{PROSE}</p><pre class=listing>SELECT * FROM a_b;</pre><h2>Next</h2>")
    assert "\n\n```\nSELECT * FROM a_b;\n```\n\n## Next\n" in text


def test_code_keeps_its_lines_and_marks_inside_it_do_not_show() -> None:
    text = markdown("<p>See:</p><pre><b>def</b> f():\n    return <i>1</i>\nf()</pre>")
    assert "```\ndef f():\n    return 1\nf()\n```" in text


def test_lines_are_not_broken_as_the_source_is() -> None:
    assert "of two words" in markdown(f"<p>{PROSE} of\n      two\n\twords</p>")


def test_a_division_with_words_in_it_is_kept_whole() -> None:
    text = markdown(f"<div class=para>{PROSE} Use <code>apt</code>, not <em>dpkg</em>, here.</div>")
    assert "Use `apt`, not *dpkg*, here." in text


def page_in_divisions(margin: str) -> str:
    parts = "".join(f"<div><h2>Part {k}</h2><p>Of part {k}. {PROSE}</p></div>" for k in range(4))
    page = f"<html><body><div>{parts}</div>{margin}</body></html>"
    return main_text(page, "http://example.org/docs/a.html", "markdown").text


def test_headings_stay_where_no_element_says_that_it_is_the_main_one() -> None:
    text = page_in_divisions("")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        f"## Part {k}" for k in range(4)
    ]
    assert text.count(PROSE.strip()) == 4


def test_margins_are_not_taken_in_for_the_sake_of_headings() -> None:
    links = "".join(f"<li><a href=/{k}>Another page number {k}</a></li>" for k in range(60))
    assert "Another page" not in page_in_divisions(f"<nav><ul>{links}</ul></nav>")
