"""The theorems with every constant written out, and runs to hold them to.

With p = m/n, kappa = beta1/(1 - beta1), fac = m(n-m)/(n(n-1)), H = min(I, 1/(1 - rho)), T = I(I-1)/2, C_1 = 72,

    B = eta_l G sum_(s=1)^I (p + (1-p) rho^s),  C_0 = sqrt(B^2 + eps),  C_D = eta^2 L/(2 eps) (kappa^2 + 3)
    tail = sigma^2/n + fac I sbar^2,  a_1 = I + rho^2 H,  a_2 = rho^2 H
    s_1 = rho^2 H sbar^2 + rho^2 sigma^2 + (1 + H^2 rho^2/I^2) tail,  s_2 = rho^2 (H sbar^2 + sigma^2 + H^2/I^2 tail)
    e_0 = eta_l^2 (2 I M sigma^2/N^2 + 4 I fac sbar^2/N),  e_1 = 2 p^2 I eta_l^2
    e_2 = C_1 eta_l^2 (4 L^2 eta_l^2 fac/N T + I (n-m)/(K m (n-1)))

the proof, with its steps as repaired, gives under the conditions of :meth:`Setting.small` that the mean over rounds of
E|grad f(x_r)|^2 is at most :meth:`Setting.bound`. Here it is held to runs; that it follows from the lemmas is shown in
:mod:`.assembly`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from fedspec.algorithms import cafga
from fedspec.algorithms.cafga import Cafga, State
from fedspec.arith import Array
from fedspec.mixing import topology
from fedspec.plan import Exchange, Oracle, Setup
from fedspec_proofs.afga.bounds import C_1
from fedspec_proofs.afga.rounds import draws


@dataclass(frozen=True)
class Setting:
    """A problem, an algorithm, and what is said of them; the names are those of the module's words.

    Clients are f_i(x) = sum_j 1 - cos(x_j + phi_ij), smooth with L = 1, with slopes of at most sqrt(d).

    Attributes:
        K: clusters.
        n: clients in each.
        m: how many of them are drawn.
        I: local steps.
        R: rounds.
        eta: server learning rate.
        eta_l: client learning rate.
        eps: stabiliser.
        phi: phases, one row for each client.
        nu: size of the noise, in the first coordinate.
        x: the first model.
        theta: every W_k is theta I + (1 - theta) J, so that rho = theta.
        beta1: decay of the first moment.
        beta2: decay of the second.
        told: constants that are told otherwise than they are, by name: L, G, sigma2, sbar2, sigma2_c, rho, gap.
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

    def true(self, name: str) -> float:
        """What a constant really is, or a bound of it that holds everywhere."""
        z = np.exp(1j * np.array(self.phi)).reshape(self.K, self.n, -1)
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
                return float((1 - np.cos(self.x + np.array(self.phi))).sum(axis=1).mean())

    def __getitem__(self, name: str) -> float:
        return dict(self.told).get(name, self.true(name))

    def _parts(self) -> dict[str, float]:
        I, n, m, K = self.I, self.n, self.m, self.K
        L, G, rho, sbar2, sigma2 = (self[name] for name in ("L", "G", "rho", "sbar2", "sigma2"))
        p, kappa, fac = m / n, self.beta1 / (1 - self.beta1), m * (n - m) / (n * max(n - 1, 1))
        H, T, e2 = min(I, 1 / (1 - rho)), I * (I - 1) / 2, self.eta_l**2
        tail = sigma2 / n + fac * I * sbar2
        B = self.eta_l * G * sum(p + (1 - p) * rho**s for s in range(1, I + 1))
        return {
            "p": p, "kappa": kappa, "T": T, "B": B, "C_0": sqrt(B**2 + self.eps),
            "C_D": self.eta**2 * L / (2 * self.eps) * (kappa**2 + 3),
            "a_1": I + rho**2 * H, "a_2": rho**2 * H,
            "s_1": rho**2 * H * sbar2 + rho**2 * sigma2 + (1 + H**2 * rho**2 / I**2) * tail,
            "s_2": rho**2 * (H * sbar2 + sigma2 + H**2 / I**2 * tail),
            "e_0": e2 * (2 * I * m / (K * n * n) * sigma2 + 4 * I * fac * sbar2 / (K * n)),
            "e_1": 2 * p**2 * I * e2,
            "e_2": C_1 * e2 * (4 * L**2 * e2 * fac / (K * n) * T + I * (n - m) / (K * m * max(n - 1, 1))),
        }  # fmt: skip

    def small(self) -> bool:
        """The three conditions on the learning rates."""
        q, L, step = self._parts(), self["L"], self.eta * self.eta_l * self.m / self.n
        third = 3 * L**2 * step / (4 * sqrt(self.eps)) * q["T"] * C_1 * self.eta_l**2 * q["a_1"]
        return (
            self.eta_l * 8 * self.I * L <= 1
            and q["C_D"] * q["e_1"] <= step / (4 * q["C_0"])
            and third + q["C_D"] * q["e_2"] * q["a_2"] <= step * self.I / (8 * q["C_0"])
        )

    def terms(self) -> dict[str, float]:
        """The summands of the right side, alpha = 1, by what each comes from."""
        q, L, G, sigma2_c = self._parts(), self["L"], self["G"], self["sigma2_c"]
        d, root, step = len(self.phi[0]), sqrt(self.eps), self.eta * self.eta_l * q["p"]
        kept = self.eta**2 * L * q["kappa"] ** 2 * q["B"] ** 2
        local = 3 * L**2 * step / (4 * root) * q["T"] * C_1 * self.eta_l**2
        summands = {
            "f(x_1) - f_*": self["gap"] / self.R,
            "G B d": self.eta * (1 + q["kappa"]) * G * q["B"] * d / (self.R * root),
            "kappa^2 B^2 d": kept * d / (self.eps * self.R),
            "a_1 sigma_c^2": local * q["a_1"] * sigma2_c,
            "s_1": local * q["s_1"],
            "e_0": q["C_D"] * q["e_0"],
            "e_2 a_2 sigma_c^2": q["C_D"] * q["e_2"] * q["a_2"] * sigma2_c,
            "e_2 s_2": q["C_D"] * q["e_2"] * q["s_2"],
        }
        return {name: 8 * q["C_0"] / (step * self.I) * value for name, value in summands.items()}

    def bound(self) -> float:
        """The right side, alpha = 1."""
        return sum(self.terms().values())

    @property
    def W(self) -> Array:
        """The clusters' matrices in one."""
        one = topology.blended([self.theta, 1 - self.theta], [topology.alone(self.n), topology.complete(self.n)])
        return topology.clustered([one] * self.K)

    def slope_squared(self, x: Array) -> float:
        """|grad f(x)|^2."""
        g = np.sin(x + np.array(self.phi)).mean(axis=0)
        return float(g @ g)

    def start(self) -> tuple[Cafga, State]:
        """Hyper-parameters and the first state."""
        h = Cafga(eta_l=self.eta_l, eta=self.eta, beta1=self.beta1, beta2=self.beta2, eps=self.eps)
        x = np.full(len(self.phi[0]), self.x)
        return h, cafga.init(h, x, Setup(examples=(1,) * (self.K * self.n), shapes={}))

    def step(self, state: State, senders: Any, computing: Any, noise: Callable[[int, int], float]) -> State:
        """One round, through the algorithm."""
        h, _ = self.start()
        clusters = tuple(tuple(range(k * self.n, (k + 1) * self.n)) for k in range(self.K))

        def oracle(i: int) -> Oracle:
            def slope(t: int, x: Array) -> Array:
                g: Array = np.sin(x + np.array(self.phi[i]))
                g[0] += self.nu * noise(t, i)
                return g

            return slope

        plan = Exchange(tuple(senders), tuple(map(tuple, computing)), self.W, clusters)
        return cafga.step(h, state, [oracle(i) for i in range(self.K * self.n)], plan)[0]


def _noise(coins: Mapping[Any, float]) -> Callable[[int, int], float]:
    """What fell for client i at step t; 0 where nothing did."""
    return lambda t, i: coins.get((t, i), 0.0)


def expected(s: Setting) -> float:
    """1/R sum_r E|grad f(x_r)|^2, every set and every sign of the noise in turn; for a few rounds of a few clients."""
    sets = [S for _, S in draws(s.K, s.n, s.m)]

    def following(state: State, left: int) -> float:
        here = s.slope_squared(state.x)
        if left == 1:
            return here
        values = []
        for senders, *computing in product(sets, repeat=s.I + 1):
            places = [(t, i) for t, S in enumerate(computing) for i in S]
            for coins in product((1, -1), repeat=len(places)) if s.nu else [()]:
                noise = _noise(dict(zip(places, coins, strict=False)))
                values.append(following(s.step(state, senders, computing, noise), left - 1))
        return here + sum(values) / len(values)

    return following(s.start()[1], s.R) / s.R


def sampled(s: Setting, seeds: Sequence[int]) -> float:
    """The same, as a mean over runs with sets and noise drawn; exact where nothing is drawn."""
    sets = [S for _, S in draws(s.K, s.n, s.m)]
    total = 0.0
    for seed in seeds:
        rng, state = np.random.default_rng(seed), s.start()[1]
        for _ in range(s.R):
            total += s.slope_squared(state.x)
            chosen = [sets[int(k)] for k in rng.integers(len(sets), size=s.I + 1)]
            coins = rng.choice((1.0, -1.0), size=(s.I, s.K * s.n))
            state = s.step(state, chosen[0], chosen[1:], _noise(dict(np.ndenumerate(coins))))
    return total / (s.R * len(seeds))
