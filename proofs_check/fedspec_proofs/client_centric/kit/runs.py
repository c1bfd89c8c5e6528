"""Expectations over whole runs of the client-centric algorithms, by enumerating every draw of clients and noise.

Delays and numbers of local steps are fixed in advance for every round and every client, also for those who do not
take part, as the proof has them; the buffer's clients are drawn uniformly without replacement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fedspec.algorithms.buffered import Waiting
from fedspec.algorithms.cc_adaptive import CCFedAdagrad, CCFedAMS, cc_fedadagrad, cc_fedams, init_ams, init_v
from fedspec.algorithms.local import local_sgd
from fedspec.arith import Vector
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.population import downloaded
from fedspec_proofs.client_centric.kit.problems import Clients
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import signs, subsets
from fedspec_proofs.kit.recorded import Asked, recorded


@dataclass(frozen=True, kw_only=True)
class Regime:
    """Run of T rounds, with the constants that a claim gives it.

    Attributes:
        clients: the clients' objectives.
        x0: the first model.
        server: ``"adagrad"`` or ``"ams"``.
        eta, eta_l, eps, beta, gamma, v0, m: hyper-parameters by the paper's names.
        steps: K_(t,i), the local steps by round and client.
        delays: tau_(t,i), the delays by round and client.
        tau: the claimed bound of the delays.
        uniform: True if the buffer's clients are drawn uniformly; else they are always the first m.
        L, G, sigma_l2, sigma_g2: the claimed constants of the clients.
    """

    clients: Clients
    x0: Vector = field(default_factory=lambda: vector(0))
    server: str
    eta: Fraction
    eta_l: Fraction
    eps: Fraction
    beta: Fraction = Fraction(0)
    gamma: Fraction
    v0: Fraction
    m: int
    steps: tuple[tuple[int, ...], ...]
    delays: tuple[tuple[int, ...], ...]
    tau: int = 1
    uniform: bool = True
    L: Fraction
    G: Fraction
    sigma_l2: Fraction
    sigma_g2: Fraction

    @property
    def n(self) -> int:
        """Number of clients."""
        return self.clients.n

    @property
    def T(self) -> int:
        """Number of models that the mean runs over."""
        return len(self.steps)

    @property
    def K_max(self) -> int:
        """Largest number of local steps."""
        return max(max(row) for row in self.steps)

    @property
    def C(self) -> Fraction:
        """beta / (1 - beta)."""
        return self.beta / (1 - self.beta)

    def phi(self, power: int) -> Fraction:
        """Mean of K_(t,i)^power over rounds and clients: phi_1, phi_2, and phi_3 for power -1, in expectation."""
        return Fraction(sum(Fraction(K) ** power for row in self.steps for K in row), self.T * self.n)

    @cached_property
    def measured(self) -> tuple[Any, Any]:
        """Mean of E |grad f(x_t)|^2 over t, and largest E (1/n) sum_i |v_(t,i) - mean|^2, in floating point."""
        return measure(self, exact=False)


@dataclass(frozen=True)
class _Run:
    hyper: Any
    arrive: Any
    clients: Clients
    like: type

    def vector(self, values: Sequence[Any]) -> Vector:
        return np.array([self.like(v) for v in values], dtype=object if self.like is Fraction else float)


def _run(r: Regime, exact: bool) -> tuple[_Run, Waiting]:
    like: type = Fraction if exact else float
    eta, eta_l, eps, beta, gamma, v0 = (like(v) for v in (r.eta, r.eta_l, r.eps, r.beta, r.gamma, r.v0))
    setup = Setup((1,) * r.n, {"w": (r.clients.d,)})
    hyper: Any
    if r.server == "adagrad":
        hyper = CCFedAdagrad(buffer=r.m, eta_l=eta_l, eta=eta, beta1=beta, tau=eps, v0=v0)
        begin, arrive = init_v, cc_fedadagrad
    else:
        hyper = CCFedAMS(buffer=r.m, eta_l=eta_l, eta=eta, beta1=beta, beta2=gamma, eps=eps, v0=v0)
        begin, arrive = init_ams, cc_fedams  # type: ignore[assignment]
    run = _Run(hyper, arrive, r.clients if exact else r.clients.rounded(), like)
    return run, begin(hyper, run.vector(list(r.x0)), setup)


def _noise(nu: Any, K: int) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    return signs(K) if nu else iter([(Fraction(1), ())])


def _received(r: Regime, run: _Run, state: Waiting, t: int, S: Sequence[int]) -> Iterator[tuple[Fraction, Waiting]]:
    """The server after the buffer S of round t, for every draw of the noise."""
    first, *rest = S
    K, delay = r.steps[t][first], r.delays[t][first]
    # The buffer is empty when a round begins: versions do not change while it fills.
    for chance, noise in _noise(r.clients.nu, K):
        oracles: list[Oracle] = [run.clients.oracle(i, noise) for i in range(r.n)]
        after, _ = run.arrive(run.hyper, state, oracles, Arrival(first, K, delay))
        if not rest:
            yield chance, after
            continue
        for more, last in _received(r, run, after, t, rest):
            yield chance * more, last


def _rounds(r: Regime, run: _Run, state: Waiting) -> Iterator[tuple[int, Fraction, Waiting]]:
    """Every state at the beginning of a round 0 .. T-1, with the probability that it is reached."""
    stack = [(0, Fraction(1), state)]
    while stack:
        t, chance, now = stack.pop()
        yield t, chance, now
        if t == r.T - 1:
            continue
        for p, S in subsets(r.n, r.m) if r.uniform else [(Fraction(1), tuple(range(r.m)))]:
            for q, after in _received(r, run, now, t, S):
                stack.append((t + 1, chance * p * q, after))


def gradient_after(r: Regime, S: Sequence[int]) -> Vector:
    """Gradient of f, in fractions, at the model after a noiseless first round with these clients in the buffer."""
    if not S:
        return r.clients.gradient(r.x0)
    run, state = _run(replace(r, m=len(S)), exact=True)
    ((_, after),) = _received(r, run, state, 0, S)
    return run.clients.gradient(after.x)


def measure(r: Regime, *, exact: bool) -> tuple[Any, Any]:
    """Mean (1/T) sum_t E |grad f(x_t)|^2, and spread max_t E (1/n) sum_i |v_(t,i) - v_bar_t|^2."""
    run, state = _run(r, exact)
    squares, spread = run.like(0), [run.like(0)] * r.T
    for t, chance, now in _rounds(r, run, state):
        g = run.clients.gradient(now.x)
        squares += run.like(chance) * (g @ g)
        spread[t] += run.like(chance) * _spread(r, run, now, t)
    return squares / r.T, max(spread)


def _spread(r: Regime, run: _Run, now: Waiting, t: int) -> Any:
    """E (1/n) sum_i |v_i - mean of the v|^2, v_i the mean gradient of client i's steps, noises independent."""
    n, square, means = r.n, run.like(0), []
    for i in range(n):
        x_mu = downloaded(now.versions, r.delays[t][i])
        mean: Any = 0
        for chance, noise in _noise(r.clients.nu, r.steps[t][i]):
            v = mean_gradient(run.hyper, run.clients, i, x_mu, r.steps[t][i], noise)
            square += run.like(chance) * (v @ v)
            mean = mean + run.like(chance) * v
        means.append(mean)
    cross = sum(means[i] @ means[j] for i in range(n) for j in range(n) if i != j)
    return square / n - (square + cross) / n**2


def mean_gradient(h: Any, clients: Clients, i: int, x: Vector, K: int, noise: Sequence[int] = ()) -> Vector:
    """Mean v_i of the exact gradients at the points of client i's local steps."""
    asked: Asked = []
    local_sgd(h, x, recorded(clients.oracle(i, noise), asked), K)
    seen = [clients.oracle(i)(k, y) for k, y, _ in asked]
    out: Vector = sum(seen[1:], start=seen[0]) / K
    return out
