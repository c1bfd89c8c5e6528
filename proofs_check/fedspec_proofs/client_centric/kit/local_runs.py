"""Clients that compute from different points, and assumptions on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.algorithms.cc_fedsgd import CCFedSGD
from fedspec.algorithms.local import local_sgd
from fedspec.arith import Vector
from fedspec_proofs.client_centric.kit.problems import Clients, dip, flat, huber
from fedspec_proofs.engines import Choose, exact, mean, signs
from fedspec_proofs.kit.piecewise import Piecewise


@dataclass(frozen=True)
class Local:
    """Clients that compute from different points, and the constants that a claim gives them.

    Attributes:
        clients: the clients' objectives.
        x: x_t, the server's model.
        points: x_(t - tau_(t,i)), the model from which client i begins.
        steps: K_(t,i), the number of local steps of each client.
        eta_l, L, sigma_l2, sigma_g2: client learning rate, and the claimed smoothness, noise variance and
            heterogeneity.
    """

    clients: Clients
    x: Vector
    points: tuple[Vector, ...]
    steps: tuple[int, ...]
    eta_l: Any
    L: Any
    sigma_l2: Any
    sigma_g2: Any

    @property
    def hyper(self) -> CCFedSGD:
        """Hyper-parameters that contain the local rate of CC-Local."""
        return CCFedSGD(buffer=1, eta_l=self.eta_l, eta=exact.number(1))

    def drift(self, i: int, k: int) -> Any:
        """Drift E |x^i_k - x_(t - tau)|^2 after k steps of client i."""
        x = self.points[i]

        def apart(noise: tuple[int, ...]) -> Any:
            moved = local_sgd(self.hyper, x, self.clients.oracle(i, noise), k) - x if k else x * 0
            return moved @ moved

        return mean(apart, signs(k)) if self.clients.nu else apart(())

    def bound(self, i: int) -> Any:
        """Right side of the lemma for client i."""
        return sum(self.terms(i).values())

    def terms(self, i: int) -> dict[str, Any]:
        """Terms of the right side for client i."""
        K, g, square = self.steps[i], self.clients.gradient(self.points[i]), self.eta_l**2
        return {
            "noise": 5 * K * square * self.sigma_l2,
            "deviation": 30 * K**2 * square * self.sigma_g2,
            "gradient": 30 * K**2 * square * (g @ g),
        }


def _slope(choose: Choose, side: int) -> Piecewise:
    kind = choose.of("huber", "flat", "dip")
    if kind == "flat":
        return flat(choose.of(-side, side, 3 * side))
    if kind == "huber":
        return huber(Fraction(side), choose.of(2, 1), choose.of(1, Fraction(1, 2)))
    return dip()


def local_run(choose: Choose, apart: bool, per_client: bool) -> Local:
    """Random clients: up to three, or many with one outlier; at one point or at several."""
    crowd = choose.of(1, 1, 1, 50)
    if crowd > 1:
        clients, K = Clients((*((flat(-1),) for _ in range(crowd - 1)), (flat(crowd - 1),))), choose.of(8, 4)
    else:
        n = choose.of(1, 2, 3)
        nu = choose.of(Fraction(0), Fraction(1, 2), Fraction(2))
        clients = Clients(tuple((_slope(choose, (1, -1, 0)[i]),) for i in range(n)), nu)
        K = choose.whole(1, 3 if nu else 5)
    x = choose.array(1, low=-3, high=3, denominator=2)
    points = tuple(x + (choose.array(1, low=-1, high=1, denominator=4) if apart else 0) for _ in range(clients.n))
    steps = tuple(choose.whole(1, K) if apart and crowd == 1 else K for _ in range(clients.n))
    L = max(clients.smoothness, Fraction(1, 4))
    scale = Fraction(choose.of("1", "1", "1", "1", "1/10", "40"))
    variance = clients.per_client_variance if per_client else clients.global_variance
    true = choose.of(1, 1, 1, 0)
    return Local(
        clients,
        x,
        points,
        steps,
        scale / (8 * K * L),
        L / choose.of(1, 1, 1, 20),
        clients.local_variance * true,
        variance * choose.of(1, 1, 1, 0),
    )


ASSUMED: dict[str, Callable[[Local], bool]] = {
    "smooth": lambda r: r.clients.smoothness <= r.L,
    "local variance": lambda r: r.clients.local_variance <= r.sigma_l2,
    "rate": lambda r: 8 * max(r.steps) * r.L * r.eta_l <= 1,
}


WORDS = {
    "smooth": "assumption 1",
    "local variance": "assumption 3; the noise of a step is unbiased whatever came before",
    "rate": "eta_l <= 1 / (8 K L)",
}


AVERAGE: dict[str, Callable[[Local], bool]] = {"variance": lambda r: r.clients.global_variance <= r.sigma_g2}


EVERY: dict[str, Callable[[Local], bool]] = {"variance": lambda r: r.clients.per_client_variance <= r.sigma_g2}
