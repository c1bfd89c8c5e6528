"""Muon from all gradients of a round so far, by singular values instead of matrix products.

With M = U diag(s) V' the odd quintic a X + (b X X' + c (X X')^2) X is U diag(a s + b s^3 + c s^5) V', so that a step of
any number of iterations is a function of each s alone. A matrix of one row has one s, its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin, Gradient
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.adaptive import Numbers, Options
from fedspec_properties.closed_forms.sums import total
from fedspec_suite.measure.scenario import Scenario

ODD: dict[str, tuple[tuple[str, str, str], ...]] = {
    "jordan": (("3.4445", "-4.7750", "2.0315"),),
    "muloco": (
        ("4.0848", "-6.8946", "2.9270"),
        ("3.9505", "-6.3029", "2.6377"),
        ("3.7418", "-5.5913", "2.3037"),
        ("2.8769", "-3.1427", "1.2046"),
        ("2.8366", "-3.0525", "1.2012"),
    ),
}
"""Coefficients of s, s^3 and s^5, as printed."""

Turned = Callable[[Array, Numbers, Options], Array]
"""Function that orthogonalises the momentum matrix of a step."""


def newton_schulz(s: Any, h: Numbers, o: Options, number: Callable[[str], Any]) -> Any:
    """Apply ``ns_steps`` Newton-Schulz iterations to singular values divided by the norm."""
    known = ODD[o["coefficients"]]
    for k in range(int(h["ns_steps"])):
        a, b, c = map(number, known[min(k, len(known) - 1)])
        s = s * (a + s * s * (b + s * s * c))
    return s


def momentum_matrix(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Return the matrix to orthogonalise: a sum over the gradients, with the last counted twice for Nesterov."""
    T, rho = len(past), h["rho"]
    ahead = o["ahead"] == "nesterov"
    u: Array = total(rho ** (T - s + ahead) * g for s, g in enumerate(past, 1))
    if ahead:
        u = u + past[-1]
    return u if o["momentum"] == "sum" else (1 - rho) * u


def divisor(norm: Any, h: Numbers, o: Options) -> Any:
    """Return the norm plus eps, or the larger of the two."""
    return norm + h["eps"] if o["length"] == "plus-eps" else max(norm, h["eps"])


def by_singular_values(M: Array, h: Numbers, o: Options) -> Array:
    """Return U diag(p(s)) V' by a singular value decomposition in double precision."""
    below = divisor(float(np.sqrt((M * M).sum())), h, o)
    U, s, Vt = np.linalg.svd(M / (below or 1.0), full_matrices=False)
    return np.asarray(U * newton_schulz(s, h, o, float) @ Vt)


def longer(rows: int, columns: int, o: Options) -> float:
    """Return the scale factor of a step for a matrix of this shape."""
    wide = {"original": max(rows, columns) / columns, "spectral": rows / columns}
    return float(np.sqrt(wide.get(o["scale"], max(rows, columns) / 25)))


def models(s: Scenario, turned: Turned) -> list[Array]:
    """Return the local model after each event: the decayed start and the decayed steps."""
    h, o, sizes = s.case.hyper, s.case.options, shapes(s.case.x0)
    where = dict(zip(sizes, layers(sizes), strict=True))
    past: list[Array] = []
    start, out = flatten(s.case.x0), []
    for event in s.events:
        if isinstance(event, Begin):
            start, past = flatten(event.x), []
        elif isinstance(event, Gradient):
            past.append(flatten(event.g))
        b, x = 1 - h["eta_l"] * h["wd"], start * 1
        for t in range(1, len(past) + 1):
            u = momentum_matrix(past[:t], h, o)
            for name, at in where.items():
                r, c = sizes[name]
                step = turned(u[at].reshape(r, c), h, o).reshape(-1) * longer(r, c, o)
                x[at] = x[at] - h["eta_l"] * b ** (len(past) - t) * step
        x = x + (b ** len(past) - 1) * start
        out.append(x)
    return out
