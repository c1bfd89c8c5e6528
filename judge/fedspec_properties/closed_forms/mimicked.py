"""MimeLite and Mime: a round on quadratics as one matrix, and what they are under restrictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec_properties.closed_forms.affine_rounds import Forms, Place
from fedspec_properties.closed_forms.sums import total
from fedspec_properties.reductions.edge import pinned, told
from fedspec_properties.reductions.rounds import ALONE, FIRST, of_rounds, single_steps
from fedspec_suite.measure.scenario import Scenario

KARIMIREDDY = "external: Karimireddy et al. (2020), Mime"


def entering(h: Any, o: Any) -> Any:
    """The share of a gradient that enters a step, or the buffer."""
    return 1 if o["momentum_sum"] == "sum" else 1 - h["beta"]


def _mimicked(z: Place, e: Round, *, corrected: bool) -> Forms:
    """Block 1 is m; steps at a rate that is eta_l times the share of g, under a constant force of the rest."""
    share, beta = entering(z.h, z.o), z.h["beta"]
    p = z.shares(e.participants, z.o["weights"] == "uniform")
    slower = replace(z, h={**z.h, "eta_l": z.h["eta_l"] * share})
    mean: Array = total(p_i * z.gradient(i) for p_i, i in zip(p, e.participants, strict=True))
    push = beta / share * z.block(1)
    # The gradient at y is that at x and H_i (y - x), whichever of the two gradients at x it goes with.
    moves = (
        slower.reach(i, tau) @ ((mean if corrected else z.gradient(i)) + push)
        for i, tau in zip(e.participants, e.steps, strict=True)
    )
    x = z.block(0) - z.h["eta"] * total(p_i * move for p_i, move in zip(p, moves, strict=True))
    return [x, share * mean + beta * z.block(1), *(z.block(1 + i) for i in z.all[1:])]


MAPS = {
    "mime-lite": lambda z, e: _mimicked(z, e, corrected=False),
    "mime": lambda z, e: _mimicked(z, e, corrected=True),
}


def _slowed(s: Scenario) -> Scenario:
    """FedAvg at the share of the rate by which a gradient enters."""
    return told(s, "fedavg", hyper={"eta_l": s.case.hyper["eta_l"] * entering(s.case.hyper, s.case.options)})


EDGES = (
    pinned(
        source="mime-lite",
        target="fedavg",
        cited=f"{KARIMIREDDY}: without momentum the base optimiser is SGD",
        level="round",
        values={"beta": 0.0},
    ),
    of_rounds(
        id="mime-lite-begins-as-fedavg",
        source="mime-lite",
        target="fedavg",
        when="it is the first round; eta_l is that by which a gradient enters",
        cited=f"{KARIMIREDDY}: m = 0",
        carry=_slowed,
        draw=FIRST,
    ),
    of_rounds(
        id="mime-alone-is-mime-lite",
        source="mime",
        target="mime-lite",
        when="there is one client, with gradients of all its examples",
        cited=f"{KARIMIREDDY}: then g_x is its own",
        draw=ALONE,
    ),
    *(
        of_rounds(
            id=f"{source}-of-single-steps-is-{target}",
            source=source,
            target=target,
            when=f"everybody takes one step{words}",
            cited=f"{KARIMIREDDY}: a round is one step of the base optimiser with the mean gradient",
            narrow=single_steps,
            options=options,
        )
        for source in ("mime-lite", "mime")
        for target, words, options in (
            ("fedavgm", "", {}),
            ("slowmo", ", and the buffer is a sum", {"momentum_sum": "sum"}),
        )
    ),
)
