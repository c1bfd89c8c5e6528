"""Algorithms 6 and 7: Adam, and Adam with delayed moment updates, which coincide without delay.

Appendix E: the moments of Adam with delayed updates in closed form, and the correction of their bias.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fedspec.client.adam import Adam, adam
from fedspec.client.admu import Admu, admu
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Sharpness, Verdict, claim, false
from fedspec_proofs.engines import Draw, Rationals, curried, identities
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.fedada2.kit.rational import F, on_numerals


@curried
def _apart(draw: Draw, t: int, z: int) -> Iterable[Any]:
    """The difference of two rules in x, m and v after a step from any state after t - 1 steps."""
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


INSTANCES = 100


def _unlike(z: int) -> int:
    """At how many random states the rules differ, before step 2 or step 4."""
    rng = generator()
    return sum(any(_apart(t, z)(Rationals(rng))) for t in (2, 4) for _ in range(INSTANCES))


@claim(
    "fedada2.algorithm-6",
    statement="Without delay Algorithm 7 is Algorithm 6: from any state, a step leaves the same model and moments",
    source="Algorithms 6 and 7 (L1335, L1357)",
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
    extent=Extent.PART,
    assumptions={"z = 1": "the second moment is updated at every step"},
)
def without_delay() -> Finding:
    """Random fractions, per coordinate, t = 2 and 4, in states with a rational root of the second moment."""
    same, other = _unlike(1), _unlike(2)
    return Finding(
        Verdict.REFUTED if same else Verdict.CHECKED,
        f"equal at {2 * INSTANCES - same} of {2 * INSTANCES} states",
        {"z = 1": Dropped(other > 0, f"z = 2: unlike at {other} of them")},
        sharpness=Sharpness(1.0, {"an update left out": other > 0}),
    )


EQ_19 = "eq. (19) (L1386)"

SIZES = tuple((t, z) for z in (1, 2, 3) for t in (1, 2, 3, 4, 5))


def _decay(draw: Draw, name: str) -> Any:
    """A symbol, or a fraction of [0, 1)."""
    value = draw(name)
    return abs(value) / 9 if isinstance(value, F) else value


@curried
def _unrolled(draw: Draw, t: int, z: int, shift: int = 0) -> Iterable[Any]:
    """m_t and v_t of the rule less eq. (19); ``shift`` moves the exponents of beta2, for false variants."""
    beta1, beta2, v0, m0 = _decay(draw, "beta1"), _decay(draw, "beta2"), draw("v0"), draw("m0")
    g = [draw(f"g{r}", 1) for r in range(1, t + 1)]
    x = g[0] * 0
    state = Admu(x=x, m=x + m0, v=x + v0, v_hat=x, t=0)
    for row in g:
        # The model is put back to 0 and its denominator's root is of no interest; moments do not depend on them.
        state = _moments(state, row, beta1, beta2, z)
    n = -(-t // z)
    m = beta1**t * m0 + (1 - beta1) * sum(beta1 ** (t - r) * g[r - 1][0] for r in range(1, t + 1))
    late = sum(beta2 ** (n - r + shift) * g[(r - 1) * z][0] ** 2 for r in range(1, n + 1))
    return [state.m[0] - m, state.v[0] - beta2**n * v0 - (1 - beta2) * late]


def _moments(state: Admu, g: Any, beta1: Any, beta2: Any, z: int) -> Admu:
    """Step of the rule, with the model and the corrected moment set back to 0."""
    after: Admu = on_numerals(admu, state, g, eta_l=F(1), beta1=beta1, beta2=beta2, eps=F(1), z=z)
    return replace(after, x=state.x, v_hat=state.v_hat)


@claim(
    "fedada2.eq-19",
    statement="m_t and v_t of Adam with delayed updates in closed form: v_t = beta2^n v_0 + (1 - beta2) sum_(r <= n) "
    "beta2^(n-r) g_((r-1)z+1)^2, n = ceil(t/z) = floor((t-1)/z) + 1",
    source=EQ_19,
    sizes="t <= 5, z <= 3, d = 1, as every coordinate is by itself",
)
def closed_form() -> Finding:
    """For t up to 5 and z up to 3, for all values of rates, moments and gradients."""
    if any((t - 1) // z + 1 != -(-t // z) for t in range(1, 200) for z in range(1, 50)):
        return Finding(Verdict.REFUTED, "floor((t - 1)/z) + 1 is not ceil(t/z)")
    return identities({f"t = {t}, z = {z}": _unrolled(t, z) for t, z in SIZES}, instances=4)


@false("fedada2.eq-19-shifted", of=closed_form, statement="Eq. (19) with exponents of beta2 one larger")
def closed_form_shifted() -> Finding:
    """Refuted: the exponents belong to an index that starts at 0."""
    return identities({"t = 2, z = 1": _unrolled(2, 1, shift=1)}, instances=4)
