"""``headgate lab``: reproduces the papers Headgate is built on, and says what of them holds."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headgate.lab.papers import PAPERS
from headgate.model.errors import UserMistake, WorldFault

if TYPE_CHECKING:
    from headgate.lab.papers.mapping import Mapper

__all__ = ["configure", "run"]

Found = TypeVar("Found")

_DESCRIPTION = f"""\
Reproduce the papers: their instances, figures and claims, with Headgate's own way beside
theirs. Takes some minutes; less with fewer instances or in virtual time.

papers:
{chr(10).join(f"  {name}  {title}" for name, title in PAPERS.items())}
"""

_EXAMPLES = """\
examples:
  headgate lab                             all papers, as tables
  headgate lab zhu2020 --out zhu2020.html  with every figure, as one page
  headgate lab zhu2020 --instances 4       a quick look
  headgate lab zhu2020 --json | jq .claims
  headgate lab diligenti2004 --out diligenti2004.html
  headgate lab diligenti2004 --simulated   in seconds, on any machine
  headgate lab nakahira2008 --instances 1  one virtual web
  headgate lab pechnikov2017               sites over machines of unequal speed
  headgate lab sarss2010                   who is near a host, on measured round trips
  headgate lab freshness                   which policy keeps real pages fresh
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("papers", metavar="PAPER", nargs="*", help="which (default: all)")
    parser.add_argument(
        "--instances",
        metavar="N",
        type=_at_least(1),
        help="random instances of each kind (zhu2020: 40, half as many with caps; "
        "nakahira2008: 10 webs; pechnikov2017: 200; sarss2010, freshness: 3)",
    )
    parser.add_argument(
        "--seed", metavar="N", type=_at_least(0), default=1, help="for all lots (default: 1)"
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=_at_least(1),
        default=os.cpu_count() or 1,
        help="processes at once (default: one per processor)",
    )
    parser.add_argument(
        "--simulated",
        action="store_true",
        help="diligenti2004: only in virtual time; needs neither root nor a network",
    )
    parser.add_argument("--out", metavar="FILE.html", type=Path, help="also write a report page")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    parser.add_argument(
        "--write-example",
        metavar="FILE",
        type=Path,
        help="zhu2020: only write the paper's fifty sites as a site file",
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce, print, and write the page if one is asked for."""
    papers = args.papers or list(PAPERS)
    _check(papers, args)
    if args.write_example:
        from headgate.lab.papers.zhu2020.example import fifty_sites_toml

        _write(args.write_example, fifty_sites_toml())
        return 0
    for paper in papers:
        _REPRODUCTIONS[paper](args)
    return 0


def _check(papers: list[str], args: argparse.Namespace) -> None:
    """All that can be wrong is known before minutes of work."""
    for name in papers:
        if name not in PAPERS:
            raise UserMistake(f"there is no paper {name!r}; known: {', '.join(PAPERS)}")
    for option, given in (("--json", args.json), ("--out", args.out)):
        if given and len(papers) > 1:
            raise UserMistake(f"{option} is for one paper; name one of {', '.join(PAPERS)}")
    if args.out and not args.out.absolute().parent.is_dir():
        raise UserMistake(f"{args.out}: there is no such folder")
    if "diligenti2004" in papers and not args.simulated and not args.write_example:
        from headgate.lab.bed.network import missing

        reason = missing()
        if reason is not None:
            raise WorldFault(
                f"diligenti2004 cannot be measured here: {reason}; or run it with --simulated"
            )


def _zhu2020(args: argparse.Namespace) -> None:
    from headgate.lab.papers.zhu2020.report import report_html
    from headgate.lab.papers.zhu2020.reproduction import as_json, reproduce
    from headgate.lab.papers.zhu2020.text import print_reproduction

    with _mapper(args.jobs) as mapper:
        reproduction = reproduce(args.instances or 40, args.seed, mapper, _say)
    _show(args, reproduction, report_html, as_json, print_reproduction)


def _diligenti2004(args: argparse.Namespace) -> None:
    from headgate.lab.papers.diligenti2004.report import report_html
    from headgate.lab.papers.diligenti2004.reproduction import as_json, reproduce
    from headgate.lab.papers.diligenti2004.text import print_reproduction

    reproduction = reproduce(args.seed, on_the_bed=not args.simulated, say=_say)
    _show(args, reproduction, report_html, as_json, print_reproduction)


def _nakahira2008(args: argparse.Namespace) -> None:
    from headgate.lab.papers.nakahira2008.report import report_html
    from headgate.lab.papers.nakahira2008.reproduction import as_json, reproduce
    from headgate.lab.papers.nakahira2008.text import print_reproduction

    with _mapper(args.jobs) as mapper:
        reproduction = reproduce(args.instances or 10, args.seed, mapper, _say)
    _show(args, reproduction, report_html, as_json, print_reproduction)


def _pechnikov2017(args: argparse.Namespace) -> None:
    from headgate.lab.papers.pechnikov2017.report import report_html
    from headgate.lab.papers.pechnikov2017.reproduction import as_json, reproduce
    from headgate.lab.papers.pechnikov2017.text import print_reproduction

    with _mapper(args.jobs) as mapper:
        reproduction = reproduce(args.instances or 200, args.seed, mapper, _say)
    _show(args, reproduction, report_html, as_json, print_reproduction)


def _sarss2010(args: argparse.Namespace) -> None:
    from headgate.lab.papers.sarss2010.report import report_html
    from headgate.lab.papers.sarss2010.reproduction import as_json, reproduce
    from headgate.lab.papers.sarss2010.text import print_reproduction

    with _mapper(args.jobs) as mapper:
        reproduction = reproduce(args.instances or 3, args.seed, mapper, _say)
    _show(args, reproduction, report_html, as_json, print_reproduction)


def _freshness(args: argparse.Namespace) -> None:
    from headgate.lab.papers.freshness.report import report_html
    from headgate.lab.papers.freshness.reproduction import as_json, reproduce
    from headgate.lab.papers.freshness.text import print_reproduction

    with _mapper(args.jobs) as mapper:
        reproduction = reproduce(args.instances or 3, args.seed, mapper, _say)
    _show(args, reproduction, report_html, as_json, print_reproduction)


_REPRODUCTIONS = {
    "zhu2020": _zhu2020,
    "diligenti2004": _diligenti2004,
    "nakahira2008": _nakahira2008,
    "pechnikov2017": _pechnikov2017,
    "sarss2010": _sarss2010,
    "freshness": _freshness,
}


def _show(
    args: argparse.Namespace,
    found: Found,
    as_page: Callable[[Found], str],
    as_document: Callable[[Found], dict[str, Any]],
    print_tables: Callable[[Found], None],
) -> None:
    """In the forms that were asked for."""
    if args.out:
        _write(args.out, as_page(found))
        _say(f"wrote {args.out}")
    if args.json:
        print(
            json.dumps(
                {"version": 1, **as_document(found)}, indent=2, ensure_ascii=False, allow_nan=False
            )
        )
    else:
        print_tables(found)


@contextmanager
def _mapper(jobs: int) -> Iterator[Mapper]:
    if jobs == 1:
        yield map
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield lambda function, tasks: pool.map(function, tasks, chunksize=1)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except FileNotFoundError:
        raise UserMistake(f"{path}: there is no such folder") from None


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is too small; it must be {least} or more")
        return number

    return read
