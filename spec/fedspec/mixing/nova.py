"""FedNova's normalised averaging: the paper's general rule, its weights and its effective numbers of steps."""

from __future__ import annotations

from collections.abc import Sequence

from fedspec.arith import Scalar, Stack, Vector, Weights, entries, has_values, namespace, numbers
from fedspec.domains import is_number, require
from fedspec.errors import PlanError, WeightError
from fedspec.mixing.weighted import check_shares
from fedspec.population import weigh
from fedspec.readings import NovaWeights, TauEff
from fedspec.rules import rule


@rule
def normalised_gradient(delta: Vector, *, eta_l: Scalar, a_norm: Scalar) -> Vector:
    """Message of client i: the average of its gradients, weighted by a_i.

        d_i = - Delta_i / (eta_l ||a_i||_1)        fednova.d

    Raises:
        WeightError: ||a_i||_1 is not positive.

    Source: FedNova, eq. (4) and L111.
    """
    norms = [a_norm] if namespace(a_norm) is None else entries(a_norm)
    if any(is_number(a) and not a > 0 for a in norms):
        raise WeightError(f"a_norm: got {a_norm}; ||a_i||_1 is > 0 (it is tau_i for plain SGD, tau_i >= 1)")
    return -delta / (eta_l * a_norm)


@rule
def effective_steps(p: Weights, a_norms: Weights, steps: Sequence[int], choice: TauEff, fixed: Scalar = 1) -> Scalar:
    """Effective number of local steps of a round.

        tau_eff = sum_i p_i ||a_i||_1              fednova.tau_eff
        tau_eff = sum_i p_i tau_i                  fednova.tau_eff [tau_eff_choice=weighted-steps]
        tau_eff = a constant                       fednova.tau_eff [tau_eff_choice=fixed]

    The constant is the server's. Source: FedNova, eqs. (5), (12) and sec. 5.

    Raises:
        PlanError: the numbers of steps and the clients differ in number.
        WeightError: the weights p don't sum to one.
        ParameterError: the constant is not positive.
    """
    if len(steps) != len(p):
        raise PlanError(f"steps: {len(steps)} step counts for {len(p)} clients; give one for each")
    check_shares(p)
    if choice is TauEff.FIXED:
        if has_values(fixed):
            require("tau_eff", fixed)
        return fixed
    tau_eff: Scalar = sum(p * (a_norms if choice is TauEff.WEIGHTED_NORM else numbers(steps, p)))
    return tau_eff


@rule
def general_weights(p: Weights, a_norms: Weights, choice: NovaWeights) -> Weights:
    """Weights of the general rule: p itself (FedNova), or the weights that plain averaging implies.

        w_i = p_i                                  fednova.w
        w_i = p_i ||a_i||_1 / sum_j p_j ||a_j||_1  fednova.w [nova_weights=implied]

    Raises:
        WeightError: a weight p is negative, or their sum isn't one.

    Source: FedNova, eqs. (5)-(7).
    """
    check_shares(p)
    return p if choice is NovaWeights.NOVA else p * a_norms / (p @ a_norms)


@rule
def general_update(x: Vector, d: Stack, w: Weights, *, tau_eff: Scalar, eta_l: Scalar) -> Vector:
    """Server step of the general rule, of which every algorithm in the paper is an instance.

        x = x - tau_eff sum_i w_i eta_l d_i        fednova.step

    Raises:
        WeightError: a weight w is negative, or their sum isn't one.

    Source: FedNova, eq. (4).
    """
    check_shares(w)
    return x - tau_eff * (weigh(w, d) * eta_l)


@rule
def general_change(d: Stack, w: Weights, *, tau_eff: Scalar, eta_l: Scalar) -> Vector:
    """Change of the model under the general rule.

        Delta = - tau_eff sum_i w_i eta_l d_i      fednova-momentum.delta

    Raises:
        WeightError: a weight w is negative, or their sum isn't one.

    Source: FedNova, eq. (4) and L204.
    """
    check_shares(w)
    return -tau_eff * (weigh(w, d) * eta_l)
