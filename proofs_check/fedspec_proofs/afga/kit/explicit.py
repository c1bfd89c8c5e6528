"""The theorems with every constant written out, and runs that are compared with these bounds.

With p = m/n, kappa = beta1/(1 - beta1), fac = m(n-m)/(n(n-1)), H = min(I, 1/(1 - rho)), T = I(I-1)/2, C_1 = 72,

    B = eta_l G sum_(s=1)^I (p + (1-p) rho^s),  C_0 = sqrt(B^2 + eps),  C_D = eta^2 L/(2 eps) (kappa^2 + 3)
    tail = sigma^2/n + fac I sbar^2,  a_1 = I + rho^2 H,  a_2 = rho^2 H
    s_1 = rho^2 H sbar^2 + rho^2 sigma^2 + (1 + H^2 rho^2/I^2) tail,  s_2 = rho^2 (H sbar^2 + sigma^2 + H^2/I^2 tail)
    e_0 = eta_l^2 (2 I M sigma^2/N^2 + 4 I fac sbar^2/N),  e_1 = 2 p^2 I eta_l^2
    e_2 = C_1 eta_l^2 (4 L^2 eta_l^2 fac/N T + I (n-m)/(K m (n-1)))

the proof, with its steps as repaired, gives under :func:`conditions` that the mean over rounds of E|grad f(x_r)|^2 is
at most the sum of :func:`terms`. Both are written once, over any numbers: here runs are held to them, in
:mod:`.assembly` they are what the steps add up to, on symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.algorithms import cafga
from fedspec.algorithms.cafga import Cafga, State
from fedspec.arith import Array
from fedspec.mixing import topology
from fedspec.plan import Exchange, Oracle, Setup
from fedspec_proofs.afga.kit.bounds import C_1, consensus_factors, error_factors, sources
from fedspec_proofs.afga.kit.rounds import draws


def senders(v: Any) -> Any:
    """Factor (n - m)/(K m (n - 1)) of the consensus error that sampling the senders adds."""
    return v.fac * v.n / v.m**2 / v.K


def changes(v: Any) -> tuple[Any, Any, Any, Any]:
    """Constants C_D, e_0, e_1 and e_2 of the second moment of Delta."""
    e2, N, M, p = v.eta_l**2, v.K * v.n, v.K * v.m, v.m / v.n
    C_D = v.eta**2 * v.L / (2 * v.root**2) * (v.kappa**2 + 3)
    e_0 = e2 * (2 * v.I * M * v.sigma2 / N**2 + 4 * v.I * v.fac * v.sbar2 / N)
    e_2 = v.C_1 * e2 * (4 * v.L**2 * e2 * v.fac / N * v.T + v.I * senders(v))
    return C_D, e_0, 2 * p**2 * v.I * e2, e_2


def local(v: Any) -> Any:
    """Coefficient of consensus error and drift in the bound, without their factors a_1 and s_1."""
    step = v.eta * v.eta_l * v.m / v.n
    return 3 * v.L**2 * step / (4 * v.root) * v.T * v.C_1 * v.eta_l**2


def conditions(v: Any) -> dict[str, tuple[Any, Any]]:
    """The three conditions on the learning rates, as pairs (left side, its upper limit); root is sqrt(eps)."""
    (C_D, _, e_1, e_2), step = changes(v), v.eta * v.eta_l * v.m / v.n
    return {
        "first condition": (8 * v.I * v.L * v.eta_l, 1),
        "second condition": (C_D * e_1, step / (4 * v.C_0)),
        "third condition": (v.alpha2 * (local(v) * v.a_1 + C_D * e_2 * v.a_2), step * v.I / (8 * v.C_0)),
    }


def terms(v: Any) -> dict[str, Any]:
    """Terms of the right side, by their origin."""
    C_D, e_0, _, e_2 = changes(v)
    kept = v.eta**2 * v.L * v.kappa**2 * v.B**2
    summands = {
        "f(x_1) - f_*": v.gap / v.R,
        "G B d": v.eta * (1 + v.kappa) * v.G * v.B * v.d / (v.R * v.root),
        "kappa^2 B^2 d": kept * v.d / (v.root**2 * v.R),
        "a_1 sigma_c^2": local(v) * v.a_1 * v.sigma2_c,
        "s_1": local(v) * v.s_1,
        "e_0": C_D * e_0,
        "e_2 a_2 sigma_c^2": C_D * e_2 * v.a_2 * v.sigma2_c,
        "e_2 s_2": C_D * e_2 * v.s_2,
    }
    step = v.eta * v.eta_l * v.m / v.n
    return {name: 8 * v.C_0 / (step * v.I) * value for name, value in summands.items()}


@dataclass(frozen=True)
class Setting:
    """A problem, an algorithm's parameters, and the constants that the theorem is given, named as in the module's text.

    Clients are f_i(x) = sum_j 1 - cos(x_j + phi_ij), smooth with L = 1, with slopes of at most sqrt(d).

    Attributes:
        K: number of clusters.
        n: number of clients in each cluster.
        m: number of drawn clients.
        I: number of local steps.
        R: number of rounds.
        eta: server learning rate.
        eta_l: client learning rate.
        eps: stabiliser.
        phi: phases, one row for each client.
        nu: size of the noise, in the first coordinate.
        x: the first model.
        theta: every W_k is theta I + (1 - theta) J, so that rho = theta.
        beta1: decay of the first moment.
        beta2: decay of the second moment.
        told: constants that the theorem is given with another than their true value, by name: L, G, sigma2, sbar2,
            sigma2_c, rho, gap.
        law: "": sampling and noise as in the theorems; "biased": the noise is always nu; "shared": one coin flip for
            all clients; "first": the drawn clients are always the first m of a cluster.
        v_hat: initial value of the server's v_hat.
    """

    K: int
    n: int
    m: int
    I: int
    R: int
    eta: float
    eta_l: float
    eps: float
    phi: tuple[tuple[float, ...], ...]
    nu: float = 0.0
    x: float = 1.5
    theta: float = 0.0
    beta1: float = 0.0
    beta2: float = 0.0
    told: tuple[tuple[str, float], ...] = ()
    law: str = ""
    v_hat: float = 0.0

    def true(self, name: str) -> float:
        """True value of a constant, or an upper bound of it that holds everywhere."""
        z = np.exp(1j * self.angles).reshape(self.K, self.n, -1)
        centres = z.mean(axis=1)
        d = z.shape[-1]
        match name:
            case "L":
                return 1.0
            case "G":
                return sqrt(d) + self.nu
            case "sigma2":
                return self.nu**2
            case "sbar2":
                # |Im(e^(ix) (z_i - zbar))| <= |z_i - zbar|, for every x.
                return float((abs(z - centres[:, None]) ** 2).sum(axis=(1, 2)).mean() / self.n)
            case "sigma2_c":
                return float((abs(centres - centres.mean(axis=0)) ** 2).sum(axis=1).mean())
            case "rho":
                return self.theta if self.n > 1 else 0.0
            case _:
                # f >= 0, so f(x_1) - f_* <= f(x_1).
                return float((1 - np.cos(self.x + self.angles)).sum(axis=1).mean())

    def __getitem__(self, name: str) -> float:
        return dict(self.told).get(name, self.true(name))

    @property
    def numbers(self) -> Any:
        """Arguments for :func:`terms` and :func:`conditions`, with alpha = 1."""
        v = SimpleNamespace(**{name: getattr(self, name) for name in ("K", "n", "m", "I", "R", "eta", "eta_l")})
        for name in ("L", "G", "sigma2", "sbar2", "sigma2_c", "gap"):
            setattr(v, name, self[name])
        v.rho, v.root, v.d, v.C_1, v.alpha2 = self["rho"], sqrt(self.eps), len(self.phi[0]), C_1, 1
        v.kappa, v.fac = self.beta1 / (1 - self.beta1), v.m * (v.n - v.m) / (v.n * max(v.n - 1, 1))
        p, H, v.T = v.m / v.n, min(v.I, 1 / (1 - v.rho)), v.I * (v.I - 1) / 2
        v.B = v.eta_l * v.G * sum(p + (1 - p) * v.rho**s for s in range(1, v.I + 1))
        v.C_0 = sqrt(v.B**2 + self.eps)
        both, inner = error_factors(v.I, v.rho**2, H), consensus_factors(v.I, v.rho**2, H)
        given = sources(v)
        v.a_1, v.s_1 = both["gradients"], sum(both[name] * value for name, value in given.items())
        v.a_2, v.s_2 = inner["gradients"], sum(inner[name] * value for name, value in given.items())
        return v

    def small(self) -> bool:
        """True if the three conditions on the learning rates hold."""
        return all(low <= high for low, high in conditions(self.numbers).values())

    def terms(self) -> dict[str, float]:
        """Terms of the right side."""
        return terms(self.numbers)

    def bound(self) -> float:
        """Right side of the theorem: the sum of its terms."""
        return sum(self.terms().values())

    @cached_property
    def W(self) -> Array:
        """Mixing matrix of all clients, block diagonal by cluster."""
        one = topology.blended([self.theta, 1 - self.theta], [topology.alone(self.n), topology.complete(self.n)])
        return topology.clustered([one] * self.K)

    @cached_property
    def angles(self) -> Array:
        """Phases phi as an array."""
        return np.array(self.phi)

    @cached_property
    def hyper(self) -> Cafga:
        """Hyper-parameters as the algorithm's record."""
        return Cafga(eta_l=self.eta_l, eta=self.eta, beta1=self.beta1, beta2=self.beta2, eps=self.eps)

    def start(self) -> State:
        """Initial state."""
        x = np.full(len(self.phi[0]), self.x)
        state = cafga.init(self.hyper, x, Setup(examples=(1,) * (self.K * self.n), shapes={}))
        return replace(state, server=replace(state.server, v_hat=state.server.v_hat + self.v_hat))

    def step(self, state: State, senders: Any, computing: Any, coins: Array) -> State:
        """Run one round of the algorithm; the noise of client i at step t is nu times ``coins[t, i]``."""
        clusters = tuple(tuple(range(k * self.n, (k + 1) * self.n)) for k in range(self.K))

        def oracle(i: int) -> Oracle:
            def slope(t: int, x: Array) -> Array:
                g: Array = np.sin(x + self.angles[i])
                g[0] += self.nu * coins[t, i]
                return g

            return slope

        plan = Exchange(tuple(senders), tuple(map(tuple, computing)), self.W, clusters)
        return cafga.step(self.hyper, state, [oracle(i) for i in range(self.K * self.n)], plan)[0]


def sampled(s: Setting) -> float:
    """Mean over rounds of |grad f(x_r)|^2 in one run, with sampled clients and noise; exact if nothing is random."""
    sets = [tuple(k * s.n + i for k in range(s.K) for i in range(s.m))] if s.law == "first" else []
    sets = sets or [S for _, S in draws(s.K, s.n, s.m)]
    rng, state, total = np.random.default_rng(0), s.start(), 0.0
    for _ in range(s.R):
        g = np.sin(state.x + s.angles).mean(axis=0)
        total += float(g @ g)
        senders, *computing = (sets[int(k)] for k in rng.integers(len(sets), size=s.I + 1))
        coins = rng.choice((1.0, -1.0), size=(s.I, s.K * s.n))
        if s.law in ("biased", "shared"):
            coins = coins * 0 + (1.0 if s.law == "biased" else coins[:, :1])
        state = s.step(state, senders, computing, coins)
    return total / s.R
