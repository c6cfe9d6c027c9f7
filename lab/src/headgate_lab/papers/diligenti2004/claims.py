"""The paper's claims about its results, each with the numbers found here; and Headgate's claims
about the repaired form."""

from __future__ import annotations

from collections.abc import Mapping

from headgate_lab.papers.claim import Claim
from headgate_lab.papers.diligenti2004.trace import Summary

__all__ = ["claims", "promises"]

_CLOSE = 0.10
"""Of the limit: prediction and measure are close when no further apart on average."""
_LEAST_MEAN = 0.93
_WORST_SECOND = 1.10
_NOTABLE_PAUSE = 0.01


def claims(found: Mapping[str, Summary]) -> list[Claim]:
    """The paper's, of summaries by name of the form."""
    six, two = found["maxd6"], found["maxd2"]
    on_off, ratio = found["on-off"], found["ratio"]
    return [
        Claim(
            "Fig. 1",
            "The predicted bandwidth is close to the measured one",
            six.error <= _CLOSE,
            f"{six.error:.0%} of L apart on average, the measured one higher: estimates are means"
            f" over downloads, the line sees time; {ratio.error:.0%} with unbiased estimates",
        ),
        Claim(
            "Fig. 1",
            "The predicted bandwidth is always below the assigned threshold",
            six.predicted_most <= 1.0 + 1e-9,
            f"at most {six.predicted_most:.1%} of L; the measured one is above L in"
            f" {six.seconds_above:.0%} of the seconds",
        ),
        Claim(
            "Fig. 2",
            "A larger maxd improves the average bandwidth",
            six.mean > two.mean,
            f"{six.mean:.1%} of L with 6, {two.mean:.1%} with 2: {six.mean / two.mean - 1:+.1%}",
        ),
        Claim(
            "Fig. 2",
            "When maxd increases, some URLs with a smaller score go before URLs with a larger one",
            six.passed_over > two.passed_over,
            f"{six.passed_over:.1f} better ones passed over per start with 6,"
            f" {two.passed_over:.1f} with 2",
        ),
        Claim(
            "Fig. 3",
            "Control of the number of fetchers is less accurate and oscillates considerably",
            on_off.scatter > six.scatter,
            f"seconds scatter by {on_off.scatter:.0%} of L, with estimates by {six.scatter:.0%};"
            f" worst second {on_off.worst_second:.0%}, with estimates {six.worst_second:.0%}",
        ),
    ]


def promises(found: Mapping[str, Summary]) -> list[Claim]:
    """Headgate's own form, of the same."""
    two, ours = found["maxd2"], found["headgate"]
    return [
        Claim(
            "mean",
            f"Shares under one bucket use at least {_LEAST_MEAN:.0%} of L",
            ours.mean >= _LEAST_MEAN,
            f"{ours.mean:.1%}; {found['shares'].mean:.1%} where each share has only its own bucket",
        ),
        Claim(
            "any second",
            f"Shares under one bucket carry at most {_WORST_SECOND:.0%} of L in any second",
            ours.worst_second <= _WORST_SECOND,
            f"at most {ours.worst_second:.1%}, from the first byte on{_paused(ours)}",
        ),
        Claim(
            "order",
            "Shares under one bucket pass over fewer better ones than maxd 2",
            ours.passed_over < two.passed_over,
            f"{ours.passed_over:.2f} per start, {two.passed_over:.2f} with maxd 2; documents are"
            f" {ours.displacement:.0f} places out of place on average, as they wait for their own"
            " servers, which have one download at a time",
        ),
    ]


def _paused(found: Summary) -> str:
    if found.pause < _NOTABLE_PAUSE:
        return ""
    return f"; the machine stood still for up to {found.pause * 1000:.0f} ms and then caught up"
