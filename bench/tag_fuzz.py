"""Do the compiled and the plain pass over tags find the same tags, and so the same links?

    python -m bench.tag_fuzz                      a million pages made by chance, some minutes
    python -m bench.tag_fuzz --whole FOLDER       every page of HTML under a folder, as it is
    python -m bench.tag_fuzz --pages 20000 --seed 7
    python -m bench.tag_fuzz --sanitized          the compiled pass built with gcc's sanitizers

Tags are compared in both forms that they are asked for, links as a crawl takes them, with texts and
resources every other time: all that is read of a page. Half of the pages are tags, quotes, comments
and references thrown together; half are pieces of real pages with parts cut out, doubled and put
in, of all three widths that Python keeps text in. Prints the first page that the two disagree on.
With the sanitizers the pass runs under AddressSanitizer and UndefinedBehaviorSanitizer, which end
it at the first access outside of a page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path

import numpy as np

__all__ = ["disagreement", "made_pages"]

NAMES = str.split(
    "a A area base frame html iframe link meta title script style textarea noembed noframes xmp"
    " plaintext p div span td img input svg template source video scripty titles aa"
)
KEYS = str.split("href HREF rel src lang name content http-equiv class id xlink:href data srcset x")
PARTS = [
    *(f"<{name}" for name in NAMES), *(f"</{name}" for name in NAMES),
    *(f" {key}=" for key in KEYS), *(f" {key}" for key in KEYS),
    *(f'<a href="{ref}">' for ref in ("x", "y#z", " #z", "#", "a&amp;b", "a&b=c", "&#35;", "é")),
    "<!--", "-->", "--!>", "-", "--", "->", "<!", "<?", "</", "<", ">", "/>", " />", "/", "=", '"',
    "'", " ", "\n", "\t", "\f", "\r", "\0", "x", "#", "&", "&amp;", "&#38;", "&lt", ";", "=\"q\"",
    "='r'", '="<>"', ' class="c">', ">t</a>", "nofollow", "\u017fcript", "lin\u212a", "\u0130",
    *(f"<{name}>" for name in ("script", "title", "iframe", "style", "p", "div class=x")),
    "<script></\u017fcript>", "</\u0131frame>", "<title></t\u0131tle>",
    '<a xlink:href="u" href="v">', '<a rel="u" href="v">', '<p a="b"="c=" d>', ' ="', '"="',
    '="q=" ', "<p", '<p class="b" ', '<div a="',
    "<![CDATA[", "]]>", "<\u0131frame", " \u212a=", "\u00a0", "\x0b", "\x85",
]  # fmt: skip
LINK = "<a href=w>"
URL = "https://docs.example.org/3/library/page.html"
WIDE = ("\u00e9", "\u4e2d", "\U0001f600")
MOST_PARTS = 40
LONGEST_PIECE = 1_500


def made_pages(count: int, seed: int, real: Sequence[str] = ()) -> Iterator[str]:
    """The same for the same seed and the same real pages."""
    random = np.random.default_rng(seed)
    for number in range(count):
        page = _piece(random, real) if real and number % 2 else _soup(random)
        yield page + WIDE[number % 3] if number % 5 == 0 else page


def _soup(random: np.random.Generator) -> str:
    """Of a few parts each, so that those that matter together come together."""
    few = random.integers(0, len(PARTS), int(random.integers(2, 10))).tolist()
    size = int(random.integers(1, MOST_PARTS))
    parts = [*(PARTS[k] for k in few), LINK]
    return "".join([parts[k] for k in random.integers(0, len(parts), size).tolist()])


def _piece(random: np.random.Generator, real: Sequence[str]) -> str:
    page = real[int(random.integers(len(real)))]
    start = int(random.integers(max(len(page) - LONGEST_PIECE, 1)))
    piece = page[start : start + int(random.integers(20, LONGEST_PIECE))]
    for way, at, part in random.random((int(random.integers(1, 6)), 3)).tolist():
        place = int(at * len(piece))
        other = int(part * len(piece))
        if way < 0.4:
            piece = piece[:place] + PARTS[int(part * len(PARTS))] + piece[place:]
        elif way < 0.7:
            piece = piece[: min(place, other)] + piece[max(place, other) :]
        else:
            piece = piece[:place] + piece[other:]
    return piece


def disagreement(pages: Iterable[str]) -> str | None:
    """The first page of which the two passes find different tags or links."""
    from headgate.reading.links import LinkOptions, TagPasses, links_in
    from headgate.reading.tags import CompiledTags, PlainTags

    compiled, plain = TagPasses(CompiledTags), TagPasses(PlainTags)
    bare, full = LinkOptions(), LinkOptions(resources=True, texts=True)
    for number, page in enumerate(pages):
        ours, oracle = (
            (compiled.whole, plain.whole) if number & 1 else (compiled.links, plain.links)
        )
        brief, options = bool(number & 2), full if number & 1 else bare
        tags = ([*chain.from_iterable(p.batches(page, brief=brief))] for p in (ours, oracle))
        if next(tags) != next(tags):
            return page
        found, expected = (links_in(page, URL, "utf-8", options, p) for p in (compiled, plain))
        if found != expected:
            return page
    return None


def build_sanitized(folder: Path) -> Path:
    source = Path(__file__).parents[1] / "src/headgate/reading/_tags.c"
    built = folder / "_tags.so"
    subprocess.run(
        [
            "gcc", "-shared", "-fPIC", "-g", "-O1", "-fno-omit-frame-pointer",
            "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
            f"-I{sysconfig.get_path('include')}", str(source), "-o", str(built),
        ],
        check=True,
    )  # fmt: skip
    return built


def run_sanitized(arguments: Sequence[str]) -> int:
    """Again, in a process whose compiled pass is the watched one and whose memory is malloc's."""
    library = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    with tempfile.TemporaryDirectory(prefix="headgate-") as name:
        environment = os.environ | {
            "LD_PRELOAD": library,
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-m", "bench.tag_fuzz", *arguments]
        built = str(build_sanitized(Path(name)))
        return subprocess.run([*command, "--built", built], env=environment, check=False).returncode


def use_built(path: str) -> None:
    """In place of the compiled pass that is installed."""
    name = "headgate.reading._tags"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=Path, default=Path("/usr/share/doc"), help="HTML to cut")
    parser.add_argument("--whole", type=Path, help="no chance: the pages there, as they are")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--built", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.sanitized:
        return run_sanitized([word for word in arguments if word != "--sanitized"])
    if given.built:
        use_built(given.built)
    began = time.monotonic()
    if given.whole:
        files = _html_files(given.whole)
        what = f"{len(files):,} real pages"
        odd = disagreement(path.read_bytes().decode("utf-8", "replace") for path in files)
    else:
        files = _html_files(given.real)[:2_000]
        what = f"{given.pages:,} pages made by chance, of pieces of {len(files):,} real ones"
        real = [path.read_text("utf-8", "replace") for path in files]
        odd = disagreement(made_pages(given.pages, given.seed, real))
    if odd is not None:
        print(f"they disagree on {odd!r}")
        return 1
    watched = " under the sanitizers" if given.built else ""
    seconds = time.monotonic() - began
    print(f"the same tags and links in {what}{watched}; {seconds:.0f} s")
    return 0


def _html_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*.htm*")) if path.is_file()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
