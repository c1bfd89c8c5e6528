"""A round of CC-FedSGD with late clients, for all smooth clients and any noise, in every dimension.

This is the descent that the proof of Theorem 4.1 sums, for a server without a preconditioner, which alone is linear:
the terms A_6 to A_8 with the delays and the drift in them. The clients begin from any older versions y_i, put in place,
so nothing is used of how the server came from them. Noise is as in :mod:`.drift`.

CC-FedAvg with changes of one age: by which factor two runs of it come closer in a step of the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.algorithms.buffered import Waiting
from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd
from fedspec.arith import Vector
from fedspec.plan import Arrival, Oracle
from fedspec_proofs.claim import Dropped, Verdict, claim
from fedspec_proofs.engines.worst_case.certificates import Case, certified
from fedspec_proofs.engines.worst_case.classes import Function, mean, smooth
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis
from fedspec_proofs.engines.worst_case.plays import Start, play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.engines.worst_case.values import Value, inner, square
from fedspec_proofs.worst_cases.outer_claims import factors

F = Fraction
ETA = 4
"""Rate of the server; it only needs eta eta_l L <= 1/2."""

NOISE, DEVIATION = square(basis("sigma_l")), square(basis("sigma_g"))


@dataclass(frozen=True)
class Late:
    """A buffer with one update from each of two clients, which took these numbers of steps from older versions."""

    steps: tuple[int, int]

    def run(self, eta_l: Any, eta: Any, noise: Any) -> Any:
        """Function that runs the round, from x and the older versions y_1, y_0."""

        def run(start: Start, clients: Sequence[Oracle]) -> list[Vector]:
            x, y = start(ORIGIN), [start(basis(f"y{i}")) for i in (0, 1)]

            def noisy(i: int) -> Oracle:
                return lambda k, z: clients[i](k, z) + start(noise(i, k))

            state = Waiting(server=x, versions=(y[1], y[0], x))
            arrivals = [Arrival(i, self.steps[i], i + 1) for i in (0, 1)]
            h = CCFedSGD(buffer=2, eta_l=eta_l, eta=eta)
            return [cc_fedsgd(h, state, [noisy(0), noisy(1)], *arrivals)[0].x]

        return run

    def problem(self, eta_l: Any, eta: Any = ETA) -> Problem:
        """Problem E f(x') - f(x) <= -eta eta_l/2 |grad f(x)|^2 + the terms of the claim, with L = 1."""
        functions = Function("F0", smooth(1)), Function("F1", smooth(1))
        drawn: list[tuple[int, int]] = []

        def noise(i: int, k: int) -> Form:
            drawn.append((i, k))
            return _noise(i, k)

        played = play(functions, self.run(eta_l, eta, noise))
        half = (F(1, 2), F(1, 2))
        local = {i: [p.g for p in f.points.values()] for i, f in enumerate(functions)}
        at = [mean(half, functions, point) for point in (ORIGIN, played.ended[0], basis("y0"), basis("y1"))]
        before, after, late = at[0], at[1], at[2:]
        given: dict[str, Value] = {}
        for i, k in drawn:
            xi = _noise(i, k)
            given[f"variance {i},{k}"] = square(xi) - NOISE
            others = [*local[1 - i], *local[i][: k + 1], before.g, *(y.g for y in late)]
            others += [_noise(j, n) for j, n in drawn if (j, n) < (i, k)]
            for number, other in enumerate(others):
                product = inner(xi, other)
                given |= {f"noise {i},{k}: {number}": product, f"noise {i},{k}: {number}, less": -product}
        for i, y in enumerate(late):
            given[f"deviation {i}"] = square(functions[i].at(y.x).g - y.g) - DEVIATION
        length, each = eta * eta_l, list(zip(self.steps, late, strict=True))
        shares = sum((F(1, K) for K in self.steps), F(0)) / 4
        terms = {
            "delays": length * (sum((square(y.x) for y in late), Value()) / 2),
            "noise in the drift": length * sum((5 * K * eta_l**2 * NOISE / 2 for K in self.steps), Value()),
            "deviation": length * sum((30 * K**2 * eta_l**2 * DEVIATION / 2 for K in self.steps), Value()),
            "gradients": length * sum((30 * K**2 * eta_l**2 * square(y.g) / 2 for K, y in each), Value()),
            "noise": length**2 * shares * NOISE,
        }
        right = sum(terms.values(), Value())
        # What the functions obey comes first, since it must add up without any of their values left.
        given = {name: q for f in functions for name, q in f.obeys().items()} | given
        claimed = after.f - before.f + length * square(before.g) / 2 - right
        return Problem(claimed, given, right, played, terms, relaxed=True)

    @property
    def largest(self) -> Fraction:
        """Largest local rate 1 / (8 K_max), at which eta eta_l <= 1/2 too."""
        return F(1, 8 * max(self.steps))

    def __str__(self) -> str:
        return f"n = 2, K = {self.steps}, eta = {ETA}"


def _noise(i: int, k: int) -> Form:
    return basis(f"noise {i},{k}")


def without() -> Mapping[str, Dropped]:
    """For each assumption, a scalar instance that violates it alone and breaks the claim; y_i = x = 0."""
    sizes = Late((2, 2))
    rest = {
        name: F(0)
        for name in ("sigma_l", "sigma_g", "y0", "y1", *(_noise(i, k).parts[0][0] for i in (0, 1) for k in (0, 1)))
    }
    made, fast = sizes.problem(sizes.largest), sizes.problem(sizes.largest, F(1000))
    steep, plain = [Parabola(F(10**4), F(1))] * 2, [Parabola(F(1), F(1))] * 2
    unlike = [Parabola(F(1), F(100)), Parabola(F(1, 2), F(-200))]
    still = [Parabola(F(1))] * 2
    one = {**rest, "noise 0,0": F(1)}
    return {
        "smooth": dropped(made, steep, but="F", words="F_i = 5000 (x - 1)^2", **rest),
        "variance": dropped(
            made, unlike, but="deviation", words="F_i = (x - 100)^2/2, (x + 200)^2/4, sigma_g = 0", **rest
        ),
        "local variance": dropped(
            made, still, but="variance", words="F_i = x^2/2, one gradient 1 too large, sigma_l = 0", **one
        ),
        "rate": dropped(fast, plain, but="", words="F_i = (x - 1)^2/2, eta = 1000", **rest),
    }


SIZES = (Late((1, 2)), Late((2, 2)), Late((2, 3)))
CASES = {
    f"{s}, eta_l in [{s.largest / 2}, {s.largest}]": Case(s.problem, s.largest / 2, s.largest, drop=s is SIZES[0])
    for s in SIZES
}
ID = "client-centric.late-round"

late_round = claim(
    ID,
    statement="CC-FedSGD, every client heard: E f(x_(t+1)) - f(x_t) <= -(eta eta_l/2) |grad f(x_t)|^2 + eta eta_l L^2 "
    "times the mean over clients of |x_t - y_i|^2 + 5 K_i eta_l^2 (sigma_l^2 + 6 K_i sigma_g^2) + 30 K_i^2 eta_l^2 "
    "|grad f(y_i)|^2, y_i = x_(t - tau_i) and any points, + eta^2 eta_l^2 L sigma_l^2 times the mean of 1/(n K_i)",
    source="ours: the round that the proof of Theorem 4.1 sums (L585-590, L699-770)",
    verdict=Verdict.CERTIFIED,
    assumptions={
        "smooth": "assumption 1",
        "local variance": "assumption 3; the noise of a step is unbiased whatever came before",
        "variance": "|grad f_i - grad f|^2 <= sigma_g^2 for every client, at y_i",
        "rate": "eta_l <= 1/(8 K_max L) and eta eta_l L <= 1/2",
    },
    sizes="; ".join(CASES) + "; L = 1, any sigma_l^2 and sigma_g^2; every dimension, whatever the delays",
)(certified(ID, CASES, without))


late = factors(
    "client-centric.late-factors",
    "Where the buffer of CC-FedAvg takes a change of every client, each begun D versions ago, a positive definite "
    "quadratic form in the difference of two runs' last D + 1 models changes by at most the number of the table in a "
    "step of the server, whatever the clients",
    "ours, about Alg. 3 (L149-181) at one delay of all",
    ("cc-fedavg",),
)
