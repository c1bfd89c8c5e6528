"""The repaired Lemma 1 for any number of local steps, in layers of one coordinate, by SMT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.client.lamb import layer_step
from fedspec.mixing.periodic import model_mean
from fedspec.readings import Phi
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fed_lamb.shared import at, within

STEP = {
    "reach": "the model is at most alpha t from the start, as it is for t = 0",
    "alpha >= 0": "the rate is not negative",
}


def _step(draw: Draw) -> Statement:
    """phi = 1, which another constant makes a factor of alpha; reach is alpha t; p may hold lam x."""
    x, start, p, alpha, reach = draw("x", 1), draw("start"), draw("p", 1), draw("alpha"), draw("reach")
    after = layer_step(x, p, eta_l=alpha, phi=Phi.CONSTANT)[0]
    holds = (within(x[0] - start, reach), alpha >= 0)
    return Statement(dict(zip(STEP, holds, strict=True)), {"again": within(after - start, reach + alpha)})


@claim(
    "fed-lamb.lemma-1-induction",
    statement="|x_(r,i)^(l,t) - x_(r-1)^l| <= alpha phi_M t after any number t of local steps, any p and lam >= 0",
    source=at("ours, about Lemma 1 (L198)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="layers of one coordinate, phi = 1",
    assumptions=STEP,
)
def induction() -> Finding:
    """One step of the rule from any model within alpha t; in words the triangle inequality for any layer."""
    return decide(_step, timeout_ms=5000)


REACH = {"reach": "no client is farther from the round's start than alpha phi_M T"}


def _apart(draw: Draw, form: str) -> Statement:
    """Three clients, one coordinate; s are their places from the round's start. One form in a query: both are slow."""
    s, reach = draw("s", 3), draw("reach")
    mean = (s[0] + s[1] + s[2]) / 3
    # 2 (1 - 1/n) = 4/3.
    far = every(*(within(a - mean, 4 * reach / 3) for a in s))
    spread = (s - mean) @ (s - mean) / 3
    given = {"reach": every(*(within(a, reach) for a in s))}
    return Statement(given, {form: {"average": far, "variance": spread <= reach * reach}[form]})


@claim(
    "fed-lamb.lemma-1-three-clients",
    statement="Both forms about the mean, 4 (1 - 1/n)^2 for one client and 1 for the mean square, from the reach alone",
    source=at("ours, about Lemma 1 (L198)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 3 clients, layers of one coordinate",
    assumptions=REACH,
)
def three() -> Finding:
    """With fed-lamb.lemma-1-induction, for any number of local steps."""
    average, variance = (decide(partial(_apart, form=form), timeout_ms=8000) for form in ("average", "variance"))
    worse = variance if average.verdict is Verdict.PROVED else average
    return replace(worse, evidence=f"{average.evidence}\n{variance.evidence}")


def _alike(n: int, moved: int = 0) -> Body:
    """Round of the server with n rows alike."""

    def body(draw: Draw) -> Iterable[Any]:
        x = draw("x", 2)
        rows = np.stack([x + moved * draw("other", 2), *[x] * (n - 1)])
        return list(model_mean(rows, clients=n) - x)

    return body


@claim(
    "fed-lamb.clients-alike",
    statement="n clients that end alike leave the server the model of one: no bound all of whose terms "
    "vanish as n grows holds of something that is not 0 for clients alike with exact gradients",
    source=at("ours, about eq. (6) and L716"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 2..5, d = 2",
    assumptions={"alike": "all participants end at one model"},
)
def alike() -> Finding:
    """The means of v_i are alike too, by the same line; so the next round is that of one client."""
    return identities({f"n = {n}": _alike(n) for n in range(2, 6)}, without={"alike": {"n = 2": _alike(2, moved=1)}})
