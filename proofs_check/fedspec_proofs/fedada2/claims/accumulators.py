"""Lemma 17: upper bounds of SM3's accumulators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.client.sm3_delayed import DelayedSm3, begin, sm3_ii_delayed
from fedspec.covers import Cover
from fedspec_proofs.claim import Dropped, Extent, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Induction, curried, every, exact
from fedspec_proofs.fedada2.kit.inductive import inductive
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.fedada2.kit.sm3_inductions import any_cover, small_covers

SOURCE = "Lemma 17 (L796)"
ASSUMED = {"|g(j)| <= G": "Assumption 2 for every draw"}
START = {"v_0 = 0": "the accumulators start at 0"}


@curried
def _delayed(draw: Draw, cover: Cover, *, factor: int, clock: str) -> Induction[Any]:
    """SM3-II with z = 2: one step at an update and one between; the clock counts all steps, or the updates."""
    g, h, G = draw("g", cover.d), draw("h", cover.d), draw("G")
    per_pair = 2 if clock == "steps" else 1

    def step(state: dict[str, Any]) -> dict[str, Any]:
        at = DelayedSm3(x=g * 0, mu=state["mu"], nu=g * 0, t=0)
        due = sm3_ii_delayed(at, g, cover, eta_l=F(1), eps=F(1), z=2)
        idle = sm3_ii_delayed(due, h, cover, eta_l=F(1), eps=F(1), z=2)
        return {"mu": idle.mu, "nu": idle.nu, "at": due.nu, "n": state["n"] + per_pair}

    def invariant(state: dict[str, Any]) -> dict[str, Any]:
        top = factor * state["n"] * G * G
        return {
            f"0 <= mu(b) <= {'d ' if factor > 1 else ''}n G^2": every(
                *([m >= 0 for m in state["mu"]] + [m <= top for m in state["mu"]])
            ),
            "n >= 0": state["n"] >= 0,
        }

    def bound(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        late = factor * after["n"] * G * G
        early = factor * (before["n"] + 1) * G * G
        return {
            "0 <= v_k(j) <= the bound at the update": every(
                *([v >= 0 for v in after["at"]] + [v <= early for v in after["at"]])
            ),
            "and at the step after it": every(*[v >= 0 for v in after["nu"]], *[v <= late for v in after["nu"]]),
        }

    inputs = {"|g(j)| <= G": every(*[v * v <= G * G for v in (*g, *h)])}
    initial = {"mu": begin(draw("x", cover.d), cover).mu, "nu": g * 0, "at": g * 0, "n": G * 0}
    arbitrary = {"mu": draw("mu", len(cover.sets)), "nu": g * 0, "at": g * 0, "n": draw("n")}
    return Induction(initial, arbitrary, step, inputs, invariant, bound)


def _bounded(factor: int | None, clock: str) -> Finding:
    chosen = {label: c for label, c in small_covers().items() if c.d <= 2 or len(c.sets) <= 2}
    builds = {label: _delayed(c, factor=factor or c.d, clock=clock) for label, c in chosen.items()}
    found = inductive(builds, kept=("G",), ablate="((0, 1), (1, 2))", runs=len(builds), steps=2, numerals=True)
    one = Cover(((0,),), 1)
    state = sm3_ii_delayed(begin(exact.vector(0), one, v0=F(4)), exact.vector(0), one, eta_l=F(1), eps=F(1))
    whole = any_cover()
    if whole.verdict is not Verdict.PROVED:
        return whole
    found = replace(found, evidence=f"{whole.evidence}\n{found.evidence}")
    words = f"v_0 = 4, d = 1, g = 0, G = 1: v_1 = {state.nu[0]} > d k G^2 = 1"
    return replace(found, dropped={**found.dropped, "v_0 = 0": Dropped(bool(state.nu[0] > 1), words)})


@claim(
    "fedada2.lemma-17",
    statement="0 <= mu_k(b) <= d k G^2 and 0 <= v_k(j) <= d k G^2 after k steps of Algorithm 2",
    source=SOURCE,
    extent=Extent.WHOLE,
    assumptions={**ASSUMED, **START},
)
def lemma() -> Finding:
    """An update adds at most G^2 to a minimum of accumulators, of any cover: induction over sets and coordinates.

    Steps between updates change nothing. Through the whole rule: z = 2, any number of steps, every cover of one or two
    coordinates and small ones of three.
    """
    return _bounded(None, "steps")


@claim(
    "fedada2.lemma-17-sharper",
    statement="mu_k(b), v_k(j) <= ceil(k/z) G^2: neither d nor the steps between updates count",
    source="ours, about Lemma 17 (L796)",
    assumptions={**ASSUMED, **START},
)
def sharper() -> Finding:
    """Repeat Lemma 17, counting updates in place of steps. Equality if every coordinate of every gradient is G."""
    return _bounded(1, "updates")
