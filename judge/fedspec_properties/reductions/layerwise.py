"""Reductions among Fed-LAMB, Fed-AMS and Fed-SGD: the layer line, the denominator and the local steps taken away."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_properties.reductions.edge import Edge, fixing, told
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

ROOT = 2.0**13
"""The root of a v_0 that no square of a gradient of a drawn case reaches, so that v_hat stays there."""

RATE = 2.0**-7
"""A rate at which local steps on drawn cases contract."""

PLAIN = {"gradient": "fresh", "bias_correction": "moments", "sent": "raw", "averaged": "participants"}


def _under_v0(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(s, beta1=0.0, v0=ROOT**2, eps=ROOT, eta_l=2 * ROOT * RATE)


def _rescaled(s: Scenario) -> Scenario:
    return told(s, "fed-sgd", hyper={"eta_l": RATE})


def _equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    T = draw(st.integers(2, 4))
    events = tuple(replace(e, steps=(T,) * len(e.steps)) for e in s.events if isinstance(e, Round))
    return with_hyper(replace(s, events=events), beta1=0.0, eta_l=s.case.hyper["eta_l"] / 4)


def _at_once(s: Scenario) -> Scenario:
    T = next(e.steps[0] for e in s.events if isinstance(e, Round))
    events = tuple(replace(e, steps=(1,) * len(e.steps)) for e in s.events if isinstance(e, Round))
    h = s.case.hyper
    return told(s, "fed-ams", events, hyper={"eta_l": T * h["eta_l"], "beta2": h["beta2"] ** T})


def in_fed_ams(s: Scenario) -> Scenario:
    """A scenario of Fed-LAMB in the words of Fed-AMS."""
    return told(s, "fed-ams")


def _uncorrected(s: Scenario) -> Scenario:
    options = {"bias_correction": "none"}
    if s.case.options["sent"] == "raw":
        # Nothing is left that a count of steps corrects.
        options["exponent"] = "global"
    return told(s, "fed-lamb", options=options)


EDGES = (
    Edge(
        id="fed-lamb-is-fed-ams",
        source="fed-lamb",
        target="fed-ams",
        when="lam = 0 and no layer is normalised",
        cited="Fed-LAMB, Alg. 1 without its line 12 (L329)",
        level="round",
        carry=in_fed_ams,
        narrow=fixing(lam=0.0),
        options={"normalisation": "none"},
        needs=("lam",),
        zeroes=("lam",),
        roots=True,
    ),
    Edge(
        id="fed-lamb-needs-no-correction",
        source="fed-lamb",
        target="fed-lamb",
        when="lam = 0, with no bias correction of m: a step of given length does not see a factor of its direction",
        cited="Fed-LAMB, Alg. 1, line 12 (L147): homogeneous of degree 0 in p",
        level="round",
        carry=_uncorrected,
        narrow=fixing(lam=0.0),
        options={"normalisation": "layer", "bias_correction": "moments"},
        needs=("lam",),
        zeroes=("lam",),
        roots=True,
    ),
    Edge(
        id="fed-ams-is-fed-sgd",
        source="fed-ams",
        target="fed-sgd",
        when="beta1 = 0 and v_0 is above the square of every gradient, with the rate eta_l / (sqrt(v_0) + eps)",
        cited="Fed-LAMB, Alg. 1, lines 8-15 (L140-154) where the maximum never moves",
        level="round",
        carry=_rescaled,
        narrow=_under_v0,
        options=PLAIN,
        needs=("beta1", "v0", "eps", "eta_l"),
        zeroes=("beta1",),
    ),
    Edge(
        id="fed-ams-stale-is-one-step",
        source="fed-ams",
        target="fed-ams",
        when="beta1 = 0 and all take T steps with the round's one gradient, as one step with T eta_l and beta2^T",
        cited="Fed-LAMB, Alg. 1 as printed: line 6 (L137) stands before the loop",
        level="round",
        carry=_at_once,
        narrow=_equal_steps,
        options={**PLAIN, "gradient": "stale", "memory": "carried"},
        needs=("beta1", "beta2", "eta_l"),
        zeroes=("beta1",),
        roots=True,
    ),
    Edge(
        id="fed-sgd-is-fedavg",
        source="fed-sgd",
        target="fedavg",
        when="told with equal weights and eta = 1",
        cited="Fed-LAMB, L100 and L329: a mean of models is the model plus the mean of the changes",
        level="round",
        carry=lambda s: told(s, "fedavg", options={"weights": "uniform"}, hyper={"eta": 1.0}),
    ),
)
