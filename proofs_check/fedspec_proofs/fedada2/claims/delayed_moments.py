"""Appendix E: the moments of Adam with delayed updates in closed form, and the correction of their bias."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec.client.admu import Admu, admu
from fedspec_proofs.claim import FEDADA2, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.engines.reals import constants as numerals
from fedspec_proofs.engines.smt import number
from fedspec_proofs.fedada2.kit.rational import F

EQ_19 = Source(FEDADA2, "eq. (19) (L1386)")

SIZES = tuple((t, z) for z in (1, 2, 3) for t in (1, 2, 3, 4, 5))


def _decay(draw: Draw, name: str) -> Any:
    """A symbol, or a fraction of [0, 1)."""
    value = draw(name)
    return abs(value) / 9 if isinstance(value, F) else value


def _unrolled(t: int, z: int, shift: int = 0) -> Body:
    """m_t and v_t of the rule less eq. (19); ``shift`` moves the exponents of beta2, for false variants."""

    def body(draw: Draw) -> Iterable[Any]:
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

    return body


def _moments(state: Admu, g: Any, beta1: Any, beta2: Any, z: int) -> Admu:
    """One step of the rule; on fractions by numerals, whose roots stay unevaluated."""
    fractions = all(isinstance(q, F) for q in (*state.m, *state.v, *g))
    wrap = numerals if fractions else (lambda a: a)
    at = Admu(x=wrap(state.x), m=wrap(state.m), v=wrap(state.v), v_hat=wrap(state.v_hat), t=state.t)
    after = admu(at, wrap(g), eta_l=F(1), beta1=beta1, beta2=beta2, eps=F(1), z=z)
    back = (lambda a: exact.vector(*(number(q) or F(0) for q in a))) if fractions else (lambda a: a)
    return Admu(x=state.x, m=back(after.m), v=back(after.v), v_hat=state.v_hat, t=after.t)


@claim(
    "fedada2.eq-19",
    statement="m_t and v_t of Adam with delayed updates in closed form: v_t = beta2^n v_0 + (1 - beta2) sum_(r <= n) "
    "beta2^(n-r) g_((r-1)z+1)^2, n = ceil(t/z) = floor((t-1)/z) + 1",
    source=EQ_19,
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="t <= 5, z <= 3, d = 1, as every coordinate is by itself",
)
def closed_form() -> Finding:
    """For t up to 5 and z up to 3, all values of rates, moments and gradients."""
    if any((t - 1) // z + 1 != -(-t // z) for t in range(1, 200) for z in range(1, 50)):
        return Finding(Verdict.REFUTED, "floor((t - 1)/z) + 1 is not ceil(t/z)")
    return identities({f"t = {t}, z = {z}": _unrolled(t, z) for t, z in SIZES}, instances=4)


@false("fedada2.eq-19-shifted", of=closed_form, statement="Eq. (19) with exponents of beta2 one larger")
def closed_form_shifted() -> Finding:
    """An index that starts at 0."""
    return identities({"t = 2, z = 1": _unrolled(2, 1, shift=1)}, instances=4)
