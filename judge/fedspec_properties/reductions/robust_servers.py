"""Reductions of servers that read every change of a round, such as the median."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from hypothesis import strategies as st

from fedspec.contract import Messages, Round
from fedspec_properties.reductions.edge import reduces, rooted
from fedspec_properties.reductions.rounds import ALONE
from fedspec_suite.measure.scenario import Scenario, posed, with_hyper, with_sent
from fedspec_suite.measure.setting import Setting

NEARLY_HALF = 0.4375
"""Share to trim, so that one message at either end is dropped of three or four, and none of one or two."""
BEYOND = 1024.0
"""Distance that exceeds every distance between changes in small cases."""
MANY = 16
"""Number that exceeds the number of clients in every small case."""


def _no_losses_of_zero(s: Scenario) -> Scenario:
    """No loss is 0, whatever the numbers of the case are."""
    f = None if s.case.problem is None else s.case.problem.f
    return s if f is None else posed(s, f=f + 16)


def _without_losses(s: Scenario) -> Scenario:
    bare = with_sent(s, lambda m: replace(m, loss=None))
    return (
        bare if s.case.problem is None else replace(bare, case=replace(s.case, problem=replace(s.case.problem, f=None)))
    )


def _all_kept(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Keep every message: the number kept is the largest round's clients, one more, or more than any."""
    most = max(len(e.messages if isinstance(e, Messages) else cast("Round", e).participants) for e in s.events)
    return with_hyper(s, keep=draw(st.sampled_from((most, most + 1, MANY))))


EDGES = (
    reduces("fedexp", "fedavg", "its definition: the rate is max(1, 1/2 or less)", undecided=True).under(
        "one client takes part in a round", **ALONE
    ),
    rooted("fedatt", "fedavg", "its definition: the share of one is 1").under(
        "one client takes part in a round", **ALONE
    ),
    rooted("geometric-median", "fedavg", "its definition: all distances count as nu").under(smooth=BEYOND),
    rooted(
        "centred-clipping",
        "fedavg",
        "its definition: nothing is clipped, and v + mean of (Delta_i - v) is the mean",
        undecided=True,
    ).under(clip_norm=BEYOND),
    rooted("multi-krum", "krum", "Blanchard et al. (2017): m = 1").under(keep=1),
    rooted("multi-krum", "fedavg", "Blanchard et al. (2017): m = n").under(
        "at least as many are kept as take part in a round", narrow=_all_kept, needs=("keep",)
    ),
    reduces("median", "fedavg", "its definition: the middle of two is their mean").under(
        "two clients take part in a round at most, and they are not weighed", middle="mean", clients=(1, 2)
    ),
    reduces("q-fedavg", "fedavg", "external: Li et al. (2020): its objective is then the sum of the F_i")
    .under("q = 0", _no_losses_of_zero, q=0.0)
    .told(_without_losses),
    reduces("trimmed-mean", "fedavg", "its definition: nothing is left out").under(trim=0.0),
    reduces("trimmed-mean", "median", "its definition: what is left is the middle").under(
        "trim = 0.4375 and four clients take part in a round at most", trim=NEARLY_HALF
    ),
)
