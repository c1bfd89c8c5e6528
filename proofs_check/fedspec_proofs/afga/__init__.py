"""Claims about "On the Data Heterogeneity in Adaptive Federated Learning" (AFGA, CAFGA), in the paper's order.

What they share, in ``kit``: :mod:`.network` and :mod:`.networks` (toy problems), :mod:`.constants` (theirs, exactly),
:mod:`.rounds` (exact expectations over a round), :mod:`.bounds` (both sides of the lemmas' inequalities),
:mod:`.explicit` (the theorems with every constant written out), :mod:`.paths` and :mod:`.server_inductions`.
"""

MODULES = (
    "orders",
    "reduction",
    "assumptions",
    "convergence",
    "assembly",
    "dominant",
    "table_9",
    "preliminaries",
    "clusters",
    "sequences",
    "ascent",
    "descent",
    "constraints",
    "rates",
    "drift",
    "one_step",
    "consensus",
    "spectrum",
    "distance",
    "difference",
    "sampling",
    "server",
    "changes",
    "exchange_numbers",
    "class_factors",
)
"""Modules with claims, in the paper's order."""
