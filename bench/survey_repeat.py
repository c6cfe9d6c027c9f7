"""What a repeated survey saves when it knows which pages brought hosts last time.

    python -m bench.survey_repeat [--sites 1000]

Two surveys of the same virtual web, played without a network, on webs that nothing was tuned on.
Printed: the load at which 80, 90 and 95 % of the hosts were found, in parts of all pages.
"""

from __future__ import annotations

import argparse

from headgate.features.survey.strategy.entries import SurveyEntry
from headgate_lab.papers.nakahira2008.playing import play
from headgate_lab.worlds.virtual_web import make_web

_SEEDS = (201, 202)
_SHARES = (0.8, 0.9, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sites", type=int, default=1000)
    args = parser.parse_args()
    for seed in _SEEDS:
        web = make_web(seed, args.sites)
        log: list[SurveyEntry] = []
        first = play(web, log=log)
        second = play(web, earlier=log)
        for share in _SHARES:
            before, after = first.load_at(share, web), second.load_at(share, web)
            print(f"web {seed}: {share:.0%} of the hosts at {before:.1%}, then {after:.1%}")


if __name__ == "__main__":
    main()
