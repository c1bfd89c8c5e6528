"""Proof engines: SMT on z3 reals, identities of sympy symbols, instances in exact fractions, and searches."""

from fedspec_proofs.engines.algebra import Statement, decide, decided
from fedspec_proofs.engines.certificate import Step, Sum, added, adds_up
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.combine import all_proved, all_refuted, by_hand
from fedspec_proofs.engines.draw import Draw, Rationals, curried, record, several
from fedspec_proofs.engines.expectation import independent, mean, signs, subsets, with_replacement
from fedspec_proofs.engines.identities import identities, identity, symbolic
from fedspec_proofs.engines.reals import Real, real, reals, roots
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.engines.smt import Formulas, Induction, every, prove

__all__ = [
    "Choose",
    "Draw",
    "Formulas",
    "Induction",
    "Inequality",
    "Rationals",
    "Real",
    "Sides",
    "Statement",
    "Step",
    "Sum",
    "added",
    "adds_up",
    "all_proved",
    "all_refuted",
    "by_hand",
    "curried",
    "decide",
    "decided",
    "every",
    "identities",
    "identity",
    "independent",
    "mean",
    "prove",
    "real",
    "reals",
    "record",
    "roots",
    "searched",
    "several",
    "signs",
    "subsets",
    "symbolic",
    "with_replacement",
]
