"""Lists the benches: `python -m bench`, or `make bench`. The head of each has more.

Times are rough: measured on two cores with other programs running, or what a bench sets itself.
"""

from __future__ import annotations

import ast
from pathlib import Path

TIMES = {
    "archive": "a minute",
    "bandwidth": "half an hour; a cell of your own half a minute",
    "coverage": "a quarter of an hour; --only git-doc --ways 1,2 a minute",
    "crash": "--kills 8 a minute",
    "dokuwiki": "half a minute",
    "focus": "more than ten minutes; sqlite nine at the most",
    "foresight": "a minute and a half, and ten to download documentation",
    "frontier": "--most 100000 two minutes",
    "grid_churn": "--modes pull seven minutes of CPU for a month",
    "grid_cluster": "a minute to two and a half",
    "grid_cost": "ten minutes; --sizes 20x1000 two",
    "grid_kills": "five minutes; --seeds 1,2,3 a quarter of an hour",
    "grid_line": "ten minutes; --quick --leases 2 a minute and a half",
    "grid_modes": "a quarter of an hour",
    "grid_shared": "half a minute",
    "hostile_pages": "four minutes; --largest 1 two",
    "install_size": "three minutes",
    "keep": "six minutes; --quick one and a half",
    "keep_board": "half a minute",
    "keep_kills": "seven minutes",
    "keep_months": "--round 200 a quarter of an hour",
    "keep_promises": "three minutes",
    "keep_real": "twenty minutes; --quick five",
    "keep_start": "four minutes",
    "keep_unchanged": "a minute and a half of processor time",
    "lab": "a quarter of a minute",
    "make_way": "ten minutes; --crawlers way --wishes bulk half a minute",
    "many_sites": "three minutes",
    "planning": "half a minute",
    "policies": "twelve minutes; --only M-MAXT M-SUMT a minute and a half",
    "predicted_ends": "four minutes",
    "promises": "an hour; --runs 1 --only timetable a minute",
    "proxies": "five minutes",
    "reading": "--rounds 1 a minute and a half",
    "requisites": "a minute",
    "score_order": "five minutes",
    "scrapy_line": "ten minutes; --parts cpu a minute and a half",
    "site_memory": "--pages 100000 half a minute",
    "site_times": "six minutes",
    "slow_sites": "--sites 500 a minute",
    "speed": "ten minutes",
    "survey": "--sites 300 a minute",
    "survey_order": "two minutes",
    "survey_repeat": "--sites 200 half a minute",
    "survey_wiki": "--pages 30 two minutes",
    "tag_fuzz": "some minutes; --pages 20000 fifteen seconds",
    "text": "--pages 100 ten seconds",
    "virtual_crawl": "three minutes; --sites 8 fifteen seconds",
    "virtual_promises": "three minutes; --runs 1 half a minute",
    "whole_crawls": "a quarter of an hour; --seeds 0-300 fifteen seconds",
    "whole_grids": "two minutes; --seeds 0-50 five seconds",
    "whole_keeps": "three minutes; --seeds 0-50 ten seconds",
}
STARTED_BY_BENCHES = {"__main__", "line_user", "line_web", "promised_web", "topical_server"}


def benches() -> dict[str, str]:
    """What each bench measures, by name: modules that can be run, but for helper processes."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if path.stem not in STARTED_BY_BENCHES and '__name__ == "__main__"' in source:
            head = ast.get_docstring(ast.parse(source)) or ""
            found[path.stem] = head.partition("\n")[0].partition(" Run:")[0]
    return found


def main() -> None:
    for name, what in benches().items():
        print(f"python -m bench.{name:<16} {what}  [{TIMES[name]}]")


if __name__ == "__main__":
    main()
