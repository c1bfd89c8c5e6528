"""Reductions among Fed-LAMB, Fed-AMS and Fed-SGD: without layer scaling, the denominator, or local steps."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_properties.reductions.edge import reduces, rooted, translated
from fedspec_properties.reductions.rounds import plans, single_steps
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

ROOT = 2.0**13
"""Root of a v_0 that no squared gradient of a drawn case reaches, so that v_hat stays at v_0."""

RATE = 2.0**-7
"""Rate with which local steps on drawn cases contract."""

PLAIN: dict[str, Any] = {"gradient": "fresh", "bias_correction": "moments", "sent": "raw", "averaged": "participants"}


def _equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    T = draw(st.integers(2, 4))
    s = plans(s, steps=lambda e: (T,) * len(e.steps))
    return with_hyper(s, beta1=0.0, eta_l=s.case.hyper["eta_l"] / 4)


def _at_once(s: Scenario) -> Scenario:
    T = next(e.steps[0] for e in s.events if isinstance(e, Round))
    h = s.case.hyper
    return translated(single_steps(s), "fed-ams", hyper={"eta_l": T * h["eta_l"], "beta2": h["beta2"] ** T})


EDGES = (
    rooted("fed-lamb", "fed-ams", "Fed-LAMB, Alg. 1 without its line 12 (L329)").under(
        "lam = 0 and no layer is normalised", normalisation="none", lam=0.0
    ),
    # With what is sent raw, nothing is left that a count of steps corrects.
    rooted("fed-lamb", "fed-lamb", "Fed-LAMB, Alg. 1, line 12 (L147): homogeneous of degree 0 in p")
    .named("fed-lamb-needs-no-correction")
    .under("lam = 0, with no bias correction of m: a step of given length does not see a factor of its direction")
    .under(normalisation="layer", bias_correction="moments", lam=0.0)
    .told(bias_correction="none", exponent=lambda h, o: "global" if o["sent"] == "raw" else o["exponent"]),
    reduces("fed-ams", "fed-sgd", "Fed-LAMB, Alg. 1, lines 8-15 (L140-154) where the maximum never moves")
    .under("beta1 = 0 and v_0 is above the square of every gradient, with the rate eta_l / (sqrt(v_0) + eps)")
    .under(beta1=0.0, v0=ROOT**2, eps=ROOT, eta_l=2 * ROOT * RATE, **PLAIN)
    .told(eta_l=RATE),
    rooted("fed-ams", "fed-ams", "Fed-LAMB, Alg. 1 as printed: line 6 (L137) stands before the loop")
    .named("fed-ams-stale-is-one-step")
    .under(
        "beta1 = 0 and all take T steps with the round's one gradient, as one step with T eta_l and beta2^T",
        narrow=_equal_steps,
        needs=("beta1", "beta2", "eta_l"),
        **{**PLAIN, "gradient": "stale", "memory": "carried"},
    )
    .having(carry=_at_once, zeroes=("beta1",)),
    reduces(
        "fed-sgd", "fedavg", "Fed-LAMB, L100 and L329: a mean of models is the model plus the mean of the changes"
    ).under("told with equal weights and eta = 1"),
)
