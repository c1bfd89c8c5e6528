"""What the paper says beside its theorems: the linear speed-up, and its experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.fednova.bounds import Constants, theorem_1


def _leading(draw: Draw, *, spread: bool = False) -> Iterable[Any]:
    """The first two terms of (8) at m and T less those at gamma m and T / gamma."""
    m, T, eta, L, A, steps = (draw(n, positive=True) for n in ("m", "T", "eta", "L", "A", "tau_eff"))
    gap, sigma2, gamma = (draw(n, positive=True) for n in ("gap", "sigma2", "gamma"))

    def terms(m: Any, T: Any, A: Any, eta: Any) -> Any:
        c = Constants(A, 0, 0, steps)
        return theorem_1(c, gap=gap, eta=eta, L=L, sigma2=sigma2, kappa2=0, m=m, T=T)

    # eta = sqrt(m / (tau_bar T)) is gamma times as large at gamma m and T / gamma.
    yield terms(m, T, A, eta) - terms(gamma * m, T / gamma, gamma * A if spread else A, gamma * eta)


@claim(
    "fednova.linear-speed-up",
    statement="With gamma times as many clients the first two terms of (8) are what they were after T / gamma rounds",
    source=Source(FEDNOVA, "linear speed-up (L192)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"spread": "A, tau_bar, tau_eff, the gap and sigma^2 are the same with more clients"},
)
def speed_up() -> Finding:
    """A = 1 for FedAvg with equal sizes, but m times the largest p_i where one client has nearly everything; without
    the assumption A grows with m. That these terms dominate takes T large, which nothing here shows."""
    return identities(
        {"two terms": _leading}, without={"spread": {"A grows": lambda draw: _leading(draw, spread=True)}}
    )


@claim(
    "fednova.experiments",
    statement="FedNova is 6 to 9 percent more accurate than FedAvg on CIFAR-10 split unevenly, and needs about half "
    "the rounds",
    source=Source(FEDNOVA, "Table 1 (L225) and sec. 6"),
    engine=Engine.EXACT,
    verdict=Verdict.UNDECIDABLE,
)
def experiments() -> Finding:
    """Nothing that runs here decides it."""
    return Finding(
        Verdict.UNDECIDABLE,
        "accuracies of trained networks: data, seeds, the factor by which the rate decays and the sampling law are not "
        "printed, and no statement about the algorithm follows from them",
    )
