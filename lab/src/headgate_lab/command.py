"""``headgate lab``: reproduces the papers that Headgate is built on, and checks their claims."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.cli.consoles import progress_console
from headgate.model.errors import UserMistake, WorldFault
from headgate_lab.papers import PAPERS
from headgate_lab.papers.chapter import Chapter
from headgate_lab.papers.kept_chapters import KeptChapters
from headgate_lab.papers.mapping import Mapper
from headgate_lab.papers.page import lab_page
from headgate_lab.papers.reproducing import Trial, expected_seconds, known_paper, reproduced
from headgate_lab.progress import LabProgress

__all__ = ["configure", "run"]

_NOT_INTERRUPTED = (signal.SIGINT, signal.SIG_IGN)
"""For worker processes: only the main process handles Ctrl-C."""

_DESCRIPTION = f"""\
Reproduce the papers: their instances, figures and claims, with Headgate's own way beside
theirs. With --out all figures are in one page; papers that are done are kept beside it until it
is written, so that the same command goes on where it was interrupted.

papers:
{chr(10).join(f"  {name}  {title}" for name, title in PAPERS.items())}
"""

_EXAMPLES = """\
examples:
  headgate lab --quick --out lab.html      a first look at all of them, in two minutes
  headgate lab --out lab.html              everything, as one page; as root, an hour
  headgate lab                             as tables
  headgate lab zhu2020 --instances 4       one paper, fewer instances
  headgate lab zhu2020 --json | jq .papers.zhu2020.claims
  headgate lab diligenti2004 --simulated   in seconds, on any machine
  headgate lab nakahira2008 --instances 1  one virtual web
  headgate lab pechnikov2017               sites over machines of unequal speed
  headgate lab sarss2010                   recrawl by volunteers' machines
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
        "nakahira2008: 10 webs; pechnikov2017: 200; sarss2010: 5 seeds; freshness: 3)",
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
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a first look: few and small instances, in virtual time; two minutes of one processor",
    )
    parser.add_argument("--out", metavar="FILE.html", type=Path, help="write the report as a page")
    parser.add_argument("--json", action="store_true", help="print all numbers as one document")
    parser.add_argument(
        "--write-example",
        metavar="FILE",
        type=Path,
        help="zhu2020: only write the paper's fifty sites as a site file",
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce, print, and write the page if ``--out`` is given."""
    papers = [known_paper(name) for name in args.papers] or list(PAPERS)
    _check(papers, args)
    if args.write_example:
        from headgate_lab.papers.zhu2020.example import fifty_sites_toml

        _write(args.write_example, fifty_sites_toml())
        return 0
    trial = Trial(args.seed, args.instances, args.simulated or args.quick, args.quick)
    kept = KeptChapters(args.out, trial) if args.out else None
    if kept is not None:
        kept.open()
    try:
        chapters = _chapters(papers, trial, args, kept)
    except KeyboardInterrupt:
        if kept is not None:
            remedy = f"what is done is kept in {kept.folder}: the same command goes on from there"
            raise KeyboardInterrupt(f"interrupted; {remedy}") from None
        raise
    if args.out and kept is not None:
        _write(args.out, lab_page(chapters, quick=args.quick))
        kept.forget()
        _say(f"wrote {args.out}")
    if args.json:
        _print_json(chapters)
    return 0


def _check(papers: list[str], args: argparse.Namespace) -> None:
    """Check all arguments before minutes of work."""
    if args.out and not args.out.absolute().parent.is_dir():
        raise UserMistake(f"{args.out}: there is no such folder")
    if args.out and args.out.is_dir():
        raise UserMistake(f"{args.out} is a folder; name a file, as in {args.out / 'lab.html'}")
    if args.out and args.out.exists() and not os.access(args.out, os.W_OK):
        raise UserMistake(f"{args.out} may not be written")
    on_the_bed = not (args.simulated or args.quick or args.write_example)
    if "diligenti2004" in papers and on_the_bed:
        from headgate_lab.bed.network import missing

        reason = missing()
        if reason is not None:
            raise WorldFault(
                f"diligenti2004 cannot be measured here: {reason}; or run it with --simulated"
            )


def _chapters(
    papers: list[str], trial: Trial, args: argparse.Namespace, kept: KeptChapters | None
) -> list[tuple[Chapter, float]]:
    """In the given order. Tables are printed as they are ready, unless another output is chosen."""
    found = {paper: kept.taken_up(paper) if kept else None for paper in dict.fromkeys(papers)}
    done = [paper for paper, chapter in found.items() if chapter is not None]
    if done:
        _say(f"{', '.join(done)}: as the interrupted run had found")
    expected = {
        paper: expected_seconds(paper, trial, args.jobs) for paper in found if paper not in done
    }
    with LabProgress(progress_console(), expected, time.monotonic) as progress:
        for paper in expected:
            progress.begin(paper)
            with _mapper(args.jobs) as processes:
                mapper = kept.remembering(paper, processes) if kept else processes
                result = reproduced(paper, trial, progress.counting(mapper), progress.say)
            seconds = progress.done()
            found[paper] = result.chapter, seconds
            if kept is not None:
                kept.keep(result.chapter, seconds)
            elif not args.json:
                result.print_tables()
    return [chapter for chapter in found.values() if chapter is not None]


def _print_json(chapters: list[tuple[Chapter, float]]) -> None:
    papers = {
        chapter.paper: {"seconds": round(seconds, 1), **chapter.document}
        for chapter, seconds in chapters
    }
    document = {"version": 1, "papers": papers}
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def _mapper(jobs: int) -> Iterator[Mapper]:
    if jobs == 1:
        yield map
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, _NOT_INTERRUPTED)
    try:
        yield lambda function, tasks: pool.map(function, tasks, chunksize=1)
    except BaseException:
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except FileNotFoundError:
        raise UserMistake(f"{path}: there is no such folder") from None
    except OSError as fault:
        raise UserMistake(f"{path}: {fault.strerror or fault}") from None


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
