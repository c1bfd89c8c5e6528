"""What the kernel of Coq is given to check: the tables of worst cases, the ledger's certificates, refuted theorems.

Coq's own text is in ``proofs_check/coq``: the class of functions, the rules, what a row says, and that multipliers
prove it. Written here is data alone, in fractions: numbers, multipliers, and what the specification's rules do.
"""
