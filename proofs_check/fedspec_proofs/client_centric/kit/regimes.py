"""Theorem 4.1: its conditions and right side, as printed and as corrected, and random runs for the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.client_centric.kit.problems import Clients, dip, flat, huber
from fedspec_proofs.client_centric.kit.runs import Regime
from fedspec_proofs.engines import Choose, Inequality, Sides
from fedspec_proofs.kit.piecewise import Piecewise

Conditions = Mapping[str, Callable[[Regime], bool]]


def start_factors(r: Regime) -> tuple[Fraction, Fraction]:
    """Constants c_1, c_2 with c_1 eps <= sqrt(v_hat_t) + eps <= c_2 eps; 29/12 is slightly more than 1 + sqrt(2)."""
    return (Fraction(1), Fraction(2)) if r.v0 == 0 else (Fraction(2), Fraction(29, 12))


CLIENTS: Conditions = {
    "smooth": lambda r: r.clients.smoothness <= r.L and r.clients.bounded_below,
    "bounded": lambda r: r.clients.bound <= r.G,
    "local variance": lambda r: r.clients.local_variance <= r.sigma_l2,
}
ARRIVALS: Conditions = {
    "delays": lambda r: all(delay <= r.tau for row in r.delays for delay in row),
    "uniform": lambda r: r.uniform,
    "local rate": lambda r: 8 * r.K_max * r.L * r.eta_l <= 1,
    "horizon": lambda r: r.T * (r.G * r.eta_l) ** 2 <= r.eps**2,
}
PRINTED: Conditions = {
    **CLIENTS,
    "global variance": lambda r: r.clients.global_variance <= r.sigma_g2,
    **ARRIVALS,
    "delay rate": lambda r: 120 * r.L**2 * r.eps * r.tau * r.K_max**2 * r.eta_l**2 <= 1,
    "H": lambda r: H(r) <= r.eps**2,
}
"""Conditions of the theorem as printed; K_max is over all rounds and clients, since eta_l does not vary."""


def H(r: Regime) -> Fraction:
    """Left side H_1 eta_l^2 + H_2 eta_l of the printed condition."""
    H_1 = 2 * (r.eta * r.L * r.tau) ** 2
    H_2 = 4 * r.eta * r.L * r.C**2 + 6 * r.eta * r.L * r.eps + 2 * r.G * r.eps
    return H_1 * r.eta_l**2 + H_2 * r.eta_l


def printed(r: Regime) -> Fraction:
    """Right side of Theorem 4.1 as printed; the phi, which are random if K_(t,i) differ, in expectation."""
    d, eta, eta_l, eps, L, G, C = r.clients.d, r.eta, r.eta_l, r.eps, r.L, r.G, r.C
    Phi = 4 * d * G**2 * C + L * eta * eta_l * G**2 * C**2 * 4 * d / eps
    Phi_g = 240 * eta_l**2 * L**2 * r.phi(2)
    Phi_l = (
        40 * eta_l**2 * L**2 * r.phi(1)
        + (4 * eta * eta_l * L * C**2 + 6 * L * eta * eta_l + 2 * eta_l * G) / (r.m * eps) * r.phi(-1)
        + 2 * eta**2 * eta_l**2 * L**2 * r.tau**2 / (eps**2 * r.m) * r.phi(-1)
    )
    first = 8 * eps / (eta * eta_l * r.T) * r.clients.gap(r.x0)
    return first + Phi / r.T + Phi_g * r.sigma_g2 + Phi_l * r.sigma_l2


CORRECTED: Conditions = {
    **CLIENTS,
    "every client's variance": lambda r: r.clients.per_client_variance <= r.sigma_g2,
    **ARRIVALS,
    "start": lambda r: r.v0 in {0, r.eps**2},
    "delay rate": lambda r: (
        120 * start_factors(r)[1] * (r.L * r.K_max * r.eta_l) ** 2 * (r.tau + 1) <= start_factors(r)[0]
    ),
    "B": lambda r: 4 * start_factors(r)[1] * r.eta_l * B(r) <= start_factors(r)[0] ** 2 * r.eps,
}


def B(r: Regime) -> Fraction:
    """Constant B = eta L (C^2 + 3) / 2 + G + eta^2 eta_l L^2 tau^2 / (c_1 eps) of the corrected theorem."""
    c_1, _ = start_factors(r)
    return r.eta * r.L * (r.C**2 + 3) / 2 + r.G + (r.eta * r.L * r.tau) ** 2 * r.eta_l / (c_1 * r.eps)


def corrected(r: Regime, s2: Any) -> Any:
    """Right side of the corrected theorem; s2 bounds the spread of the clients' mean gradients in every round."""
    return sum(corrected_terms(r, s2).values())


def corrected_terms(r: Regime, s2: Any) -> dict[str, Any]:
    """Terms of the corrected right side."""
    (c_1, c_2), d, eta, eta_l, eps, G, C = start_factors(r), r.clients.d, r.eta, r.eta_l, r.eps, r.G, r.C
    Phi = 4 * c_2 / c_1 * d * G**2 * C + 8 * c_2 / c_1**2 * d * r.L * eta * eta_l * G**2 * C**2 / eps
    excess = Fraction(1) * (r.n - r.m) / (r.m * (r.n - 1)) if r.n != 1 else Fraction(0)
    first = 4 * c_2 * eps / (eta * eta_l * r.T) * r.clients.gap(r.x0)
    drift = 4 * c_2 / c_1 * (eta_l * r.L) ** 2 * (5 * r.phi(1) * r.sigma_l2 + 30 * r.phi(2) * r.sigma_g2)
    last = 8 * c_2 * eta_l / (c_1**2 * eps) * B(r)
    noise = last * r.phi(-1) * r.sigma_l2 / r.m
    return {"f": first, "Phi": Phi / r.T, "drift": drift, "noise": noise, "drawing": last * excess * s2}


def _slope(choose: Choose, side: int) -> Piecewise:
    kind = choose.of("huber", "huber", "flat", "dip")
    if kind == "huber":
        return huber(Fraction(side), choose.of(2, 1, 3), choose.of(1, Fraction(1, 2)))
    if kind == "flat":
        return flat(-side)
    return dip(choose.of(1, 2))


def regime(choose: Choose) -> Regime:
    """Random run: two or three clients, mostly on both sides of zero, a few rounds, constants true or too small."""
    n, d = choose.of(2, 2, 3), choose.of(1, 1, 1, 2)
    m = choose.whole(1, n)
    nu = choose.of(Fraction(0), Fraction(0), Fraction(0), Fraction(1, 2))
    slopes = tuple(tuple(_slope(choose, (1, -1, 0)[i] if j == 0 else 1) for j in range(d)) for i in range(n))
    clients = Clients(slopes, nu)
    # With noise there are many outcomes: fewer rounds and steps keep them few.
    T = 2 if nu else choose.whole(2, 3)
    most = 1 if nu and n > 2 else 2 if nu else 4
    tau = choose.of(0, 1, 2)
    steps = tuple(tuple(choose.whole(1, most) for _ in range(n)) for _ in range(T))
    delays = tuple(tuple(min(t, choose.whole(0, 2)) for _ in range(n)) for t in range(T))
    eps = choose.of(Fraction(1), Fraction(4), Fraction(1, 4))

    def constant(value: Fraction) -> Fraction:
        return value / choose.of(1, 1, 1, 1, 1, 1, 1, 8)

    return Regime(
        clients=clients,
        x0=np.array([Fraction(choose.of(0, 0, 0, 1, 3)) for _ in range(d)], dtype=object),
        server=choose.of("adagrad", "ams"),
        eta=choose.of(Fraction(1), Fraction(100), Fraction(10), Fraction(1000)),
        eta_l=choose.of(Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20), Fraction(1, 10**5)),
        eps=eps,
        beta=choose.of(Fraction(0), Fraction(0), Fraction(1, 2), Fraction(9, 10)),
        gamma=choose.of(Fraction(99, 100), Fraction(1, 2)),
        v0=choose.of(Fraction(0), Fraction(0), eps**2, eps**2, 10**8 * eps**2),
        m=m,
        steps=steps,
        delays=delays,
        tau=tau,
        uniform=choose.of(True, True, True, True, True, False),
        L=constant(clients.smoothness),
        G=constant(clients.bound),
        sigma_l2=constant(clients.local_variance),
        sigma_g2=constant(clients.per_client_variance) if choose.of(True, False) else constant(clients.global_variance),
    )


def as_corrected() -> Inequality[Regime]:
    """Inequality of the corrected theorem, on random runs."""

    def sides(r: Regime) -> Iterable[Sides]:
        terms = corrected_terms(r, r.measured[1])
        yield r.measured[0], {name: float(term) for name, term in terms.items()}

    return Inequality(regime, CORRECTED, sides)
