"""What semidefinite programs find for the questions of :mod:`fedspec_proofs.worst_cases`; needs Clarabel.

Whatever is found is rounded to fractions and checked by the question's own module, which knows nothing of this package.
"""
