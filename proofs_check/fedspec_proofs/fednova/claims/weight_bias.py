"""Distance of FedProx's weights w from p, chi^2(p||w), as a function of alpha."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import general_weights
from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.claim import Extent, Finding, claim
from fedspec_proofs.engines import Draw, Statement, all_proved, curried, decide, every, several
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.kit.bounds import chi_squared, rational
from fedspec_proofs.fednova.kit.responses import shares

# How far w is from p: chi^2 = sum over pairs of p_i p_j (q + 1/q - 2), q >= 1 the ratio of the norms.


def _pairs(draw: Draw, m: int, *, sums: bool = True) -> Iterable[Any]:
    p, a = (shares(draw, m) if sums else draw("p", m, positive=True)), draw("A", m, positive=True)
    parts = sum(p[i] * p[j] * (a[i] / a[j] + a[j] / a[i] - 2) for j in range(m) for i in range(j))
    yield chi_squared(p, general_weights(p, a, NovaWeights.IMPLIED)) - parts


@claim(
    "fednova.chi-by-pairs",
    statement="chi^2(p||w) is the sum over pairs of clients of p_i p_j (q + 1/q - 2), q = ||a_j||_1 / ||a_i||_1",
    source="ours, for the chi^2 of Theorem 2 (L175) with the w of eq. (6) (L116)",
    sizes="two, three, four clients",
    assumptions={"sums": "the p_i sum to one"},
)
def by_pairs() -> Finding:
    """Proof for two to four clients. chi^2 grows with every ratio q >= 1 of a larger norm to a smaller one."""
    bodies: Mapping[str, Body] = {f"m = {m}": partial(_pairs, m=m) for m in (2, 3, 4)}
    return identities(bodies, without={"sums": {"m = 2": lambda draw: _pairs(draw, 2, sums=False)}}, instances=10)


@curried
def _ratios(draw: Draw, longest: int) -> Statement:
    """The ratio of the norms for more and for fewer steps falls with alpha, and is at least one."""
    small, large = draw("small"), draw("large")
    shown = {}
    for n in range(2, longest + 1):
        for m in range(1, n):
            shown[f"tau = {n} over {m}"] = _prox(n, small) * _prox(m, large) >= _prox(n, large) * _prox(m, small)
    return Statement({"order": every(small >= 0, small <= large), "one": large <= 1}, shown)


def _prox(n: int, alpha: Any) -> Any:
    return a_norm(Solver.PROXIMAL, n, alpha=alpha)


def _geometric(draw: Draw) -> Statement:
    """A further step, with b = 1 - alpha >= c = 1 - alpha'.

    N, M are 1 + b + ... + b^(n-1) and the same of c, B, C are b^n and c^n; low_N, low_M are those sums for fewer steps.
    """
    b, c, N, M, B, C, low_N, low_M = several(draw, "b, c, N, M, B, C, low_N, low_M")
    so_far = [N >= M, M > 0, B >= C, C >= 0, B * M >= C * N, low_N > 0, low_M > 0, N * low_M >= M * low_N]
    return Statement(
        {"order": b >= c, "one": c >= 0, "so far": every(*so_far)},
        {
            "the norms": N + B >= M + C,
            "their ratios": (N + B) * low_M >= (M + C) * low_N,
            "again": every(b * B >= c * C, b * B * (M + C) >= c * C * (N + B)),
        },
    )


def _geometric_sample(rng: np.random.Generator) -> dict[str, Fraction]:
    c, b = sorted(rational(int(n), 16) for n in rng.integers(0, 17, size=2))
    low, n = sorted(int(k) for k in rng.integers(1, 6, size=2))
    N, M, low_N, low_M = (sum((x**j for j in range(k)), rational(0)) for k in (n, low) for x in (b, c))
    return {"b": b, "c": c, "N": N, "M": M, "B": b**n, "C": c**n, "low_N": low_N, "low_M": low_M}


def _added(draw: Draw) -> Iterable[Any]:
    """Addition of one more step to the rule's ||a||_1: (1-alpha)^n."""
    alpha = draw("alpha")
    for n in range(1, 7):
        yield _prox(n + 1, alpha) - _prox(n, alpha) - (1 - alpha) ** n


def _grows(draw: Draw) -> Statement:
    """q + 1/q - 2 grows with q from 1 on."""
    q, larger = draw("q"), draw("larger")
    given = every(q >= 1, larger >= q)
    return Statement({"q >= 1": given}, {"q + 1/q": (larger + 1 / larger) >= (q + 1 / q)})


@claim(
    "fednova.chi-falls-with-alpha",
    statement="FedProx: as alpha grows from 0 to 1, chi^2(p||w) does not grow, whatever the tau_i",
    source="the words after eq. (7) (L126) and the effect of mu (L185)",
    sizes="two, three, four clients",
    assumptions={"order": "0 <= alpha <= alpha'", "one": "alpha' <= 1"},
)
def falls() -> Finding:
    """Proof: ||a||_1 for n steps over that for fewer falls with alpha, for every n by induction.

    It starts at one step, where N = M = 1, and for the ratio at n = the fewer steps, where it is 1. chi^2 is a sum over
    pairs of clients that grows with each ratio (``fednova.chi-by-pairs``, which has the numbers of clients). Beside it
    the rule's own norms up to tau = 4.
    """
    parts = {
        "tau <= 4": decide(_ratios(4)),
        "from n to n + 1 steps": decide(_geometric, sample=_geometric_sample, ablate=False),
        "what a step adds": identities({"n <= 6": _added}),
        "chi^2 grows with a ratio": decide(_grows, ablate=False),
    }
    return all_proved(parts, ("order", "one"))


@claim(
    "fednova.tau-eff-falls-with-alpha",
    statement="FedProx: as alpha grows from 0 to 1, every ||a_i||_1 falls from tau_i to 1, and with them tau_eff, "
    "their mean with the weights p_i",
    source="the words after eq. (7) (L126) and the effect of mu (L185)",
    extent=Extent.WHOLE,
    assumptions={"order": "0 <= alpha <= alpha'", "one": "alpha' <= 1"},
)
def shorter() -> Finding:
    """Proof for every number of steps by induction; the rule's own norms, and both ends, up to tau = 4."""

    def body(draw: Draw) -> Statement:
        whole = _ratios(2)(draw)
        shown = {f"tau = {n}": _prox(n, draw("large")) <= _prox(n, draw("small")) for n in (2, 3, 4)}
        ends = {f"at 0, tau = {n}": _prox(n, draw("large") * 0) == n for n in (2, 3, 4)}
        ends |= {f"at 1, tau = {n}": _prox(n, draw("large") * 0 + 1) == 1 for n in (2, 3, 4)}
        return Statement(whole.given, {**shown, **ends})

    parts = {
        "tau <= 4": decide(body),
        "from n to n + 1 steps": decide(_geometric, sample=_geometric_sample, ablate=False),
        "what a step adds": identities({"n <= 6": _added}),
    }
    return all_proved(parts, ("order", "one"))
