"""LAMB as a local solver: Adam's direction with its own second moment, scaled to a set length in each layer.

A layer is a block of the model. External: You et al. (2020), "Large Batch Optimization for Deep Learning", Algorithm 2;
Fed-LAMB compares itself with it (sec. 3.2, L258) and does not print it.
"""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Vector, concatenate, norm, sqrt, where_less, zeros
from fedspec.client.lamb import layer_step
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.params import check_layers
from fedspec.readings import LocalCorrection, Phi, ZeroLayer
from fedspec.records import record
from fedspec.rules import rule


@record
class Averages:
    """LAMB's two moments and the number of steps taken."""

    m: Vector
    v: Vector
    t: Count


@rule
def lamb_ratio(
    state: Averages,
    g: Vector,
    *,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: LocalCorrection = LocalCorrection.MOMENTS,
) -> tuple[Averages, Vector]:
    """Update LAMB's moments in step t and return the ratio r, which is Adam's direction.

        m = beta1 m + (1 - beta1) g                lamb.m
        v = beta2 v + (1 - beta2) g^2              lamb.v
        m_hat = m / (1 - beta1^t)                  lamb.m_hat
        v_hat = v / (1 - beta2^t)                  lamb.v_hat
        r = m_hat / (sqrt(v_hat) + eps)            lamb.r

    Other readings leave both as they are, or replace them by their corrected values:

        m_hat = m                                           lamb.m_hat [bias_correction=none]
        v_hat = v                                           lamb.v_hat [bias_correction=none]
        m = (beta1 m + (1 - beta1) g) / (1 - beta1^t)       lamb.m [bias_correction=in-place]
        v = (beta2 v + (1 - beta2) g^2) / (1 - beta2^t)     lamb.v [bias_correction=in-place]
        m_hat = m                                           lamb.m_hat [bias_correction=in-place]
        v_hat = v                                           lamb.v_hat [bias_correction=in-place]

    External: You et al. (2020), Algorithm 2.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    m_hat, v_hat = m, v
    if bias_correction is not LocalCorrection.NONE:
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
    r = m_hat / (sqrt(v_hat) + eps)
    kept = (m_hat, v_hat) if bias_correction is LocalCorrection.IN_PLACE else (m, v)
    return Averages(*kept, t), r


@record
class Lamb:
    """A local model, its two moments and the number of steps taken."""

    x: Vector
    m: Vector
    v: Vector
    t: Count


def begin(x: Vector) -> Lamb:
    """The state at the start of a round: moments at zero."""
    return Lamb(x=x, m=zeros(x), v=zeros(x), t=0)


def lamb(
    state: Lamb,
    g: Vector,
    layers: tuple[slice, ...],
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    lam: Scalar = 0,
    phi_m: Scalar = 1,
    phi_M: Scalar = 1,
    phi: Phi = Phi.IDENTITY,
    bias_correction: LocalCorrection = LocalCorrection.MOMENTS,
    zero_layer: ZeroLayer = ZeroLayer.STAYS,
) -> Lamb:
    """Local step of LAMB: Adam's direction plus weight decay, scaled to the length eta_l phi(||x||) in every layer.

        q = r + lam x                              lamb.q
        x = x - eta_l phi(||x||) q / ||q||         lamb.step
        x = x - eta_l q where x = 0, else x - eta_l ||x|| q / ||q||  lamb.step [zero_layer=ratio-one]

    x, r and q are those of one layer; where q = 0 it stays.

    Raises:
        ShapeError: the layers don't partition the coordinates.

    External: You et al. (2020), Algorithm 2.
    """
    check_layers(layers, state.x.shape[-1])
    own, r = lamb_ratio(
        Averages(m=state.m, v=state.v, t=state.t), g, beta1=beta1, beta2=beta2, eps=eps, bias_correction=bias_correction
    )
    new = []
    for l in layers:
        x_l, r_l = state.x[..., l], r[..., l]
        moved = layer_step(x_l, r_l, eta_l=eta_l, lam=lam, phi_m=phi_m, phi_M=phi_M, phi=phi)
        if zero_layer is ZeroLayer.RATIO_ONE:
            # There lam x is nothing: q is r.
            moved = where_less(0, norm(x_l), moved, x_l - eta_l * r_l)
        new.append(moved)
    return Lamb(x=concatenate(new), m=own.m, v=own.v, t=own.t)


ROW = Algorithm(
    id="lamb",
    family=Family.LOCAL_SOLVERS,
    place=21,
    title="LAMB: Adam at one length in every layer",
    source="external: You et al. (2020); Fed-LAMB compares itself with it (L258)",
    basis=Basis.MEMORY,
    levels=("client",),
    # What it calls of Fed-LAMB prints its own last two lines under other ids.
    rules=(lamb_ratio, lamb),
    readings=(
        Reading(
            name="you-2020",
            words="both moments corrected in copies, eps outside the root, the decay inside the normalised direction",
            fixes={"bias_correction": "moments", "zero_layer": "stays"},
        ),
        Reading(
            name="ratio-one",
            words=(
                "as you-2020 with phi the identity, but a layer of length zero moves by eta_l q: the ratio ||x|| / "
                "||q|| is 1 where it would be 0, as packages have it"
            ),
            fixes={"bias_correction": "moments", "phi": "identity", "zero_layer": "ratio-one"},
        ),
        Reading(name="uncorrected", words="no bias correction", fixes={"bias_correction": "none"}),
        Reading(
            name="assigned",
            words="m = m / (1 - beta1^t) and v = v / (1 - beta2^t) taken as assignments that the averages go on from",
            fixes={"bias_correction": "in-place"},
        ),
    ),
    run=LocalSolver(
        rule=lamb,
        begin=begin,
        plays={"phi_m": ("phi=clip",), "phi_M": ("phi=clip",), "zero_layer": ("phi=identity",)},
    ),
    costs=Costs(working="3 d"),
    traps=(
        "the lengths of model and direction are those of a layer; with the whole model's it is another algorithm",
        "the decay is added to the ratio before its length is taken",
        "with phi the identity a layer at zero never moves, nor does one whose direction q is zero; most packages have "
        "it move by eta_l q",
    ),
)
