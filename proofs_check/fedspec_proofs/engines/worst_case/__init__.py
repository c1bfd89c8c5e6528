"""Worst cases of a linear method over all functions of a class, in every dimension, with proofs in fractions.

A round of a linear method is linear in the model and in the gradients that it asks for. So the specification's own
functions are run on linear forms (:mod:`forms`); what is claimed is then linear in the Gram matrix of their basis and
in the values of the functions (:mod:`values`), and so are the inequalities that a class of functions obeys
(:mod:`classes`). Multipliers of those inequalities that leave a positive semidefinite matrix prove the claim
(:mod:`proof`); a semidefinite program finds them (:mod:`solving`), and the worst function with them.

Method: Drori and Teboulle (2014); Taylor, Hendrickx and Glineur (2017), whose interpolation conditions make it exact.
"""
