"""Ledger of claims: verdicts on the statements of five papers, reached by running the specification's own functions.

:mod:`fedspec_proofs.ledger` has the claims, ``fedspec claims`` prints them. A claim's evidence runs the rules on z3
reals, sympy symbols or fractions; it types a formula only where the formula is the thing to be shown. Importing this
package needs neither z3 nor sympy; its ledger does.
"""
