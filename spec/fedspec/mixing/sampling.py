"""FedNova with sampled clients: three pairs of weights and step lengths that the paper doesn't tell apart.

Here p_i = n_i / n over all m clients, including clients that aren't drawn, and S has one entry for every draw.
"""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector, Weights, has_values
from fedspec.domains import is_number
from fedspec.errors import PlanError, WeightError
from fedspec.mixing.weighted import check_parts
from fedspec.population import weigh
from fedspec.readings import SampledSteps, SampledWeights
from fedspec.rules import rule


def check_drawn(p: Weights, clients: int, choice: SampledWeights) -> None:
    """Raise an error for shares that the drawn clients can't have.

    Raises:
        PlanError: more clients are drawn without replacement than exist.
        WeightError: a share is above 1, the shares of distinct clients sum to more than 1, or all shares are zero.
    """
    repeats = choice is SampledWeights.WITH_REPLACEMENT
    if not repeats and len(p) > clients:
        raise PlanError(f"p: {len(p)} clients drawn from {clients}; draw at most {clients}, or with replacement")
    check_parts(p, repeats=repeats)
    if choice is SampledWeights.SELF_NORMALISED:
        check_somebody(p)


def check_somebody(p: Weights) -> None:
    """Raise WeightError if all shares are zero, since the weights divide by their sum.

    Raises:
        WeightError: all shares are zero.
    """
    if has_values(p) and all(is_number(p_i) and not p_i > 0 for p_i in p.tolist()):
        raise WeightError(f"p: {p.tolist()} sums to 0, and w divides by the sum; one share must be positive")


@rule
def sampled_weights(p: Weights, *, clients: int, sampled_weights: SampledWeights) -> Weights:
    """Weights of the q drawn clients, from their shares p_i.

        w_i = p_i / sum over S of p_j              fednova-sampled.w
        w_i = 1 / q                                fednova-sampled.w [sampled_weights=with-replacement]
        w_i = p_i m / q                            fednova-sampled.w [sampled_weights=without-replacement]

    With m the number of all clients; with replacement S may name one twice, and be longer than m.

    Raises:
        PlanError: more clients are drawn without replacement than exist.
        WeightError: a share is outside [0, 1], the shares of distinct clients sum to more than 1, or all shares are
            zero.

    Source: FedNova, Alg. 1, line 6 (L969) and footnote 1 (L87).
    """
    check_drawn(p, clients, sampled_weights)
    if sampled_weights is SampledWeights.SELF_NORMALISED:
        return p / sum(p)
    if sampled_weights is SampledWeights.WITH_REPLACEMENT:
        return (p * 0 + 1) / len(p)
    return p * clients / len(p)


@rule
def sampled_steps(
    p: Weights, w: Weights, a_norms: Weights, *, sampled_steps: SampledSteps, tau_eff: Scalar = 1
) -> Scalar:
    """Effective number of local steps of a round with sampled clients.

        tau_eff = sum over S of w_i ||a_i||_1      fednova-sampled.tau_eff
        tau_eff = sum over S of p_i ||a_i||_1      fednova-sampled.tau_eff [sampled_steps=sum]
        tau_eff = a constant                       fednova-sampled.tau_eff [sampled_steps=fixed]

    The constant is the server's.

    Raises:
        WeightError: a share p_i is above 1.

    Source: FedNova, Alg. 1, line 6 (L969), L961 and App. G.
    """
    check_parts(p, repeats=True)
    if sampled_steps is SampledSteps.FIXED:
        return tau_eff
    steps: Scalar = sum((w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms)
    return steps


@rule
def sampled_update(x: Vector, d: Stack, w: Weights, *, tau_eff: Scalar, eta_l: Scalar) -> Vector:
    """Server step of the general rule over the drawn clients; its weights need not sum to one.

        x = x - tau_eff sum over S of w_i eta_l d_i  fednova-sampled.step

    Source: FedNova, Alg. 1, line 6 (L969), and eq. (153) (L839).
    """
    return x - tau_eff * (weigh(w, d) * eta_l)
