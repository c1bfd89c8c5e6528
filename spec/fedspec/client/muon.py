"""Muon: momentum whose singular values are driven towards 1, so that a step moves a matrix equally in all directions.

A block of the model is a matrix of r rows and c columns; there are no others. External: Jordan et al. (2024), "Muon: An
optimizer for hidden layers in neural networks", as torch has it. What is done with vectors beside it is no part of it:
torch refuses them, and Jordan's code, Moonlight's and MuLoCo's take AdamW there.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedspec.arith import (
    Array,
    Scalar,
    Vector,
    concatenate,
    flat,
    matrix,
    maximum,
    norm,
    numbers,
    product,
    sqrt,
    transposed,
    zeros,
)
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.params import matrices
from fedspec.readings import Coefficients, LookAhead, MatrixLength, MatrixScale, Summed
from fedspec.records import record
from fedspec.rules import rule

QUINTICS: dict[Coefficients, tuple[tuple[int, int, int], ...]] = {
    Coefficients.JORDAN: ((34445, -47750, 20315),),
    Coefficients.MULOCO: (
        (40848, -68946, 29270),
        (39505, -63029, 26377),
        (37418, -55913, 23037),
        (28769, -31427, 12046),
        (28366, -30525, 12012),
    ),
}
"""Coefficients a, b and c of each iteration, times 10,000; all further iterations use the last triple."""


@record
class Muon:
    """A local model and its momentum."""

    x: Vector
    m: Vector


def begin(x: Vector) -> Muon:
    """The state at the start of a round: no momentum."""
    return Muon(x=x, m=zeros(x))


def quintic(X: Array, a: int, b: int, c: int) -> Array:
    """Return the odd quintic a X + (b X X' + c (X X')^2) X, with coefficients in units of 1 / 10,000.

    Of a tall matrix X' X is smaller: (X X') X = X (X' X).
    """
    if X.shape[-2] > X.shape[-1]:
        A = product(transposed(X), X)
        return (a * X + product(X, b * A + c * product(A, A))) / 10000
    A = product(X, transposed(X))
    return (a * X + product(b * A + c * product(A, A), X)) / 10000


@rule
def newton_schulz(
    u: Vector,
    shape: tuple[int, int],
    *,
    eps: Scalar,
    ns_steps: int,
    length: MatrixLength = MatrixLength.AT_LEAST,
    coefficients: Coefficients = Coefficients.JORDAN,
) -> Vector:
    """Approximately orthogonalise the matrix u: divide it by its Frobenius norm, then apply a quintic ns_steps times.

        X = u / max(||u||, eps)                                             muon.X
        O = X after ns_steps times X = a X + (b X X' + c (X X')^2) X        muon.O
        X = u / (||u|| + eps)                                               muon.X [length=plus-eps]
        O = X after ns_steps times X = a_k X + (b_k X X' + c_k (X X')^2) X  muon.O [coefficients=muloco]

    a = 3.4445, b = -4.7750, c = 2.0315. External: Jordan et al. (2024); torch 2.13, torch/optim/_muon.py:31-70.
    """
    size = norm(u)
    X = matrix(u / (size + eps if length is MatrixLength.PLUS else maximum(size, eps)), shape)
    known = QUINTICS[coefficients]
    for k in range(ns_steps):
        X = quintic(X, *known[min(k, len(known) - 1)])
    return flat(X)


def factor(shape: tuple[int, int], scale: MatrixScale, like: Vector) -> Array:
    """Factor of a step beside the rate, from the block's numbers of rows and columns."""
    rows, columns = shape
    match scale:
        case MatrixScale.ORIGINAL:
            return sqrt(numbers([max(shape)], like) / columns)
        case MatrixScale.MATCH_RMS:
            return sqrt(numbers([max(shape)], like)) / 5
        case MatrixScale.SPECTRAL:
            return sqrt(numbers([rows], like) / columns)


@rule
def muon(
    state: Muon,
    g: Vector,
    shapes: Sequence[Sequence[int]],
    *,
    eta_l: Scalar,
    rho: Scalar,
    eps: Scalar,
    wd: Scalar,
    ns_steps: int,
    momentum: Summed = Summed.AVERAGE,
    ahead: LookAhead = LookAhead.NESTEROV,
    length: MatrixLength = MatrixLength.AT_LEAST,
    coefficients: Coefficients = Coefficients.JORDAN,
    scale: MatrixScale = MatrixScale.ORIGINAL,
) -> Muon:
    """Local step of Muon; x, u and O belong to one block, a matrix of r rows and c columns.

        m = rho m + (1 - rho) g                           muon.m
        u = rho m + (1 - rho) g                           muon.u
        x = x - eta_l wd x - eta_l sqrt(max(1, r / c)) O  muon.step
        m = rho m + g                                     muon.m [momentum=sum]
        u = rho m + g                                     muon.u [momentum=sum]
        u = m                                             muon.u [ahead=none]
        u = m                                             muon.u [ahead=none, momentum=sum]
        x = x - eta_l wd x - eta_l sqrt(max(r, c)) / 5 O  muon.step [scale=match-rms-adamw]
        x = x - eta_l wd x - eta_l sqrt(r / c) O          muon.step [scale=spectral]

    O is u after newton_schulz. The new m stands in u, where the gradient comes in once more (Nesterov). Each step is
    that of torch's code, whose docstring prints m = rho m + g, and eps added to the norm.

    Raises:
        ShapeError: a block isn't a matrix.

    External: Jordan et al. (2024); torch 2.13, torch/optim/_muon.py:308-341.
    """
    new_g = g if momentum is Summed.SUM else (1 - rho) * g
    m = rho * state.m + new_g
    u = m if ahead is LookAhead.NONE else rho * m + new_g
    new = []
    for l, shape in matrices(shapes, g.shape[-1]):
        x_l = state.x[..., l]
        O = newton_schulz(u[..., l], shape, eps=eps, ns_steps=ns_steps, length=length, coefficients=coefficients)
        new.append(x_l - eta_l * wd * x_l - eta_l * factor(shape, scale, O) * O)
    return Muon(x=concatenate(new), m=m)


ROW = Algorithm(
    id="muon",
    family=Family.LOCAL_SOLVERS,
    place=23,
    title="Muon: momentum as an almost orthogonal matrix",
    source="external: Jordan et al. (2024), as torch has it",
    basis=Basis.CODE,
    levels=("client",),
    readings=(
        Reading(
            name="torch",
            words="momentum as an average, looked ahead; the norm, or eps where that is larger (torch.optim.Muon of "
            "torch 2.13, torch/optim/_muon.py:31-70 and 308-341)",
            fixes={"momentum": "average", "length": "at-least-eps", "coefficients": "jordan"},
        ),
        Reading(
            name="jordan",
            words="as torch, but eps is added to the norm (KellerJordan/Muon at 857d1ad, muon.py:5-41 and 92-93)",
            fixes={
                "momentum": "average",
                "ahead": "nesterov",
                "length": "plus-eps",
                "coefficients": "jordan",
                "scale": "original",
            },
        ),
        Reading(
            name="moonlight",
            words="momentum as a sum, looked ahead, eps added, steps as long as AdamW's (MoonshotAI/Moonlight at "
            "c2ad5b2, examples/toy_train.py:49-204)",
            fixes={
                "momentum": "sum",
                "ahead": "nesterov",
                "length": "plus-eps",
                "coefficients": "jordan",
                "scale": "match-rms-adamw",
            },
        ),
        Reading(
            name="muloco",
            words="momentum as a sum, not looked ahead, eps added, quintics of their own, sqrt(r / c) "
            "(bentherien/muloco-1 at 33cc333, muloco/pytorch/muloco.py:25-58, 135-186)",
            fixes={
                "momentum": "sum",
                "ahead": "none",
                "length": "plus-eps",
                "coefficients": "muloco",
                "scale": "spectral",
            },
        ),
    ),
    run=LocalSolver(rule=muon, begin=begin),
    costs=Costs(working="2 d"),
    traps=(
        "the norm before the iteration is Frobenius's: the spectral one makes the largest singular value 1, and is not "
        "what any of the codes divides by",
        "five iterations do not end at 1: with these coefficients singular values end between 0.68 and 1.14, those "
        "below 0.006 of the norm elsewhere between 0 and 1.21",
        "the momentum averages gradients; what was orthogonalised before is not kept",
        "the factor is of rows over columns, as torch stores a linear layer: outputs over inputs",
        "the decay is multiplied by the rate alone, and not by that factor",
        "public codes iterate in bfloat16, which keeps two or three digits of a step",
    ),
    symbols={"rho": "mu", "wd": "lambda", "eta_l": "gamma", "m": "B", "ns_steps": "k"},
)
