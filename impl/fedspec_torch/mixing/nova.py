"""FedNova's normalised averaging: the general rule of the paper and its weights and step lengths."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fedspec.errors import WeightError
from fedspec.readings import NovaWeights, TauEff
from fedspec_torch.arith import Scalar, Stack, Stream, Vector, Weights, numbers
from fedspec_torch.mixing.weighted import check_shares, mix


def normalised_gradient(delta: Stack, *, eta_l: Scalar, a_norm: Weights) -> Stack:
    """What each client sends: its average gradient, weighted by a_i.

        d_i = - Delta_i / (eta_l ||a_i||_1)        fednova.d

    Raises:
        WeightError: an ||a_i||_1 is not positive.

    Source: FedNova, eq. (4) and L111.
    """
    if not (a_norm > 0).all():
        raise WeightError(f"a_norm: got {a_norm.tolist()}; ||a_i||_1 is > 0 (it is tau_i for plain SGD, tau_i >= 1)")
    return -delta / (eta_l * a_norm).unsqueeze(1)


def effective_steps(
    p: Weights, a_norms: Weights, steps: Sequence[int], choice: TauEff, fixed: Scalar = 1
) -> Scalar | Tensor:
    """The effective number of local steps.

        tau_eff = sum_i p_i ||a_i||_1              fednova.tau_eff

    or sum_i p_i tau_i, or a constant.

    Source: FedNova, eqs. (5), (12) and sec. 5.
    """
    if choice is TauEff.FIXED:
        return fixed
    tau_eff: Tensor = p @ (a_norms if choice is TauEff.WEIGHTED_NORM else numbers(steps, p))
    return tau_eff


def general_weights(p: Weights, a_norms: Weights, choice: NovaWeights) -> Weights:
    """The weights of the general rule: p itself (FedNova), or what plain averaging implies.

        w_i = p_i, or p_i ||a_i||_1 / sum_j p_j ||a_j||_1  fednova.w

    Source: FedNova, eqs. (5)-(7).
    """
    return p if choice is NovaWeights.NOVA else p * a_norms / (p @ a_norms)


def general_update(x: Vector, d: Stack | Stream, w: Weights, *, tau_eff: Scalar | Tensor, eta_l: Scalar) -> Vector:
    """The general rule that every algorithm of the paper is an instance of.

        x = x - tau_eff sum_i w_i eta_l d_i        fednova.step

    Raises:
        WeightError: w is negative somewhere or does not sum to one.

    Source: FedNova, eq. (4).
    """
    check_shares(w)
    return x - tau_eff * mix(w * eta_l, d)


def general_change(d: Stack | Stream, w: Weights, *, tau_eff: Scalar | Tensor, eta_l: Scalar) -> Vector:
    """The change that the general rule makes of the model.

        Delta = - tau_eff sum_i w_i eta_l d_i      fednova-momentum.delta

    Raises:
        WeightError: w is negative somewhere or does not sum to one.

    Source: FedNova, eq. (4) and L204.
    """
    check_shares(w)
    return -tau_eff * mix(w * eta_l, d)
