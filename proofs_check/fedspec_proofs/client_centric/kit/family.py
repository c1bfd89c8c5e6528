"""Two clients, one of them sampled in each round, at the rates of Corollary 4.1.1: exact mean squared gradients.

The clients pull to 1 and to -1 (Huber, curvature 1, gradients cut off at 2), the server is CC-FedAMS with v_0 = eps^2
and beta = 0, so that v_hat never moves and the model's recursion is linear in the model and in the draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np

from fedspec.algorithms.cc_adaptive import CCFedAMS, cc_fedams, init_ams
from fedspec.arith import Vector
from fedspec.plan import Arrival, Setup
from fedspec_proofs.client_centric.kit.problems import Clients, huber
from fedspec_proofs.client_centric.kit.regimes import PRINTED, start_factors
from fedspec_proofs.client_centric.kit.runs import Regime, measure
from fedspec_proofs.engines.moments import Affine, affine, push, start

EPS = Fraction(2)
PAIR = Clients(((huber(1, 2),), (huber(-1, 2),)))


@dataclass(frozen=True)
class Schedule:
    """Rates eta_l = 1 / sqrt(T) and eta = sqrt(m K), with m = 1 and perfect squares K and T."""

    K: int
    T: int

    @property
    def eta(self) -> Any:
        """Server rate sqrt(m K)."""
        return Fraction(isqrt(self.K))

    @property
    def eta_l(self) -> Any:
        """Local rate 1 / sqrt(T)."""
        return Fraction(1, isqrt(self.T))

    @property
    def regime(self) -> Regime:
        """The first rounds as a run of at most 4 rounds, with the constants of the problem."""
        rounds = min(self.T, 4)
        return Regime(
            clients=PAIR,
            server="ams",
            eta=self.eta,
            eta_l=self.eta_l,
            eps=EPS,
            gamma=Fraction(1, 2),
            v0=EPS**2,
            m=1,
            steps=((self.K, self.K),) * rounds,
            delays=((0, 0),) * rounds,
            **PAIR.constants,
        )

    @property
    def conditions(self) -> dict[str, bool]:
        """Conditions of the corollary and of the theorem, each with True if it holds."""
        met = {
            f"the theorem's condition: {name}": holds(self.regime)
            for name, holds in PRINTED.items()
            if name != "horizon"
        }
        return {
            **met,
            "the theorem's condition: horizon": self.T * (PAIR.bound * self.eta_l) ** 2 <= EPS**2,
            "T >= m K^5": self.T >= self.K**5,
            "tau = 1 <= (T / (m K))^(1/4)": self.T >= self.K,
            "K and T are squares": self.eta**2 == self.K and self.T * self.eta_l**2 == 1,
        }

    def recursion(self) -> Affine:
        """Recursion x' = M x + N c, with the sampled client's centre c = 1 or -1, from one arrival at CC-FedAMS."""
        return self._read

    @cached_property
    def _read(self) -> Affine:
        r: Any = self.regime
        h = CCFedAMS(buffer=1, eta_l=r.eta_l, eta=r.eta, beta1=r.beta, beta2=r.gamma, eps=r.eps, v0=r.v0)

        def step(x: Vector, c: Vector) -> Vector:
            state = init_ams(h, x, Setup((1,), {"w": (1,)}))
            after, _ = cc_fedams(h, state, [lambda k, y: y - c], Arrival(0, self.K, 0))
            return after.x

        # Small arguments: within them v_hat = eps^2 is the maximum, so that the step is linear.
        def scaled(x: Vector, c: Vector) -> Vector:
            return step(x / 100, c / 100) * 100

        return affine(scaled, 1, 1)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Lower and upper bound of (1/T) sum_t E x_t^2 from x_0 = 0, where grad f(x) = x on [-1, 1].

        E x_t^2 = s (1 - rho^(2 t)) with rho = M and s = N^2 / (1 - rho^2), so the mean is s less s / T times a
        geometric sum that lies between 0 and 1 / (1 - rho^2).
        """
        a = self.recursion()
        rho, noise = a.M[0, 0], a.N[0, 0]
        s = noise**2 / (1 - rho**2)
        return s * (1 - 1 / (self.T * (1 - rho**2))), s

    @property
    def least(self) -> Fraction:
        """Lower bound of sqrt(m K T) times the mean, for every square K >= 4 and T = 4 K^5; at least K / 10.

        With u = sqrt(K) and a = N the mean is at least a / 2 - 1 / T, and a >= (1 - 1 / (4 u^3)) / (8 u^4), since
        1 - (1 - x)^K >= K x - K (K - 1) x^2 / 2. Times sqrt(m K T) = 2 u^6 that is u^2 / 8 - 1 / (32 u) - 1 / (2 u^4).
        """
        u = Fraction(self.eta)
        return u**2 / 8 - 1 / (32 * u) - 1 / (2 * u**4)

    def adagrad(self, v0: Fraction, rounds: int | None = None) -> Fraction:
        """Lower bound of (1/T) sum_t E x_t^2 for CC-FedAdagrad, whose preconditioner depends on the sampled clients.

        c_1 eps <= sqrt(v_t) + eps <= c_2 eps, so a step x + alpha (c - x) has 2 N / c_2 <= alpha <= 2 N / c_1, and
        alpha is larger where the drawn c has the sign of x (its change is then smaller): E 2 alpha x c >= 0. So
        E x_(t+1)^2 >= (1 - 2 hi + lo^2) E x_t^2 + lo^2, of which this is the mean over all rounds, or the first
        few.
        """
        c_1, c_2 = start_factors(replace(self.regime, v0=v0))
        N = Fraction(self.recursion().N[0, 0])
        hi, lo = 2 * N / c_1, 2 * N / c_2
        left = 2 * hi - lo**2
        if rounds is None:
            return lo**2 / left * (1 - 1 / (self.T * left))
        return lo**2 / left * sum((1 - (1 - left) ** t for t in range(rounds)), Fraction(0)) / rounds

    @property
    def spread(self) -> Fraction:
        """Spread (1/n) sum_i |v_i - mean|^2 of the clients' mean gradients, the same at every x in [-1, 1]."""
        return Fraction((2 * EPS * self.recursion().N[0, 0] / (self.eta * self.eta_l)) ** 2)

    def stays(self) -> bool:
        """True if v_t <= v_0 + eps^2 over all T rounds and steps stay within [-1, 1], where changes are at most 2 w."""
        N = self.recursion().N[0, 0]
        w = 2 * EPS * N / self.eta
        return bool(self.T * (2 * w) ** 2 <= EPS**2 and 2 * N <= 1)

    def agrees(self, rounds: int = 4) -> bool:
        """True if the closed form agrees with the recursion of moments, and with every draw in the specification."""
        a, r = self.recursion(), self.regime
        rho, noise = a.M[0, 0], a.N[0, 0]
        now, squares = start(np.array([Fraction(0)], dtype=object)), []
        for t in range(rounds):
            closed = noise**2 / (1 - rho**2) * (1 - rho ** (2 * t))
            if closed != now.mean[0] ** 2 + now.covariance[0, 0]:
                return False
            squares.append(closed)
            now = push(a, now, 1)
        inside = bool(rho + abs(noise) <= 1 and rho >= 0)
        first = squares[: r.T]
        return inside and bool(measure(r, exact=True)[0] == sum(first) / len(first))
