"""The local drift lemma, per client at one point."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fedspec_proofs.claim import CLIENT_CENTRIC, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric import one_client
from fedspec_proofs.client_centric.local_runs import ASSUMED, AVERAGE, EVERY, WORDS, Local, local_run
from fedspec_proofs.client_centric.problems import Clients, flat, through
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.combine import all_refuted, by_hand
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.engines.worst_case.certificates import certified
from fedspec_proofs.refutation import refutation


def _lemma(per_client: bool) -> Inequality[Local]:
    return Inequality(
        lambda choose: local_run(choose, False, per_client),
        {**ASSUMED, **(EVERY if per_client else AVERAGE)},
        lambda r: [(r.drift(i, r.steps[i] - 1), r.terms(i)) for i in {0, r.clients.n - 1}],
    )


def _crowd(n: int, K: int) -> Local:
    """n clients with constant gradients of mean zero, of which the last deviates by n - 1."""
    clients = Clients((*((flat(-1),) for _ in range(n - 1)), (flat(n - 1),)))
    x, L = exact.vector(0), Fraction(1)
    return Local(clients, x, (x,) * n, (K,) * n, 1 / (8 * K * L), L, Fraction(0), clients.global_variance)


@claim(
    "client-centric.drift",
    statement="For every client (no mean over clients is printed), E |x_(t - tau) - x^i_k|^2 <= 5 K eta_l^2 (sigma_l^2 "
    "+ 6 K sigma_g^2) + 30 K^2 eta_l^2 |grad f(x_(t - tau))|^2",
    source=Source(CLIENT_CENTRIC, "local drift, step of A_8 (L735-739)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={
        **WORDS,
        "bounded": "assumption 2",
        "variance": "assumption 4: the mean over clients of |grad f_i - grad f|^2 is at most sigma_g^2",
    },
)
def drift() -> Finding:
    """Assumption 4 bounds a mean over clients, and one of n may deviate by (n - 1) sigma_g^2 alone."""
    r = _crowd(50, 8)
    i, k = r.clients.n - 1, r.steps[0] - 1
    conditions = {WORDS.get(name, "assumption 4"): holds(r) for name, holds in {**ASSUMED, **AVERAGE}.items()}
    conditions["f has a minimum"] = r.clients.bounded_below
    conditions["assumption 2 with G = 49"] = r.clients.bound == 49
    return all_refuted(
        refutation(
            instance="n = 50, grad f_i = -1 for 49 clients and 49 for the last, so grad f = 0 and sigma_g^2 "
            f"= {r.sigma_g2}; "
            f"K = 8, k = 7, L = 1, eta_l = 1/64, the last client",
            conditions=conditions,
            left=r.drift(i, k),
            right=r.bound(i),
        ),
        searched(_lemma(False), 1200, drop=0),
    )


DRIFT = "client-centric.drift-repaired"


def _each_dropped() -> dict[str, Dropped]:
    """One instance for each assumption, which breaks that one only, and the lemma."""
    wild = Local(
        Clients(((through((Fraction(-100), Fraction(100)), (Fraction(100), Fraction(-100))),),)),
        exact.vector(1),
        (exact.vector(1),),
        (5,),
        Fraction(4),
        Fraction(1),
        Fraction(0),
        Fraction(0),
    )
    flat_one = Clients(((flat(0),),), Fraction(2))
    quiet = replace(wild, clients=flat_one, x=wild.x * 0, points=(wild.x * 0,), steps=(3,), eta_l=Fraction(1, 24))
    known = {
        "smooth": ("f'' = -1 around 0, x = 1, K = 5, eta_l = 4, L = 1/160 claimed", replace(wild, L=Fraction(1, 160))),
        "local variance": ("no gradient, noise 2, K = 3, sigma_l = 0", quiet),
        "rate": ("f'' = -1 around 0, x = 1, K = 5, eta_l = 4", wild),
        "variance": ("one of 50 deviates, as above", _crowd(50, 8)),
    }
    shown = {name: by_hand(_lemma(True), name, *one) for name, one in known.items()}
    return {name: one for name, one in shown.items() if one}


drift_repaired = claim(
    DRIFT,
    statement="The same at the last local point, after K - 1 steps, if every client deviates by at most sigma_g^2 from "
    "the mean gradient; in every dimension, for any number of clients and any noise. It is used at x_(t - tau) alone",
    source=Source(CLIENT_CENTRIC, "ours: local drift, step of A_8 (L735-739), corrected"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions={**WORDS, "variance": "|grad f_i - grad f|^2 <= sigma_g^2 for every client"},
    sizes="; ".join(one_client.CASES) + "; L = 1, which is no restriction; any sigma_l^2 and sigma_g^2",
    repairs="client-centric.drift",
)(certified(DRIFT, one_client.CASES, _each_dropped))
