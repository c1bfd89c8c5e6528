"""The engines: SMT over z3 reals, identities over sympy symbols, instances over exact fractions."""
