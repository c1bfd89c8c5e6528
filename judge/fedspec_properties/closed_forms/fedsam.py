"""FedSAM and MoFedSAM: a client's path on an isotropic quadratic, and reductions to other algorithms.

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
from fedspec_properties.closed_forms.sums import counts, total
from fedspec_properties.reductions.edge import rooted
from fedspec_properties.reductions.rounds import begins
from fedspec_suite.measure.scenario import Scenario, linear, problem_of

QU = "external: Qu et al. (2022)"


def rate(s: Scenario) -> Scalar:
    """Return the rate with which a gradient enters a step."""
    entering: Scalar = s.case.hyper["eta_l"] * (1 - s.case.hyper.get("rho", 0))
    return entering


def model(s: Scenario, swings: bool) -> Array:
    """Return the model after the round of a scenario whose objectives are isotropic quadratics.

    Args:
        s: the scenario, of one round.
        swings: True if every local step of every client leads past its minimum; False if none does.
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


EDGES = (
    rooted("fedsam", "fedavg", f"{QU}: clients look where they are", levels=("round",)).under(radius=0.0),
    rooted("fedsam", "fedavg", f"{QU}: gradients are the same wherever a client looks")
    .named("fedsam-of-planes-is-fedavg")
    .under("objectives are linear", linear),
    rooted("mofedsam", "fedcm", f"{QU}: clients look where they are").under(radius=0.0),
    rooted("mofedsam", "fedsam", f"{QU}: nothing of D is taken").under(rho=0.0),
    begins("mofedsam", "fedsam", f"{QU}: D = 0", "; eta_l is eta_l (1 - rho)", roots=True).told(
        eta_l=lambda h, o: h["eta_l"] * (1 - h["rho"])
    ),
)
