"""The claims of Fed-LAMB: its assumptions, its two lemmas, its theorems and the steps of their proofs."""

from __future__ import annotations

MODULES = (
    "algorithm",
    "assumptions",
    "assumptions_phi",
    "lemma_1",
    "lemma_1_proofs",
    "lemma_2",
    "theorem_1",
    "theorem_1_floors",
    "corollary_1",
    "remarks",
    "descent",
    "momentum_steps",
    "ratio_bounds",
    "term_a1",
    "eq_16",
    "variance_steps",
    "telescoping",
    "summed_steps",
    "last_steps",
    "theorem_3",
    "theorem_3_order",
    "theorem_3_split",
    "theorem_3_consensus",
    "theorem_3_normalised",
    "theorem_3_end",
    "key_inequality",
    "repaired",
    "assembly",
)
"""Where the claims are, in the paper's order; what is repaired comes last."""
