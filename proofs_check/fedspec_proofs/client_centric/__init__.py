"""Claims about "Client-Centric Federated Adaptive Optimization", in the paper's order.

Its proof writes Delta for a change that points downhill and adds it, as the specification does; its main text has the
other sign. The specification's beta1 (or beta), beta2 and tau (or eps) are the paper's beta, gamma and epsilon.
"""

MODULES = (
    "algorithms",
    "theorem",
    "remarks",
    "appendix_a",
    "descent",
    "roots",
    "drift",
    "delays",
    "late_round",
    "telescoping",
    "second_moments",
    "momentum",
    "momentum_sums",
    "participation",
    "conditions",
    "absorption",
    "starts",
    "links",
    "assembly",
    "corollary",
)
