"""Assumptions 1 to 4: which of the toy problems meet them, and which do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec.arith import Vector
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import CLIENT_CENTRIC, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.kit.problems import Clients, flat, huber, through
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.expectation import mean, signs
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.kit.piecewise import Piecewise

FAR = 1000


def _clients(choose: Choose) -> tuple[Clients, Vector, Vector]:
    def slope() -> Piecewise:
        kind = choose.of("huber", "flat", "kinked")
        if kind == "flat":
            return flat(choose.whole(-3, 3))
        if kind == "huber":
            return huber(Fraction(choose.whole(-3, 3)), choose.whole(1, 3), choose.of(1, 2, Fraction(1, 2)))
        xs = sorted({choose.rational(-4, 4, 2) for _ in range(4)})
        return through(*((x, choose.rational(-3, 3, 2)) for x in xs))

    n, d = choose.whole(1, 3), choose.whole(1, 2)
    clients = Clients(tuple(tuple(slope() for _ in range(d)) for _ in range(n)), choose.of(Fraction(0), Fraction(1, 2)))
    return clients, choose.array(d, low=-8, high=8), choose.array(d, low=-8, high=8)


CONSTANTS = ("L^2", "G^2", "sigma_l^2", "sigma_g^2", "every client's sigma_g^2")


def _constants(scale: Any) -> Inequality[tuple[Clients, Vector, Vector]]:
    """All four assumptions at two random points, with the constants that the ledger's clients are given."""

    def sides(instance: tuple[Clients, Vector, Vector], spoiled: str = "") -> Any:
        clients, x, y = instance
        L2, G2, noise, apart2, each = (scale * (Fraction(9, 10) if name == spoiled else 1) for name in CONSTANTS)
        moved = x - y
        for i in range(clients.n):
            apart = clients.oracle(i)(0, x) - clients.oracle(i)(0, y)
            yield apart @ apart, L2 * clients.smoothness**2 * (moved @ moved)
            noisy = [clients.oracle(i, s)(0, x) for _, s in signs(1)]
            yield max(g @ g for g in noisy), G2 * clients.bound**2
            centre = clients.oracle(i)(0, x)
            yield (
                mean(_square, [(p, clients.oracle(i, s)(0, x) - centre) for p, s in signs(1)]),
                noise * clients.local_variance,
            )
        yield sum(clients.deviations(x)) / clients.n, apart2 * clients.global_variance
        yield max(clients.deviations(x)), each * clients.per_client_variance

    def smaller(name: str) -> Any:
        return lambda instance: sides(instance, name)

    return Inequality(_clients, {"kinks": lambda i: True}, sides, {f"{n} less a tenth": smaller(n) for n in CONSTANTS})


def _square(v: Vector) -> Any:
    return v @ v


@claim(
    "client-centric.assumption-2",
    statement="The piecewise linear clients of this ledger meet assumptions 1 to 4 everywhere, with constants read off "
    "their kinks",
    source=Source(CLIENT_CENTRIC, "ours, instances of Assumptions 1 to 4 (L203-211)"),
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    assumptions={"cut off": "gradients are constant far out"},
)
def known_constants() -> Finding:
    """Up to three clients in up to two dimensions at random points; quadratics have no G and no sigma_g."""
    found = searched(_constants(1), 1500, drop=0)
    return replace(found, dropped={"cut off": _unbounded()})


def _unbounded() -> Dropped:
    """The spec's quadratic client with H = 1, and another with H = 2, farther and farther out."""
    problem = QuadraticClients(H=exact.vector(1, 2).reshape(2, 1, 1), e=exact.vector(0, 0).reshape(2, 1))
    far = [abs(problem.clients[0](0, exact.vector(FAR**k))[0]) for k in range(1, 4)]
    apart = [
        abs((c[1](0, x) - c[0](0, x))[0]) / 2
        for c in [problem.clients]
        for x in (exact.vector(FAR), exact.vector(FAR**2))
    ]
    return Dropped(
        far == [FAR, FAR**2, FAR**3] and apart == [FAR // 2, FAR**2 // 2],
        f"quadratics x^2/2 and x^2: |grad| = |x| and deviation |x|/2 at x = {FAR}, {FAR**2}",
    )
