"""Claims about FedAda2 ("Efficient Adaptive Federated Optimization"), in the order of its text and its appendices.

``statements.toml`` lists what the paper numbers. ``kit`` holds what several claims share: problems and their constants,
the right sides of the convergence bounds, inductions and their second look.
"""

MODULES = (
    "assumptions",
    "student_t",
    "normalised",
    "cauchy",
    "remorse",
    "bounded_steps",
    "sm3",
    "pseudogradients",
    "server_steps",
    "accumulators",
    "convergence",
    "descent",
    "drift",
    "derivation",
    "assembly",
    "theorem_20",
    "logarithms",
    "corollaries",
    "rates_of_decay",
    "server_adam",
    "strategies",
    "blended",
    "adams",
    "delayed_adam",
    "delayed_adagrad",
    "experiments",
)
"""Modules with claims, in the paper's order."""
