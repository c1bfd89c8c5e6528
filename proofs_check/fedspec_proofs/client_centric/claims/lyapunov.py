"""Equation (4): the sequence z_t = x_t + C (x_t - x_(t-1)) and how it moves."""

from __future__ import annotations

from typing import Any

from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Extent, Finding, Source, Verdict, claim, false
from fedspec_proofs.client_centric.kit.steps import rooted
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities

SERVERS = ("adagrad", "adam", "ams")


def _moves(server: str, *, C: str = "beta / (1 - beta)", sign: int = 1, fresh: bool = False) -> Body:
    """z_(t+1) - z_t over two steps of a server's rule, less what the paper says it is; two coordinates."""

    def body(draw: Draw) -> Any:
        x, m, now, then = draw("x", 2), draw("m", 2), draw("Delta", 2), draw("Delta_before", 2)
        p, q = draw("p", 2, positive=True), draw("q", 2, positive=True)
        eta, eps = draw("eta", positive=True), draw("eps", positive=True)
        beta, other = (b / (1 + b) for b in (draw("b", positive=True), draw("c", positive=True)))
        own = {"eta": eta, "eps": eps}
        first = rooted(server, x, m, then, p, beta=beta, **own)
        # Another momentum in the second step is what "the same beta" excludes.
        second = rooted(server, first.x, first.m, now, q, beta=other if fresh else beta, **own)
        c = beta / (1 - beta) if C == "beta / (1 - beta)" else beta
        z, z_next = first.x + c * (first.x - x), second.x + c * (second.x - first.x)
        a, a_next = 1 / (p + eps), 1 / (q + eps)
        return z_next - z - eta * a_next * now + sign * eta * c * (a - a_next) * first.m

    return body


@claim(
    "client-centric.eq-4",
    statement="z_(t+1) - z_t = eta a_(t+1) Delta_t - eta C (a_t - a_(t+1)) d_t, a_t = 1 / (sqrt(v_hat_t) + eps) and "
    "C = beta / (1 - beta), coordinate by coordinate",
    source=Source(CLIENT_CENTRIC, "eq. (4) (L560-583)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={"one beta": "beta does not change"},
)
def moves() -> Finding:
    """Two steps of each adaptive server, from any state, with any roots; Adam and AMSGrad at gamma = 1/2.

    Nothing is used of how the second moment grows: the roots of both steps are free variables.
    """
    return identities(
        {server: _moves(server) for server in SERVERS}, without={"one beta": {"adagrad": _moves("adagrad", fresh=True)}}
    )


@false(
    "client-centric.eq-4-sign",
    of=moves,
    statement="z_(t+1) - z_t = eta a_(t+1) Delta_t + eta C (a_t - a_(t+1)) d_t",
)
def moves_sign() -> Finding:
    """The second term with the other sign."""
    return identities({"adagrad": _moves("adagrad", sign=-1)})
