"""Error bounds that also cover the closed forms which papers print: these cancel digits that the direct sums keep.

With rho = 0.999 the printed norm of heavy-ball momentum subtracts numbers that agree in their first digits and divides
by (1 - rho)^2. Who writes it down as it is printed is right, and not as exact as the specification, which adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from fedspec.mixing import accumulation
from fedspec.readings import Solver
from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.edited_sessions import Form
from fedspec_suite.measure.running_error import Running

Entry: TypeAlias = Callable[[int, int, Any, Any, Any], Any]
"""Function of k, tau, alpha, rho and gamma: an entry of the accumulation vector or its sum."""

ENTRIES: dict[Solver, Entry] = {
    Solver.MOMENTUM: lambda k, tau, alpha, rho, gamma: (1 - rho ** (tau - k)) / (1 - rho),
    Solver.NESTEROV: lambda k, tau, alpha, rho, gamma: (1 - rho ** (tau - k + 1)) / (1 - rho),
    Solver.MOMENTUM_PROXIMAL_OUTSIDE: lambda k, tau, alpha, rho, gamma: (
        ((1 - alpha) ** (tau - k) - rho ** (tau - k)) / (1 - alpha - rho)
    ),
}
"""Closed forms of the accumulation vector's entries; other solvers' entries are computed as printed."""


def momentum(k: int, tau: int, alpha: Any, rho: Any, gamma: Any) -> Any:
    """||a_i||_1 of heavy-ball momentum, as in FedNova, Alg. 2, line 12 (L984)."""
    return (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)


def dampened(k: int, tau: int, alpha: Any, rho: Any, gamma: Any) -> Any:
    """||a_i||_1 of dampened momentum: 1 - rho times that of heavy-ball momentum."""
    return tau - rho * (1 - rho**tau) / (1 - rho)


def proximal(k: int, tau: int, alpha: Any, rho: Any, gamma: Any) -> Any:
    """||a_i||_1 of proximal steps, a geometric sum."""
    return (1 - (1 - alpha) ** tau) / alpha


def decayed(k: int, tau: int, alpha: Any, rho: Any, gamma: Any) -> Any:
    """||a_i||_1 of decaying rates, a geometric sum."""
    return (1 - gamma**tau) / (1 - gamma)


def of_code(tau: int, alpha: Any, rho: Any) -> Any:
    """Divisor in the code of FedNova's authors: each step adds 1 and (1 - rho^k) / (1 - rho), shrunk by 1 - alpha."""
    pull = 1 - alpha
    return sum(pull ** (tau - k) * (1 + pull * (1 - rho**k) / (1 - rho)) for k in range(1, tau + 1))


NORMS: dict[Solver, Entry] = {
    Solver.MOMENTUM: momentum,
    Solver.DAMPENED: dampened,
    Solver.PROXIMAL: proximal,
    Solver.DECAYED: decayed,
}
"""Sums of the entries in closed form, by solver."""


@cache
def with_room(form: Form) -> Form:
    """Return a copy of a form whose error bounds also cover the rounding error of the papers' closed forms."""
    return form.changed(make_room)


def make_room(names: Spaces) -> None:
    """Widen the error bounds of the accumulation vector's entries in copied namespaces."""
    if (own := names.get(accumulation.__name__)) is not None:
        own["_ENTRY"] = {solver: _widened(solver, f) for solver, f in own["_ENTRY"].items()}


def _widened(solver: Solver, entry: Entry) -> Entry:
    def at(k: int, tau: int, alpha: Any, rho: Any, gamma: Any) -> Any:
        summed = entry(k, tau, alpha, rho, gamma)
        if not isinstance(summed, Running):
            return summed
        # The first entry carries what the closed form of the sum may be off by.
        forms = [f[solver] for f in (ENTRIES, *([NORMS] if k == 0 else [])) if solver in f]
        bounds = [f(k, tau, alpha, rho, gamma).bound for f in forms if not _void(solver, alpha, rho, gamma)]
        return type(summed)(summed.value, max([summed.bound, *bounds]))

    return at


def _void(solver: Solver, alpha: Any, rho: Any, gamma: Any) -> bool:
    """True if the closed form divides by zero, so that no implementation can use it."""
    divisor = {Solver.PROXIMAL: alpha, Solver.DECAYED: 1 - gamma, Solver.MOMENTUM_PROXIMAL_OUTSIDE: 1 - alpha - rho}
    return bool(divisor.get(solver, 1 - rho) == 0)
