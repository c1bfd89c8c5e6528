"""QHM: quasi-hyperbolic momentum, a local step along a weighted mean of the gradient and its running average.

    u = rho u + (1 - rho) g
    x = x - eta_l ((1 - nu) g + nu u)

with u = 0 when the round begins.

External: Ma and Yarats (2019), arXiv 1810.06801, not opened. Witness: the authors' code facebookresearch/qhoptim
(qhoptim/pyt/qhm.py at abbbc96), without its weight decay. The formula in that file's docstring adds where its code,
and this box, subtract.
"""

from __future__ import annotations

from typing import Any

from fedspec.arith import Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.domains import SHARE, Parameter, declare
from fedspec.entry import Algorithm, Family, LocalSolver, Reading
from fedspec.records import record
from fedspec.rules import rule
from fedspec_suite.own import Mistake, Reduction

declare("nu", Parameter(SHARE, "share of the average in a local step, the gradient having the rest", of_clients=True))


@record
class QHM:
    """Local model, and the running average of the round's gradients."""

    x: Vector
    u: Vector


def begin(x: Vector) -> QHM:
    """Begin at the server's model, with an average of zero."""
    return QHM(x=x, u=zeros(x))


@rule
def qhm(state: QHM, g: Vector, *, eta_l: Scalar, rho: Scalar, nu: Scalar) -> QHM:
    """Take a local step along a weighted mean of the gradient and its running average.

        u = rho u + (1 - rho) g                               qhm.u
        x = x - eta_l ((1 - nu) g + nu u)                     qhm.step

    External: Ma and Yarats (2019).
    """
    u = rho * state.u + (1 - rho) * g
    x = state.x - eta_l * ((1 - nu) * g + nu * u)
    return QHM(x=x, u=u)


ROW = Algorithm(
    id="qhm",
    family=Family.LOCAL_SOLVERS,
    title="quasi-hyperbolic momentum, buffer reset each round",
    source="external: Ma and Yarats (2019), arXiv 1810.06801",
    levels=("client",),
    readings=(Reading(name="ma-2019", words="u = rho u + (1 - rho) g, x = x - eta_l ((1 - nu) g + nu u)"),),
    run=LocalSolver(rule=qhm, begin=begin),
    costs=Costs(working="2 d"),
    usual={"nu": 0.7},
    denies={},
    symbols={"eta_l": "alpha", "rho": "beta", "u": "g"},
    traps=(
        "u is an average: heavy ball at the rate a is QHM at the rate a / (1 - rho), with nu = 1",
        "the step takes the average that has this gradient in it",
    ),
)


def last_move(past: Any, h: Any, o: Any) -> Any:
    """Return the last move as one sum: the last gradient has weight 1 - nu rho, older ones lose a factor rho each."""
    K, nu, rho = len(past), h["nu"], h["rho"]
    older = sum(rho ** (K - 1 - k) * past[k] for k in range(K - 1))
    return -h["eta_l"] * ((1 - nu * rho) * past[-1] + nu * (1 - rho) * older)


STEPS = {"qhm": last_move}

EDGES = (
    Reduction(target="sgd", values={"nu": 0.0}, cited="nothing of u is taken", levels=("client",)),
    Reduction(target="dampened", values={"nu": 1.0}, cited="nothing but u is taken", levels=("client",)),
)

MUTANTS = (
    Mistake(
        id="qhm-swapped",
        words="nu weighs the gradient and 1 - nu the average",
        function=qhm,
        old="(1 - nu) * g + nu * u",
        new="nu * g + (1 - nu) * u",
    ),
    Mistake(
        id="qhm-undamped",
        words="the average is a sum: u = rho u + g",
        function=qhm,
        old="(1 - rho) * g",
        new="g",
    ),
    Mistake(
        id="qhm-old-average",
        words="the step takes the average of the step before",
        function=qhm,
        old="nu * u)",
        new="nu * state.u)",
    ),
)
