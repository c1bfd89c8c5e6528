"""Claims about FedNova: "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization".

In ``kit`` ``settings``, ``bounds``, ``runs``, ``sampled_runs`` and ``responses`` hold what the claims share: algorithms
on quadratics, the constants of the bounds, instances for a search, and the solvers' answers to a unit gradient.
"""

from __future__ import annotations

MODULES = (
    "limits",
    "small_rate",
    "strongly_convex",
    "round_numbers",
    "best_coefficients",
    "best_rates",
    "several_rounds",
    "compressed_factors",
    "lemma_1",
    "nova",
    "assumptions",
    "theorem_1",
    "theorem_1_fedprox",
    "theorem_2",
    "theorem_3",
    "own_tau_eff",
    "accumulation",
    "descent",
    "one_round",
    "noisy_round",
    "certificate_controls",
    "drift",
    "client_drift",
    "assembly",
    "lower_bound",
    "special_cases",
    "weight_bias",
    "fedprox_norms",
    "fedprox_rate",
    "sampling",
    "lemma_5",
    "corollary_3",
    "sampled_round",
    "variance_reduction",
)
"""Modules with claims, in the paper's order as far as main text and appendices allow."""
