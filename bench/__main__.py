"""Names the benches: `python -m bench`, or `make bench`. Each says more at its head.

How long one takes is what it says of itself, or was seen, roughly, on two cores that others used,
too. Those without a time were not timed.
"""

from __future__ import annotations

import ast
from pathlib import Path

TIMES = {
    "archive": "a minute",
    "bandwidth": "half an hour; --quick two minutes",
    "grid_line": "--quick five minutes",
    "hostile_pages": "four minutes",
    "install_size": "some minutes",
    "keep": "six minutes; --quick one and a half",
    "keep_board": "half a minute",
    "keep_real": "twenty minutes; --quick five",
    "lab": "a minute",
    "make_way": "ten minutes",
    "many_sites": "three minutes",
    "planning": "half a minute",
    "policies": "twelve minutes",
    "promises": "an hour",
    "speed": "ten minutes",
    "tag_fuzz": "some minutes",
    "virtual_crawl": "three minutes",
    "virtual_promises": "three minutes",
}
PARTS = {
    "__main__",
    "arguments",
    "closure",
    "cut_line",
    "documentation",
    "growth_curves",
    "line_user",
    "line_web",
    "postgres",
    "promised_web",
    "survey_graphs",
    "topical_server",
}
"""What benches are made of."""


def main() -> None:
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem in PARTS:
            continue
        head = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        what = head.partition("\n")[0].partition(" Run:")[0]
        print(f"python -m bench.{path.stem:<16} {what}  [{TIMES.get(path.stem, 'not timed')}]")


if __name__ == "__main__":
    main()
