"""Elements that count for nothing, against a browser's tree."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from headgate.model.selector import parse_selectors
from headgate.reading.change_detection import ElementNames


def taken_out(page: str, selectors: str) -> str:
    return ElementNames.from_selectors(parse_selectors(selectors)).taken_out(page)


@pytest.mark.parametrize(
    ("selectors", "page", "expected"),
    [
        (".ad", "<p>a<b class='big ad'>b</b>c", "<p>a<b class='big ad'></b>c"),
        (".ad", "<div class=ad><div>x</div>y</div>z", "<div class=ad></div>z"),
        (".AD", "<b class=ad>x</b>", "<b class=ad>x</b>"),
        ("#t", "<B ID='t'>x</B>y", "<B ID='t'></B>y"),
        ("div b", "<b>1</b><div><i><b>2</b></i></div>", "<b>1</b><div><i><b></b></i></div>"),
        ("div > b", "<div><b>1</b><i><b>2</b></i></div>", "<div><b></b><i><b>2</b></i></div>"),
        ("li.x", "<ul><li class=x>1<li>2</ul>", "<ul><li class=x><li>2</ul>"),
        ("p.x", "<p class=x>1<p>2<div>3</div>", "<p class=x><p>2<div>3</div>"),
        ("td.x", "<table><tr><td class=x>1<td>2</table>", "<table><tr><td class=x><td>2</table>"),
        ("[data-n]", "<i data-n>1</i><i>2</i>", "<i data-n></i><i>2</i>"),
        ("[n^=ab]", "<i n=abc>1</i><i n=bab>2</i>", "<i n=abc></i><i n=bab>2</i>"),
        ("[n='a&b']", "<i n='a&amp;b'>1</i>", "<i n='a&amp;b'></i>"),
        (".x", "<i class=x>1", "<i class=x>"),
        (".x", "<div><i class=x>1</div>2", "<div><i class=x></div>2"),
        (".x", "<!-- <i class=x> -->1</i>2", "<!-- <i class=x> -->1</i>2"),
        (".x", "<script>'<i class=x>'</script>1", "<script>'<i class=x>'</script>1"),
        (".x", "<br class=x>1<img class=x>2", "<br class=x>1<img class=x>2"),
        (".x, .y", "<i class=x>1</i>2<i class=y>3</i>", "<i class=x></i>2<i class=y></i>"),
        ("script", "<script>1</script>2", "<script></script>2"),
        ("*", "a<b>c</b>", "a<b></b>"),
    ],
)
def test_what_is_taken_out(selectors: str, page: str, expected: str) -> None:
    assert taken_out(page, selectors) == expected


NAMES, CLASSES = ("div", "span", "b", "section"), ("x", "y", "z")
trees = st.recursive(
    st.text("abc", max_size=3),
    lambda inner: st.builds(
        lambda name, kind, parts: f"<{name} class='{kind}'>{''.join(parts)}</{name}>",
        st.sampled_from(NAMES),
        st.sampled_from(CLASSES),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)
compounds = st.builds(
    lambda name, kind: f"{name}{kind}",
    st.sampled_from(("", *NAMES)),
    st.sampled_from([f".{kind}" for kind in CLASSES]),
)
selectors = st.lists(compounds, min_size=1, max_size=3).flatmap(
    lambda parts: st.lists(
        st.sampled_from((" ", " > ", ", ")), min_size=len(parts) - 1, max_size=len(parts) - 1
    ).map(lambda between: "".join(map("".join, zip(parts, [*between, ""], strict=True))))
)


@given(trees, selectors)
def test_well_formed_pages_are_as_a_browser_has_them(page: str, selector: str) -> None:
    tree = LexborHTMLParser(f"<main>{page}</main>")
    for node in tree.css(selector):
        for child in list(node.iter(include_text=True)):
            child.decompose()
    ours = LexborHTMLParser(taken_out(f"<main>{page}</main>", selector))
    found, expected = ours.css_first("main"), tree.css_first("main")
    assert found is not None
    assert expected is not None
    assert found.html == expected.html


HOSTILE = ["<p>", "<a ", "<div class=x>", "<li><b>", "</p>", "<!-", "<i class='", "<title>", "<"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_page_and_no_faster(piece: str) -> None:
    def seconds(times: int) -> float:
        start = time.process_time()
        taken_out(piece * times, "div > .x .y, li b, [data-x]")
        return time.process_time() - start

    seconds(100)
    few, many = min(seconds(10_000) for _ in range(3)), seconds(100_000)
    assert many < 40 * max(few, 0.005)
