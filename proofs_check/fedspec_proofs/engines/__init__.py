"""Proof engines: SMT on z3 reals, identities of sympy symbols, instances in exact fractions, and searches."""
