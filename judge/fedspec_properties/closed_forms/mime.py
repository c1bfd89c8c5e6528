"""MimeLite and Mime: the matrix of a round on quadratics, and reductions to other algorithms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec_properties.closed_forms.round_matrices import Forms, Place
from fedspec_properties.closed_forms.sums import total
from fedspec_properties.reductions.edge import reduces
from fedspec_properties.reductions.rounds import alone, begins, single_steps

KARIMIREDDY = "external: Karimireddy et al. (2020), Mime"


def entering(h: Any, o: Any) -> Any:
    """Return the factor with which a gradient enters a step, or the buffer."""
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


BASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("fedavgm", "", {}),
    ("slowmo", ", and the buffer is a sum", {"momentum_sum": "sum"}),
)
EDGES = (
    reduces("mime-lite", "fedavg", f"{KARIMIREDDY}: without momentum the base optimiser is SGD").under(beta=0.0),
    begins("mime-lite", "fedavg", f"{KARIMIREDDY}: m = 0", "; eta_l is that by which a gradient enters").told(
        eta_l=lambda h, o: h["eta_l"] * entering(h, o)
    ),
    alone("mime", "mime-lite", f"{KARIMIREDDY}: then g_x is its own", ", with gradients of all its examples"),
    *(
        reduces(source, target, f"{KARIMIREDDY}: a round is one step of the base optimiser with the mean gradient")
        .named(f"{source}-of-single-steps-is-{target}")
        .under(f"everybody takes one step{words}", single_steps, **options)
        for source in ("mime-lite", "mime")
        for target, words, options in BASES
    ),
)
