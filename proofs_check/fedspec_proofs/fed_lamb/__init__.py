"""Claims about Fed-LAMB: its assumptions, its two lemmas, its theorems and the steps of their proofs."""

from __future__ import annotations

MODULES = (
    "algorithm",
    "assumptions",
    "lemma_1",
    "lemma_2",
    "theorem_1",
    "corollary_1",
    "descent",
    "theorem_3",
    "key_inequality",
    "repaired",
    "assembly",
)
"""Modules of the claims, in the paper's order; repaired claims come last."""
