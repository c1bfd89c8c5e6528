"""The claims of Fed-LAMB: its assumptions, its two lemmas, its theorems and the steps of their proofs."""

from __future__ import annotations

MODULES = (
    "algorithm",
    "assumptions",
    "lemma_1",
    "lemma_1_proofs",
    "lemma_2",
    "theorem_1",
    "theorem_1_floors",
    "corollary_1",
    "descent",
    "momentum_steps",
    "theorem_3",
    "theorem_3_split",
    "theorem_3_consensus",
    "key_inequality",
    "links",
    "repaired",
    "assembly",
)
"""Where the claims are, in the paper's order; what is repaired comes last."""
