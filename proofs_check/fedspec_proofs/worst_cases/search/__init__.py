"""Search by semidefinite programs for certificates of :mod:`fedspec_proofs.worst_cases`; needs Clarabel.

Each result is rounded to fractions and checked by the question's own module, which does not import this package.
"""
