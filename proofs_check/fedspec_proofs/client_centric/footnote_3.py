"""Footnote 3: what of the bound of A_5 carries over to the other servers."""

from __future__ import annotations

from fractions import Fraction

from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.roots import OWN, PARTS, bounded_fall
from fedspec_proofs.client_centric.steps import increments
from fedspec_proofs.engines import exact
from fedspec_proofs.refutation import refutation


@claim(
    "client-centric.footnote-3",
    statement="The bound of A_5 in the proof holds for CC-FedAdam as well: A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source=Source(CLIENT_CENTRIC, "ours, about footnote 3 (L264), which says that similar results are easily had"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def footnote_3() -> Finding:
    """CC-FedAdam's v may fall, a_(t+1) - a_t is then positive, and A_5 is of the first order in Delta_t.

    A bound of another form may exist: what is refuted is this step, which uses that v_hat does not fall (L659).
    """
    eps, G, gamma, t = Fraction(1), Fraction(1), Fraction(1, 4), Fraction(1, 100)
    # v = 16 becomes 4 + 3 Delta^2 / 4, a square for this Delta.
    delta = exact.vector(4 * t / (Fraction(3, 4) - t**2))
    p, q = exact.vector(4), 2 + t * delta
    after = increments("adam", p, p, delta, gamma=gamma)
    a, a_next = 1 / (p + eps), 1 / (q + eps)
    return refutation(
        instance=f"d = 1, eps = G = eta = eta_l = 1, gamma = 1/4, v_t = 16, Delta_t = {delta[0]}, grad f(x_t) = 1",
        conditions={
            "v_t >= eps^2": all(one >= eps for one in p),
            "|Delta_t| <= eta_l G": all(abs(one) <= G for one in delta),
            "the root is that of CC-FedAdam's rule": bool(all(after == q**2)),
        },
        left=(a_next - a) @ delta,
        right=G / (4 * eps**2) * (delta @ delta),
    )


@claim(
    "client-centric.footnote-3-repaired",
    statement="The bound of A_5 carries over to CC-FedAMS: A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source=Source(CLIENT_CENTRIC, "ours: footnote 3 (L264), for CC-FedAMS only"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={**PARTS, **OWN},
    repairs="client-centric.footnote-3",
)
def footnote_3_repaired() -> Finding:
    """As for CC-FedAdagrad: all that A_5 needs of the root is that it grows, by at most |Delta_t|."""
    return bounded_fall("ams")
