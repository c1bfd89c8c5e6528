"""Footnote 4 and Remarks 4.1.1 to 4.1.3: delays, absent clients, and speed-up in the number of local steps."""

from __future__ import annotations

from typing import Any

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.plan import Arrival, Oracle, Setup
from fedspec_proofs.claim import Engine, Extent, Finding, Verdict, claim, refutation
from fedspec_proofs.client_centric.kit.family import Schedule
from fedspec_proofs.engines import Draw, Statement, decided, identities, several

TWO = Setup((1, 1), {"w": (1,)})


@claim(
    "client-centric.footnote-4",
    statement="For any other constants there is an eta_l > 0 that meets H_1 eta_l^2 + H_2 eta_l <= eps^2: every one up "
    "to 1 and eps^2 / (H_1 + H_2)",
    source="footnote 4 (L266)",
    extent=Extent.WHOLE,
    assumptions={
        "eta_l >= 0": "rates are not negative",
        "eta_l <= 1": "the rate is at most one",
        "small": "(H_1 + H_2) eta_l <= eps^2",
        "H_1 >= 0": "eta^2 L^2 tau^2 is not negative",
    },
)
@decided()
def footnote_4(draw: Draw) -> Statement:
    """The constraint is proved to be easily met only in the sense of this claim."""
    H_1, H_2, eta_l, eps = several(draw, "H_1, H_2, eta_l, eps")
    return Statement(
        {
            "eta_l >= 0": eta_l >= 0,
            "eta_l <= 1": eta_l <= 1,
            "small": (H_1 + H_2) * eta_l <= eps**2,
            "H_1 >= 0": H_1 >= 0,
        },
        {"H": H_1 * eta_l**2 + H_2 * eta_l <= eps**2},
    )


@claim(
    "client-centric.remark-4-1-1",
    statement="The delay term tau^2 / T is at most 1 / sqrt(m K T) if and only if tau <= (T / (m K))^(1/4)",
    source="Remark 4.1.1 (L268)",
    extent=Extent.WHOLE,
    assumptions={"s > 0": "s = sqrt(T)", "r > 0": "r = sqrt(m K)", "tau >= 0": "delays are not negative"},
)
@decided()
def delays_vanish(draw: Draw) -> Statement:
    """Polynomials in the roots s, r: tau^2 / s^2 <= 1 / (r s) is equivalent to tau^4 r^2 <= s^2.

    That the rate itself is not slowed is what Theorem 4.1 would give, and stands or falls with it.
    """
    s, r, tau = draw("s"), draw("r"), draw("tau")
    small, moderate = tau**2 * r <= s, tau**4 * r**2 <= s**2
    # tau^2 / s^2 <= 1 / (r s), times r s^2.
    return Statement({"s > 0": s > 0, "r > 0": r > 0, "tau >= 0": tau >= 0}, {"iff": small == moderate})


def _clients(G: Any) -> list[Oracle]:
    """(x + G)^2 and (x - G)^2."""
    return [lambda k, x: 2 * (x + G), lambda k, x: 2 * (x - G)]


def _absent(draw: Draw, K: int, heard: int) -> Any:
    """Round of CC-FedSGD that receives one client; the model's distance from G, and its claimed value."""
    G, x, eta, eta_l = draw("G"), draw("x", 1), draw("eta", positive=True), draw("eta_l", positive=True)
    h = CCFedSGD(buffer=1, eta_l=eta_l, eta=eta)
    state, _ = cc_fedsgd(h, init(h, x, TWO), _clients(G), Arrival(heard, K, 0))
    rho = 1 - eta * (1 - (1 - 2 * eta_l) ** K) / K
    return state.x - G - rho * (x - G)


def _stranded(draw: Draw) -> Any:
    """|grad f(G)|^2 and sigma_g^2 at any point, both 4 G^2."""
    G, x = draw("G"), draw("x", 1)
    grad = [sum(c(0, at) for c in _clients(G)) / 2 for at in (x * 0 + G, x)]
    apart = sum((c(0, x) - grad[1]) ** 2 for c in _clients(G)) / 2
    return [grad[0] ** 2 - 4 * G**2, apart - 4 * G**2]


@claim(
    "client-centric.remark-4-1-2",
    statement="With f_1 = (x + G)^2, f_2 = (x - G)^2 (the remark prints f_1 for both) and a first client that never "
    "comes, every round multiplies x - G by 1 - eta (1 - (1 - 2 eta_l)^K) / K, K <= 4, and at G the squared gradient "
    "of f is 4 G^2 = sigma_g^2",
    source="Remark 4.1.2 (L270)",
    sizes="K <= 4",
    assumptions={"never": "client 1 never comes"},
)
def arbitrary_participation() -> Finding:
    """CC-FedSGD, K = 1 to 4. The remark's bound with Omega(sigma_g^2) is proved neither in the paper nor here."""
    bodies = {f"K = {K}": (lambda draw, K=K: _absent(draw, K, 1)) for K in (1, 2, 3, 4)}
    return identities(
        {**bodies, "at the limit": _stranded}, without={"never": {"client 1": lambda draw: _absent(draw, 1, 0)}}
    )


@claim(
    "client-centric.remark-4-1-2-rate",
    statement="For any participation the rate is O(1 / sqrt(m K T)) + O(tau^2 / T) + O(K^2 / T) + Omega(sigma_g^2)",
    source="Remark 4.1.2 (L270), the rate",
    verdict=Verdict.UNDECIDABLE,
)
def arbitrary_rate() -> Finding:
    """The paper states the rate without a derivation."""
    return Finding(
        Verdict.UNDECIDABLE,
        "no multiple of sigma_g^2 and no conditions on the rates are printed, and no proof: as an upper bound with an "
        "unnamed constant no single run can break it; its lower half is the claim about the absent client",
    )


@claim(
    "client-centric.remark-4-1-3",
    statement="Read of runs and not of the bound, the speed-up in K says: with the rates of Corollary 4.1.1, at one "
    "T >= m K^5, the mean squared gradient with K = 4 is at most that with K = 1",
    source="ours, about Remark 4.1.3 (L272): a reading of the speed-up in K",
    engine=Engine.MOMENTS,
    verdict=Verdict.REFUTED,
)
def speedup() -> Finding:
    """Half of the clients are sampled; the sampling variance grows with the step eta eta_l, hence with K.

    The remark says that a larger K can shorten the convergence, as the bound reveals; that the bound is false is the
    claim about the corollary. With m = n nothing is contradicted. CC-FedAMS; exact moments, between bounds.
    """
    one, four = Schedule(1, 4**6), Schedule(4, 4**6)
    met = {f"K = {s.K}: {words}": holds for s in (one, four) for words, holds in s.conditions.items()}
    checked = {f"K = {s.K}: closed form = moments = every draw of 4 rounds": s.agrees() for s in (one, four)}
    return refutation(
        instance="n = 2, m = 1, f_i Huber around 1 and -1, T = 4096, eta_l = 1/64, eta = sqrt(K), eps = "
        "2, beta = 0; "
        "left: a lower bound for K = 4, right: an upper bound for K = 1",
        conditions={**met, **checked},
        left=four.bounds()[0],
        right=one.bounds()[1],
    )
