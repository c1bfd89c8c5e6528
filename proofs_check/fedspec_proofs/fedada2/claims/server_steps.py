"""Lemma 16: length of one server step, for any number of rounds by induction over the server's rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adam import adam
from fedspec_proofs.claim import Dropped, Extent, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Induction, all_proved, every, exact, real, reals, roots
from fedspec_proofs.fedada2.kit.inductive import inductive, patient
from fedspec_proofs.fedada2.kit.rational import F

SOURCE = "Lemma 16 (L778)"
LOGIC = "QF_NRA"

RATE = {"0 <= b < 1": "the server's beta1"}
STARTS = {"v_0 >= tau^2": "the server's second moment starts at tau^2 or above", "tau > 0": "the server's stabiliser"}
CLIENTS = {"|Delta| <= Phi": "Lemma 15: every change is at most Phi_1 in every coordinate"}
MOMENTUM = {"m_0 = 0": "no momentum at the start"}
ADAGRAD = {"AdaGrad": "the server is AdaGrad: v is a sum"}


def _state(m: Any, v: Any) -> Adaptive:
    return Adaptive(x=m * 0, m=m, v=v, t=0)


def _stepped(state: Mapping[str, Any], delta: Any, b: Any) -> Adaptive:
    """The server's own step; only its m and v are checked here, since they determine the length of the step."""
    return adagrad(_state(state["m"], state["v"]), delta, eta=F(1), beta1=b, tau=F(1))


def _share(draw: Draw) -> Induction[Any]:
    """m_t^2 <= c_t (v_t - v_0) by Cauchy and Schwarz, with c_t = b^2 c_(t-1) + (1 - b)^2."""
    b, delta, v0 = draw("b"), draw("delta", 1), draw("v0", 1)

    def step(state: dict[str, Any]) -> dict[str, Any]:
        after = _stepped(state, delta, b)
        c = b * b * state["c"] + (1 - b) * (1 - b)
        return {"m": after.m, "v": after.v, "v0": state["v0"], "c": c}

    def invariant(state: dict[str, Any]) -> dict[str, Any]:
        (m,), (v,), (first,), c = state["m"], state["v"], state["v0"], state["c"]
        return {
            "c_t >= 0": c >= 0,
            "v_t >= v_0": v >= first,
            "m_t^2 <= c_t (v_t - v_0)": m * m <= c * (v - first),
        }

    initial = {"m": delta * 0, "v": v0, "v0": v0, "c": b * 0}
    arbitrary = {"m": draw("m", 1), "v": draw("v", 1), "v0": v0, "c": draw("c")}
    inputs = {"0 <= b < 1": every(b >= 0, b < 1)}
    return Induction(initial, arbitrary, step, inputs, invariant, lambda _, after: {})


def _closed(draw: Draw) -> Induction[Any]:
    """(1 + b) c_t = (1 - b) (1 - b^(2t)), so that m_t^2 <= (1 - b) (1 - b^(2t)) (v_t - v_0); q is b^(2t)."""
    b = draw("b")

    def step(state: dict[str, Any]) -> dict[str, Any]:
        return {"c": b * b * state["c"] + (1 - b) * (1 - b), "q": state["q"] * b * b}

    def invariant(state: dict[str, Any]) -> dict[str, Any]:
        return {
            "(1 + b) c_t = (1 - b) (1 - q)": (1 + b) * state["c"] == (1 - b) * (1 - state["q"]),
            "c_t >= 0": state["c"] >= 0,
        }

    def claims(_: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        return {"c_t <= (1 - b) (1 - q)": after["c"] <= (1 - b) * (1 - after["q"])}

    inputs = {"0 <= b < 1": every(b >= 0, b < 1)}
    arbitrary = {"c": draw("c"), "q": draw("q")}
    return Induction({"c": b * 0, "q": b * 0 + 1}, arbitrary, step, inputs, invariant, claims)


def _size(draw: Draw) -> Induction[Any]:
    """|m_t| <= (1 - b^t) Phi and v_t >= v_0; p is b^t."""
    b, delta, v0, phi = draw("b"), draw("delta", 1), draw("v0", 1), draw("phi")

    def step(state: dict[str, Any]) -> dict[str, Any]:
        after = _stepped(state, delta, b)
        return {"m": after.m, "v": after.v, "v0": state["v0"], "p": state["p"] * b}

    def invariant(state: dict[str, Any]) -> dict[str, Any]:
        (m,), (v,), (first,), p = state["m"], state["v"], state["v0"], state["p"]
        top = (1 - p) * phi
        return {
            "0 <= p <= 1": every(p >= 0, p <= 1),
            "v_t >= v_0": v >= first,
            "|m_t| <= (1 - p) Phi": every(m <= top, -m <= top),
        }

    def claims(_: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        (m,), p = after["m"], after["p"]
        top = (1 - p) * phi
        return {"|m_t| <= (1 - b^t) Phi": every(m <= top, -m <= top)}

    inputs = {
        "0 <= b < 1": every(b >= 0, b < 1),
        "|Delta| <= Phi": every(delta[0] <= phi, -delta[0] <= phi),
    }
    initial = {"m": delta * 0, "v": v0, "v0": v0, "p": b * 0 + 1}
    arbitrary = {"m": draw("m", 1), "v": draw("v", 1), "v0": v0, "p": draw("p")}
    return Induction(initial, arbitrary, step, inputs, invariant, claims)


def _step_length() -> bool:
    """Proof from m^2 <= c v and |m| <= top: the step of the rule is at most eta sqrt(c), and eta top / tau; by z3."""
    m, v, delta = reals("m", 1), reals("v", 1), reals("delta", 1)
    b, eta, tau, share, top = (real(name) for name in ("b", "eta", "tau", "share", "top"))
    with roots() as known:
        after = adagrad(_state(m, v), delta, eta=eta, beta1=b, tau=tau)
    moved, (m1,), (v1,) = after.x[0], after.m, after.v
    given = {
        "roots": every(*known),
        "eta, tau > 0": every(eta > 0, tau > 0),
        "v_t >= 0": v1 >= 0,
        "m^2 <= c v": every(share >= 0, m1 * m1 <= share * v1),
        "|m| <= top": every(m1 <= top, -m1 <= top),
    }
    claims = {
        "step^2 <= eta^2 c": moved * moved <= eta * eta * share,
        "|step| <= eta top / tau": every(tau * moved <= eta * top, -tau * moved <= eta * top),
    }
    return all(patient({words: formula}, given, logic=LOGIC) for words, formula in claims.items())


def _all() -> Finding:
    """The three inductions as one finding."""
    builds = {"share": _share, "closed form": _closed, "size": _size}
    how: dict[str, Any] = {"kept": ("b", "v0", "phi"), "numerals": True, "logic": LOGIC}
    return all_proved({words: inductive({words: build}, **how) for words, build in builds.items()})


def _by_hand() -> dict[str, Dropped]:
    one = exact.vector(1)
    free = adagrad(Adaptive(x=one * 0, m=one * 0, v=one * 0, t=0), one, eta=F(1), beta1=F(0), tau=F(1, 8))
    held = adagrad(Adaptive(x=one * 0, m=one * 3, v=one, t=0), one * 0, eta=F(1), beta1=F(1, 2), tau=F(1, 8))
    ema = adam(
        Adaptive(x=one * 0, m=one * 0, v=one * 0, t=0), one * 3, eta=F(1), beta1=F(0), beta2=F(8, 9), tau=F(1, 8)
    )
    return {
        "m_0 = 0": Dropped(
            bool(held.x[0] ** 2 > F(1, 2)), f"m_0 = 3, Delta = 0, v_0 = 1, b = 1/2, tau = 1/8: a step of {held.x[0]}"
        ),
        "AdaGrad": Dropped(
            bool(ema.x[0] > 1), f"server Adam, b = 0, beta2 = 8/9, v_0 = 0, Delta = 3, tau = 1/8: a step of {ema.x[0]}"
        ),
        "v_0 >= tau^2": Dropped(
            bool(free.x[0] > 1 / (2 * F(1, 8))),
            f"v_0 = 0, Delta = Phi = 1, tau = 1/8, b = 0: a step of {free.x[0]}, which is still below Phi / tau = 8; "
            "only the sharper bound, Phi / (2 tau), needs it",
        ),
        "tau > 0": Dropped(False, "the second bound is void without it; the first does not use it"),
    }


@claim(
    "fedada2.lemma-16",
    statement="eta |m_t| / (sqrt(v_t) + tau) <= min(eta sqrt((1 - b) (1 - b^(2t))), eta Phi_1 / tau) in every round t",
    source=SOURCE,
    extent=Extent.WHOLE,
    assumptions={**RATE, **CLIENTS, **STARTS, **MOMENTUM, **ADAGRAD},
)
def lemma() -> Finding:
    """Inductions over the server's step give m_t^2 <= (1 - b)(1 - b^(2t)) v_t and |m_t| <= (1 - b^t) Phi_1.

    From these z3 bounds the step of the rule. b^(2t) depends on t, which the theorems that use the lemma pass over; the
    largest value of the first bound is eta sqrt(1 - b).
    """
    found = _all()
    if not _step_length():
        return replace(found, verdict=Verdict.UNKNOWN, evidence="the length of the step was not bounded")
    return replace(found, dropped={**found.dropped, **_by_hand()})
