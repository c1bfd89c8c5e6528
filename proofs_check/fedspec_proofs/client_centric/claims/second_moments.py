"""Second moment E |Delta_t|^2: separating noise and gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.arith import Vector
from fedspec.plan import Arrival, Setup
from fedspec_proofs.claim import Dropped, Extent, Finding, Severity, claim, refutation
from fedspec_proofs.client_centric.kit import every_size, term_sums
from fedspec_proofs.client_centric.kit.every_size import prove_each
from fedspec_proofs.client_centric.kit.problems import Clients, dip, flat, huber
from fedspec_proofs.client_centric.kit.runs import mean_gradient
from fedspec_proofs.client_centric.kit.term_sums import added_up
from fedspec_proofs.engines import Choose, Inequality, exact, independent, mean, signs
from fedspec_proofs.engines.combine import with_instances
from fedspec_proofs.kit.adding import confirmed
from fedspec_proofs.kit.piecewise import Piecewise


@dataclass(frozen=True)
class Buffer:
    """Clients of one buffer with their noise, and the constants that a claim gives them.

    Attributes:
        clients: the objectives of the buffer's clients.
        x: the model from which all clients begin.
        steps: K_(t,i), the number of local steps of each client.
        eta_l, L, sigma_l2: client learning rate, claimed smoothness, and claimed bound of the noise's variance.
    """

    clients: Clients
    x: Vector
    steps: tuple[int, ...]
    eta_l: Any
    L: Any
    sigma_l2: Any

    @property
    def hyper(self) -> CCFedSGD:
        """Hyper-parameters that contain the local rate of CC-Local."""
        return CCFedSGD(buffer=len(self.steps), eta_l=self.eta_l, eta=exact.number(1))

    @property
    def K(self) -> Fraction:
        """1 / K_t: the mean of 1 / K_(t,i) over the buffer."""
        return Fraction(sum(Fraction(1, k) for k in self.steps), len(self.steps))

    def expected(self) -> tuple[Any, Any]:
        """E |Delta_t|^2 and E |mean of the clients' mean exact gradients|^2, over all noise."""
        m, h = len(self.steps), self.hyper
        state = init(h, self.x, Setup((1,) * m, {"w": self.x.shape}))
        draws = [list(signs(k)) for k in self.steps]

        def both(noises: tuple[tuple[int, ...], ...]) -> Any:
            oracles = [self.clients.oracle(i, noises[i]) for i in range(m)]
            arrivals = [Arrival(i, self.steps[i], 0) for i in range(m)]
            sent: Any = cc_fedsgd(h, state, oracles, *arrivals)[1]["delta"]
            v: Any = sum(mean_gradient(h, self.clients, i, self.x, self.steps[i], noises[i]) for i in range(m)) / m
            return exact.vector(sent @ sent, v @ v)

        total: Vector = mean(both, independent(*draws))
        return total[0], total[1]


def _buffer(choose: Choose) -> Buffer:
    def slope() -> Piecewise:
        kind = choose.of("dip", "huber", "flat")
        return dip() if kind == "dip" else flat(1) if kind == "flat" else huber(Fraction(choose.of(0, 1)), 2)

    m = choose.whole(1, 2)
    clients = Clients(tuple((slope(),) for _ in range(m)), choose.of(Fraction(1, 2), Fraction(1), Fraction(0)))
    steps = tuple(choose.whole(1, 3 if m == 1 else 2) for _ in range(m))
    L = max(clients.smoothness, Fraction(1, 4))
    x = exact.vector(choose.of(Fraction(0), Fraction(1, 2), Fraction(2)))
    rate = 1 / (8 * max(steps) * L) * choose.of(Fraction(1), Fraction(1, 2), Fraction(40))
    return Buffer(clients, x, steps, rate, L, clients.local_variance * Fraction(choose.of("1", "1", "1", "1/4")))


ASSUMED = {
    "smooth": lambda b: b.clients.smoothness <= b.L,
    "local variance": lambda b: b.clients.local_variance <= b.sigma_l2,
    "rate": lambda b: 8 * max(b.steps) * b.L * b.eta_l <= 1,
}


def _split(noise: Fraction, signal: Fraction = Fraction(1)) -> Inequality[Buffer]:
    def sides(b: Buffer) -> Any:
        left, v = b.expected()
        yield (
            left,
            {
                "noise": b.eta_l**2 * noise * b.sigma_l2 * b.K / len(b.steps),
                "gradients": b.eta_l**2 * signal * v,
            },
        )

    return Inequality(_buffer, ASSUMED, sides)


HILL = Buffer(Clients(((dip(),),), Fraction(1)), exact.vector(0), (2,), Fraction(1, 16), Fraction(1), Fraction(1))


@claim(
    "client-centric.delta-square",
    statement="E |Delta_t|^2 <= (eta_l^2 / m) (1 / K_t) sigma_l^2 + (eta_l^2 / m^2) E |sum over S_t of the mean exact "
    "gradients|^2",
    source="E |Delta_t|^2 (L888-912)",
    severity=Severity.CONSTANT,
    assumptions={
        "smooth": "assumption 1",
        "bounded": "assumption 2",
        "local variance": "assumption 3",
        "rate": "eta_l <= 1 / (8 K L)",
    },
)
def apart() -> Finding:
    """Noise of a local step moves the points at which later gradients are evaluated, so the two are correlated.

    On a hill (f'' < 0, which the assumptions allow) noise and later gradients have the same sign. With K = 1, or with
    convex quadratics, the inequality holds.
    """
    left, v = HILL.expected()
    return refutation(
        instance="m = 1, one client with f'(x) = -x on [-1, 1] (then back to -1 and 1), x = 0, K = 2, "
        "eta_l = 1/16, "
        "noise 1 or -1; all four draws through CC-Local",
        conditions={
            "assumption 1 with L = 1, f has a minimum": ASSUMED["smooth"](HILL) and HILL.clients.bounded_below,
            "assumption 2 with G = 2": HILL.clients.bound == 2,
            "assumption 3 with sigma_l = 1": ASSUMED["local variance"](HILL),
            "eta_l <= 1 / (8 K L)": ASSUMED["rate"](HILL),
        },
        left=left,
        right=HILL.eta_l**2 * (HILL.sigma_l2 * HILL.K + v),
    )


@claim(
    "client-centric.delta-square-repaired",
    statement="E |Delta_t|^2 <= (2 eta_l^2 / m) (1 / K_t) sigma_l^2 + (2 eta_l^2 / m^2) E |sum over S_t of the mean "
    "exact gradients|^2, 1 / K_t the mean of 1 / K_(t,i) over S_t: twice the printed sum",
    source="ours: E |Delta_t|^2 (L888-912), corrected",
    extent=Extent.WHOLE,
    assumptions={
        "smooth": "assumption 1",
        "local variance": "assumption 3",
        "unbiased": "given everything before, and the noise of the other clients, noises have no mean",
        "rate": "eta_l <= 1 / (8 K L)",
    },
)
def apart_repaired() -> Finding:
    """|a + b|^2 <= 2 |a|^2 + 2 |b|^2, where a is noise of variance sigma_l^2 / (m K_t); neither rate nor L is used.

    Since noises have no mean given the others their squares add up, to at most sigma_l^2/K_(t,i) of a client. The
    search takes expectations by all signs of the noise; one or two clients, up to three steps, one dimension.
    """
    loud = Buffer(
        Clients(((flat(0),),), Fraction(1)), exact.vector(0), (2,), Fraction(1, 16), Fraction(1), Fraction(1, 4)
    )
    known = {"local variance": ("f = 0, noise 1, sigma_l^2 = 1/4", loud)}
    looked = with_instances(_split(Fraction(2), Fraction(2)), 600, known, drop=60)
    lines = prove_each(every_size.a_4, every_size.one_more_noise, sample=every_size.nearby)
    looked = replace(looked, dropped={**looked.dropped, "unbiased": _one_coin()})
    return confirmed([*lines, added_up(change=term_sums.change)], looked, 600)


def _one_coin() -> Dropped:
    """Three clients that share the noise send what one of them sends, and are granted a third of its variance."""
    one = Buffer(Clients(((flat(0),),), Fraction(1)), exact.vector(0), (1,), Fraction(1, 8), Fraction(1), Fraction(1))
    left, v = one.expected()
    right = 2 * one.eta_l**2 * (one.sigma_l2 * one.K / 3 + v)
    words = f"three clients, f = 0, share a noise of 1 or -1, K = 1, eta_l = 1/8: left side {left}, right side {right}"
    return Dropped(left > right, words)
