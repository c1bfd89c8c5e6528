"""Theorem 3 and Corollary 1, round by round, for all smooth clients and any noise in every dimension.

The bound of one round telescopes whatever the rounds before and after it are: with tau_i, a_i and tau_eff that change
from round to round, the sum of any sequence of the certified rounds is Theorem 3 as repaired, averages weighted by
tau_eff^(t), and (147) where tau_eff is one.
"""

from __future__ import annotations

from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.fednova.bounds import printed, rational
from fedspec_proofs.fednova.noisy_round import claimed
from fedspec_proofs.fednova.one_round import Sizes

RATE = "7/100"

OWN = (
    *(Sizes(steps, RATE, weights=NovaWeights.NOVA) for steps in ((1, 2), (1, 3), (2, 2), (2, 3))),
    Sizes((2, 2), RATE, Solver.MOMENTUM, of=(("rho", "1/2"),), weights=NovaWeights.NOVA),
)
"""Rounds of FedNova with its own weights w = p, all at the same rates, of which a run may be any sequence."""

any_steps = claimed(
    "fednova.theorem-3-round",
    "FedNova, w = p: E F(x') - F(x) <= eta tau_eff (-|grad F(x)|^2/4 + eta L sigma^2 A/m + 3/2 eta^2 L^2 sigma^2 B + "
    "3 eta^2 L^2 kappa^2 C) for a round from any x, in every dimension, for all clients with Lipschitz gradients and "
    "any noise, at each of the sizes and one rate for all; summed over rounds whose steps change among them, Theorem 3 "
    "as repaired for every T, and (147) where tau_eff is one",
    "Theorem 3 (L208): a round of its proof, eqs. (143)-(147) (L806-817)",
    OWN,
    printed,
    rational(1, 2),
)
