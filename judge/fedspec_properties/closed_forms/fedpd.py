"""FedPD: the matrix of a round on quadratics, and its reductions to other algorithms."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_properties.closed_forms.round_matrices import Forms, Place
from fedspec_properties.closed_forms.sums import total
from fedspec_properties.reductions.edge import reduces
from fedspec_properties.reductions.rounds import begins
from fedspec_suite.measure.scenario import Scenario, posed, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting

ZHANG = "external: Zhang, Hong, Dhople, Yin and Liu (2021)"


def _from_where_they_were(z: Place, e: Round) -> Forms:
    """Memory i is how far client i has gone in all its rounds, lam_i / mu; n + i where it is, seen from the model."""
    n, mu, x = len(z.all), z.h["mu"], z.block(0)
    steps = dict(zip(e.participants, e.steps, strict=True))
    gone, beside = [z.block(1 + i) for i in z.all], [z.block(1 + n + i) for i in z.all]
    for i in z.all:
        slope = z.gradient(i) + z.problem.H[i] @ beside[i] + mu * (gone[i] + beside[i])
        beside[i] = beside[i] - z.reach(i, steps[i], mu) @ slope
        gone[i] = gone[i] + beside[i]
    own = z.o["dual_added"] == "to-own"
    moved = total((beside[i] if own else 0) + gone[i] for i in z.all) / n
    return [x + moved, *gone, *(beside[i] - moved for i in z.all)]


MAPS = {"fedpd": _from_where_they_were}


def _solved(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Everybody's curvature is 1 / eta_l - mu in all directions, so that one step solves the local problem."""
    mu, eta_l = draw(st.sampled_from((0.25, 0.5, 1.0))), draw(st.sampled_from((0.125, 0.25, 0.5)))
    H = problem_of(s).H
    round_ = (1 / eta_l - mu) * (H * 0 + [[float(i == j) for j in range(len(H[0]))] for i in range(len(H[0]))])
    return with_hyper(posed(s, H=round_.astype(H.dtype)), mu=mu, eta_l=eta_l)


OWN: dict[str, Any] = {"dual_added": "to-own"}
EDGES = (
    begins(
        "fedpd", "fedprox", f"{ZHANG}: x_i + lam_i / mu = x + 2 (x_i - x)", "; the server goes twice as far", **OWN
    ).told(eta=2),
    begins(
        "fedpd",
        "fedprox",
        "external: 564612540/FedPD, Fed_PD.m: x + lam_i / mu = x_i",
        " of reading matlab",
        dual_added="to-servers",
    ).named("fedpd-of-matlab-begins-as-fedprox"),
    begins("fedpd", "feddyn", f"{ZHANG} beside Acar et al. (2021): the duals are 0", **OWN),
    reduces(
        "fedpd",
        "feddyn",
        f"{ZHANG} beside Acar et al. (2021): where x_i is the minimum, it does not matter where it began",
    )
    .named("fedpd-solved-is-feddyn")
    .under("a step solves everybody's local problem", narrow=_solved, needs=("eta_l", "mu"), **OWN),
)
