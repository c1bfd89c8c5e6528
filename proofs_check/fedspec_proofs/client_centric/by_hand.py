"""Runs of two clients put together by hand: they break Theorem 4.1, or one of its assumptions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.client_centric.problems import Clients, huber
from fedspec_proofs.client_centric.runs import Regime


def two_clients(v0: int, eta_l: Fraction, m: int = 1) -> Regime:
    """Two clients that pull to 1 and to -1, of which each round hears one; the run begins at the minimum of f."""
    clients = Clients(((huber(1, 2),), (huber(-1, 2),)))
    return Regime(
        clients=clients,
        x0=np.array([Fraction(0)], dtype=object),
        server="adagrad",
        eta=Fraction(50),
        eta_l=eta_l,
        eps=Fraction(1),
        beta=Fraction(0),
        gamma=Fraction(0),
        v0=Fraction(v0),
        m=m,
        steps=((1, 1), (1, 1)),
        delays=((0, 0), (0, 0)),
        tau=1,
        uniform=True,
        L=clients.smoothness,
        G=clients.bound,
        sigma_l2=clients.local_variance,
        sigma_g2=clients.global_variance,
    )


def long(
    r: Regime,
    T: int,
    at: tuple[int, int],
    *,
    x0: Fraction | int,
    K: tuple[int, int] = (1, 1),
    delay: int = 0,
    nu: Fraction | int = 0,
    **changed: Any,
) -> Regime:
    """The same kind of run, longer: two Huber clients that pull to the given points."""
    clients = Clients(tuple((huber(c, 2),) for c in at), Fraction(nu))
    rows = tuple((min(t, delay),) * 2 for t in range(T))
    own = {"G": clients.bound, "sigma_l2": clients.local_variance, "sigma_g2": clients.per_client_variance}
    return replace(
        r, clients=clients, x0=np.array([Fraction(x0)], dtype=object), steps=(K,) * T, delays=rows, **{**own, **changed}
    )


def unlike() -> tuple[str, Regime]:
    """Clients that differ, in numbers of steps too, and are said not to."""
    both = two_clients(0, Fraction(1, 1000), m=2)
    return "K = (1, 4), c = (1, -1), T = 2, sigma_g = 0", long(both, 2, (1, -1), x0=0, K=(1, 4), sigma_g2=Fraction(0))


def swings() -> tuple[str, Regime]:
    """A server rate at which the run does not settle."""
    both = two_clients(0, Fraction(1, 1000), m=2)
    r = long(both, 60, (0, 0), x0=Fraction(1, 100), eta=Fraction(5000), tau=0)
    return "eta = 5000, eta_l = 1/1000, one quadratic, x_0 = 1/100, T = 60", r


def broken_by_hand() -> dict[str, tuple[str, Regime]]:
    """Runs that break one of the assumptions that both forms of the theorem make, and the bound."""
    both = two_clients(0, Fraction(1, 1000), m=2)
    late = long(both, 400, (0, 0), x0=Fraction(1, 100), delay=30, eta=Fraction(80), tau=0)
    return {
        "smooth": (
            "K = (1, 4), c = (1, -1), T = 2, L = 1e-6",
            long(both, 2, (1, -1), x0=0, K=(1, 4), L=Fraction(1, 10**6)),
        ),
        "local variance": (
            "twice the same client at its minimum, noise 1/2, sigma_l = 0",
            long(both, 2, (0, 0), x0=0, nu=Fraction(1, 2), sigma_l2=Fraction(0)),
        ),
        "bounded": (
            "grad f(x) = x / 100 cut off at 2, x_0 = 560, eta = 5, eta_l = 1/2, T = 1000, G = 1/1000",
            far(1000, 560, Fraction(1, 2), G=Fraction(1, 1000)),
        ),
        "delays": ("eta = 80, eta_l = 1/1000, every delay 30, tau = 0, x_0 = 1/100, T = 400", late),
    }


def broken_corrections() -> dict[str, tuple[str, Regime]]:
    """The same for what the corrected theorem assumes besides."""
    alone = two_clients(0, Fraction(1, 10**5), m=1)
    return {
        "uniform": (
            "c = (1, -1), the second client never heard, eta = 1000, eta_l = 1e-5, T = 500",
            long(alone, 500, (1, -1), x0=0, eta=Fraction(1000), uniform=False, tau=0),
        ),
        "every client's variance": unlike(),
        "start": (
            "v_0 = 1e8, one quadratic, x_0 = 1, eta = 200, eta_l = 1/1000, T = 60",
            long(two_clients(10**8, Fraction(1, 1000), m=2), 60, (0, 0), x0=1, eta=Fraction(200), tau=0),
        ),
        "B": swings(),
    }


def far(T: int, x0: int, eta_l: Fraction, **changed: Any) -> Regime:
    """Two equal clients far out, where their gradients are 2: v grows, and the run slows down, for all T rounds."""
    r = long(two_clients(0, eta_l, m=2), T, (0, 0), x0=x0, eta=Fraction(5), tau=0)
    clients = Clients(((huber(0, 2, Fraction(1, 100)),),) * 2)
    return replace(r, clients=clients, L=clients.smoothness, **changed)
