"""Data files for Coq: the tables of worst cases, the ledger's certificates, refuted theorems.

Coq's own text is in ``proofs_check/coq``: the class of functions, the rules, the statement of a row, and the proof that
multipliers prove it. This package writes data alone, in fractions: numbers, multipliers, and the results of the
specification's rules.
"""
