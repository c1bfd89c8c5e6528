"""FedSAM and MoFedSAM: the path of a client on a round bowl, and what they are under restrictions.

On F(y) = a |y - b|^2 / 2 with eps = 0 every point that is looked at lies on the ray from b through y. A step takes a
client at distance d to d - eta_l a (d + radius), so far from b it is d + radius that shrinks, by 1 - eta_l a in each
step. Where d < eta_l a (d + radius), a step leads past b. Near there it is the distance from the two points at

    u = radius eta_l a / (2 - eta_l a)

on either side of b that shrinks so, while the client changes sides in each step. MoFedSAM's first round has no
direction yet: it is all this at the rate eta_l (1 - rho).
"""

from __future__ import annotations

from fedspec.arith import Array, Scalar, norm
from fedspec.contract import Round
from fedspec.params import flatten
from fedspec_properties.closed_forms.sums import total
from fedspec_properties.reductions.edge import pinned, told
from fedspec_properties.reductions.rounds import FIRST, of_rounds
from fedspec_properties.weighing import counts
from fedspec_suite.measure.scenario import Scenario, linear, problem_of

QU = "external: Qu et al. (2022)"


def rate(s: Scenario) -> Scalar:
    """The rate at which a gradient enters a step."""
    entering: Scalar = s.case.hyper["eta_l"] * (1 - s.case.hyper.get("rho", 0))
    return entering


def model(s: Scenario, swings: bool) -> Array:
    """The model after the round of a scenario whose objectives are round bowls.

    Args:
        s: the scenario, of one round.
        swings: whether every step of everybody leads past the bottom; if not, none does.
    """
    (e,) = s.events
    assert isinstance(e, Round)
    problem, x, h, moves = problem_of(s), flatten(s.case.x0), s.case.hyper, []
    n = counts(s.case.options, [problem.examples[i] for i in e.participants], e.steps)
    for n_i, i, tau in zip(n, e.participants, e.steps, strict=True):
        a = problem.H[i][0, 0]
        down = problem.e[i] / a - x
        d = norm(down)
        pull = rate(s) * a
        u = h["radius"] * pull / (2 - pull) if swings else -h["radius"]
        left = (1 - pull) ** tau * (d - u) + (u if tau % 2 == 0 or not swings else -u)
        moves.append(n_i / total(n) * (1 - left / d) * down)
    after: Array = x + h["eta"] * total(moves)
    return after


def _slowed(s: Scenario) -> Scenario:
    """FedSAM at the share of the rate by which a gradient enters."""
    return told(s, "fedsam", hyper={"eta_l": rate(s)})


EDGES = (
    pinned(
        source="fedsam",
        target="fedavg",
        cited=f"{QU}: clients look where they are",
        level="round",
        values={"radius": 0.0},
        roots=True,
    ),
    of_rounds(
        id="fedsam-of-planes-is-fedavg",
        source="fedsam",
        target="fedavg",
        when="objectives are linear",
        cited=f"{QU}: gradients are the same wherever a client looks",
        narrow=lambda draw, setting, s: linear(s),
        roots=True,
    ),
    pinned(
        source="mofedsam",
        target="fedcm",
        cited=f"{QU}: clients look where they are",
        level="round",
        values={"radius": 0.0},
        roots=True,
    ),
    pinned(
        source="mofedsam",
        target="fedsam",
        cited=f"{QU}: nothing of D is taken",
        level="round",
        values={"rho": 0.0},
        roots=True,
    ),
    of_rounds(
        id="mofedsam-begins-as-fedsam",
        source="mofedsam",
        target="fedsam",
        when="it is the first round; eta_l is eta_l (1 - rho)",
        cited=f"{QU}: D = 0",
        carry=_slowed,
        draw=FIRST,
        roots=True,
    ),
)
