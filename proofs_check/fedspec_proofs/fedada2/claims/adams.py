"""Algorithms 6 and 7: Adam, and Adam with delayed moment updates, which without delay is the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec.client.adam import Adam, adam
from fedspec.client.admu import Admu, admu
from fedspec_proofs.claim import FEDADA2, Dropped, Engine, Extent, Finding, Sharpness, Source, Verdict, claim
from fedspec_proofs.engines.draw import Draw, Rationals
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.identities import Body


def _apart(t: int, z: int) -> Body:
    """What a step from any state after t - 1 steps leaves of x, m and v, by one rule less by the other."""

    def body(draw: Draw) -> Iterable[Any]:
        x, m, g, r, odds = (
            draw("x", 1),
            draw("m", 1),
            draw("g", 1),
            draw("r", 1, positive=True),
            draw("odds", 2, positive=True),
        )
        eta_l, eps, (beta1, beta2) = draw("eta_l", positive=True), draw("eps", positive=True), odds / (1 + odds)
        # So that the corrected second moment is r^2, whose root is rational.
        v = (r**2 * (1 - beta2**t) - (1 - beta2) * g**2) / beta2
        rates = {"eta_l": eta_l, "beta1": beta1, "beta2": beta2, "eps": eps}
        ours = admu(Admu(x=x, m=m, v=v, v_hat=r**2, t=t - 1), g, **rates, z=z)
        plain = adam(Adam(x=x, m=m, v=v, t=t - 1), g, **rates)
        return [*(ours.x - plain.x), *(ours.m - plain.m), *(ours.v - plain.v)]

    return body


INSTANCES = 100


def _unlike(z: int) -> int:
    """At how many random states the rules differ, before step 2 or step 4."""
    rng = generator()
    return sum(any(_apart(t, z)(Rationals(rng))) for t in (2, 4) for _ in range(INSTANCES))


@claim(
    "fedada2.algorithm-6",
    statement="Without delay Algorithm 7 is Algorithm 6: from any state, a step leaves the same model and moments",
    source=Source(FEDADA2, "Algorithms 6 and 7 (L1335, L1357)"),
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
    extent=Extent.PART,
    assumptions={"z = 1": "the second moment is updated at every step"},
)
def without_delay() -> Finding:
    """Random fractions, by coordinate, t = 2 and 4; states whose corrected second moment is a square."""
    same, other = _unlike(1), _unlike(2)
    return Finding(
        Verdict.REFUTED if same else Verdict.CHECKED,
        f"equal at {2 * INSTANCES - same} of {2 * INSTANCES} states",
        {"z = 1": Dropped(other > 0, f"z = 2: unlike at {other} of them")},
        sharpness=Sharpness(1.0, {"an update left out": other > 0}),
    )
