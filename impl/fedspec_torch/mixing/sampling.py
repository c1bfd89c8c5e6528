"""FedNova with sampled clients; p_i = n_i / n over all m clients, and S has one entry for every draw."""

from __future__ import annotations

from torch import Tensor

from fedspec.arith import constant
from fedspec.readings import SampledSteps, SampledWeights
from fedspec_torch.arith import Scalar, Stack, Vector, Weights


def sampled_weights(p: Weights, *, clients: int, sampled_weights: SampledWeights) -> Weights:
    """The weights of the q clients drawn, from their shares p_i.

        w_i = p_i / sum over S of p_j              fednova-sampled.w

    Or 1 / q, or p_i m / q, m the number of all clients.

    Source: FedNova, Alg. 1, line 6 (L969) and footnote 1 (L87).
    """
    match sampled_weights:
        case SampledWeights.SELF_NORMALISED:
            return p / p.sum()
        case SampledWeights.WITH_REPLACEMENT:
            return constant(1 / len(p), p)
    return p * clients / len(p)


def sampled_steps(
    p: Weights, w: Weights, a_norms: Weights, *, sampled_steps: SampledSteps, tau_eff: Scalar = 1
) -> Scalar | Tensor:
    """The effective number of local steps of a round with sampled clients.

        tau_eff = sum over S of w_i ||a_i||_1      fednova-sampled.tau_eff

    Or sum over S of p_i ||a_i||_1, or a constant.

    Source: FedNova, Alg. 1, line 6 (L969), L961 and App. G.
    """
    if sampled_steps is SampledSteps.FIXED:
        return tau_eff
    tau_eff = (w if sampled_steps is SampledSteps.SAMPLE else p) @ a_norms
    return tau_eff


def sampled_update(x: Vector, d: Stack, w: Weights, *, tau_eff: Scalar | Tensor, eta_l: Scalar) -> Vector:
    """The general rule over the clients drawn; its weights need not sum to one.

        x = x - tau_eff sum over S of w_i eta_l d_i  fednova-sampled.step

    Source: FedNova, Alg. 1, line 6 (L969), and eq. (153) (L839).
    """
    return x - tau_eff * (w * eta_l @ d)
