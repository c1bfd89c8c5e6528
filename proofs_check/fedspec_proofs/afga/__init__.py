"""The claims of "On the Data Heterogeneity in Adaptive Federated Learning" (AFGA, CAFGA), in the paper's order.

Modules without claims: :mod:`.network`, :mod:`.networks`, :mod:`.constants` and :mod:`.instances` (toy problems whose
constants are known exactly), :mod:`.rounds` (exact expectations over a round), :mod:`.bounds` (both sides of the
lemmas' inequalities), :mod:`.explicit` (the theorems with every constant written out), :mod:`.paths`,
:mod:`.nonconvex` (clients that meet every assumption) and :mod:`.server_inductions`.
"""

MODULES = (
    "orders",
    "reduction",
    "assumptions",
    "convergence",
    "assembly",
    "assembly_steps",
    "dominant",
    "preliminaries",
    "clusters",
    "sequences",
    "lyapunov",
    "ascent",
    "descent",
    "constraints",
    "rates",
    "drift",
    "one_step",
    "consensus",
    "two_steps",
    "recursion",
    "powers",
    "spectrum",
    "distance",
    "difference",
    "sampling",
    "server",
    "changes",
    "maxima",
)
"""Modules with claims."""
