"""Laws of Fed-LAMB and its baselines where no layer is normalised: rounds that are affine maps, in closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import digits, maximum, sqrt
from fedspec.facts import Fact
from fedspec.linear import eye
from fedspec.params import flatten
from fedspec.problems.quadratic import local_matrix
from fedspec.readings import Solver
from fedspec_properties.layerwise.shared import AMS, BOX, NOT_BY_LAYER, OF_THE_ROUND, ROUND, compare, rounds_of, taken
from fedspec_properties.layerwise.single import single_coordinates
from fedspec_properties.reductions.layerwise import RATE, ROOT
from fedspec_suite.laws.asked import both, fact, if_option, option, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, lift, linear, running
from fedspec_suite.measure.setting import Setting


@st.composite
def _linear_objectives(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting))
    return taken(linear(s), lam=0.0)


def _constant_gradients(bench: Bench, s: Scenario) -> None:
    """Averages of a constant are known after any number k of steps: m = (1 - beta1^k) g, and v towards g^2."""
    o = s.case.options
    with digits():
        exact = running(s)
        h, p = exact.case.hyper, exact.case.problem
        assert p is not None
        x, v_hat, done, want = flatten(exact.case.x0), flatten(exact.case.x0) * 0 + h["v0"], dict[int, int](), []
        for n, who in rounds_of(s):
            below, moved, sent = sqrt(v_hat) + h["eps"], x * 0, x * 0
            for i, T in who:
                before, g = done.get(i, 0) if o["memory"] == "carried" else 0, -p.e[i]
                first = before if o["exponent"] == "global" else 0
                for k in range(1, T + 1):
                    m = 1 - h["beta1"] ** (before + k)
                    m = m / (1 - h["beta1"] ** (first + k)) if o["bias_correction"] == "moments" else m
                    moved = moved + h["eta_l"] * m * g / below
                kept = h["beta2"] ** (before + T)
                v = kept * h["v0"] + (1 - kept) * g * g
                sent = sent + (v / (1 - h["beta2"] ** (first + T)) if o["sent"] == "corrected" else v)
                done[i] = before + T
            x = (x * len(who) - moved) / n
            v_hat = maximum(v_hat, sent / n)
            want.append(x)
    compare(bench, s, want)


@st.composite
def _under_v0(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(single_coordinates(setting))
    return taken(s, v0=ROOT**2, eps=ROOT, eta_l=2 * ROOT * RATE, lam=0.0)


def _linear_rounds(bench: Bench, s: Scenario) -> None:
    """Where v_hat stays at v_0 a client's step is an affine map of (x, m, 1): a round is a product of matrices."""
    exact = lift(s, Fraction)
    h, o, p = exact.case.hyper, s.case.options, exact.case.problem
    assert p is not None
    x, d = flatten(exact.case.x0), p.e.shape[1]
    m, seen, want = x * 0 + np.zeros((len(p.H), 1), dtype=int), dict[int, int](), []
    rate = h["eta_l"] / Fraction(2 * ROOT)
    for n, who in rounds_of(s):
        ends = []
        for i, T in who:
            if o["memory"] == "reset":
                m[i], seen[i] = m[i] * 0, 0
            first = seen.get(i, 0) if o["exponent"] == "global" else 0
            seen[i] = seen.get(i, 0) + T
            M, one = eye(np.zeros((2 * d + 1,) * 2, dtype=object) + x[0] * 0), eye(p.H[i])
            for t in range(first + 1, first + T + 1):
                c = 1 - h["beta1"] ** t if o["bias_correction"] == "moments" else Fraction(1)
                average = np.block([[(1 - h["beta1"]) * p.H[i], h["beta1"] * one, -(1 - h["beta1"]) * p.e[i][:, None]]])
                step = np.block([[one, 0 * one, 0 * p.e[i][:, None]]]) - rate / c * average
                last = np.array([[Fraction(0)] * (2 * d) + [Fraction(1)]], dtype=object)
                M = np.concatenate([step, average, last]) @ M
            z = M @ np.concatenate([x, m[i], [Fraction(1)]])
            ends.append(z[:d])
            m[i] = z[d : 2 * d]
        x = sum(ends) / Fraction(n)
        want.append(x)
    compare(bench, s, want)


def _sgd_path(bench: Bench, s: Scenario) -> None:
    """Delta_i = K_i (e_i - H_i x) with the closed-form matrix K_i, whoever takes part."""
    exact = lift(s, Fraction)
    p, x, want = exact.case.problem, flatten(exact.case.x0), []
    assert p is not None
    for n, who in rounds_of(s):
        K = [(i, local_matrix(Solver.SGD, p.H[i], T, eta_l=exact.case.hyper["eta_l"])) for i, T in who]
        x = x + sum(K_i @ (p.e[i] - p.H[i] @ x) for i, K_i in K) / Fraction(n)
        want.append(x)
    compare(bench, s, want)


AVERAGES = both(
    AMS,
    NOT_BY_LAYER,
    unless(option("memory", "two-index"), "its moments have two indices"),
    OF_THE_ROUND,
    unless(option("bias_correction", "in-place"), "its moments are not averages"),
)
"""A path that knows the last round alone."""

LAWS = (
    Law(
        id="layerwise-constant",
        words="the path under constant gradients, from what an average of a constant is",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154) without line 12",
        cases=_linear_objectives,
        check=_constant_gradients,
        applies=AVERAGES,
        needs=("lam",),
        zeroes=("lam",),
    ),
    Law(
        id="linear-rounds",
        words="v_0 above the square of every gradient: a client's round is a product of matrices",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154) where the maximum never moves, without line 12",
        cases=_under_v0,
        check=_linear_rounds,
        applies=both(AVERAGES, if_option("gradient", "fresh"), if_option("sent", "raw")),
        needs=("v0", "eps", "eta_l", "lam"),
        zeroes=("lam",),
    ),
    Law(
        id="local-sgd-path",
        words="the path from the closed-form matrices K_i of local SGD, whoever takes part",
        levels=ROUND,
        source="FedNova, eqs. (17)-(28), in every round with the clients that take part in it",
        cases=round_scenarios,
        check=_sgd_path,
        applies=fact(Fact.PERIODIC, Fact.AFFINE),
    ),
)
