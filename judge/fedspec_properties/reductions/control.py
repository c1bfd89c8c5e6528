"""Reductions of algorithms whose clients store control variates."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fedspec_properties.reductions.edge import reduces
from fedspec_properties.reductions.rounds import alone, begins, equal_steps, in_rounds, plans, single_steps
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

KARIMIREDDY = "external: Karimireddy et al. (2020)"
LIANG = "external: Liang et al. (2019)"
MISHCHENKO = "external: Mishchenko et al. (2022)"


def _with_period(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Coins that say 1 at every K-th step, and p = 1 / K; K is a power of two, so that p is no rounded number."""
    K = draw(st.sampled_from((1, 2, 4)))
    return with_hyper(plans(s, steps=lambda e: (K,) * len(e.steps)), chance=1 / K)


PERIODIC: dict[str, Any] = {"narrow": _with_period, "needs": ("chance",)}

EDGES = (
    reduces("scaffnew", "scaffold", f"{MISHCHENKO} beside Karimireddy et al. (2020), option II: h_i = c_i - c")
    .under("every K-th coin says 1, p = 1 / K, and eta = 1", **PERIODIC)
    .told(control="mean-gradient"),
    reduces("scaffnew", "vrl-sgd", f"{MISHCHENKO} beside Liang et al. (2019): h_i = v_i")
    .under("every K-th coin says 1, and p = 1 / K", **PERIODIC)
    .told(divisor="own-steps"),
    begins("scaffnew", "fedavg", f"{MISHCHENKO}: h_i = 0"),
    alone("scaffnew", "fedavg", f"{MISHCHENKO}: x = x_i"),
    begins("scaffold", "fedavg", f"{KARIMIREDDY}: c_i = c = 0"),
    alone("scaffold", "fedavg", f"{KARIMIREDDY}: c_i = c"),
    in_rounds("scaffold", "fedavg", f"{KARIMIREDDY}: c is the mean of the c_i")
    .named("scaffold-of-single-steps-is-fedavg")
    .under("everybody takes one step", single_steps, everyone=True),
    reduces("scaffold", "fednova-vr", "FedNova, L204 beside Karimireddy et al. (2020), option II")
    .under("everybody takes equally many steps and eta = 1", narrow=equal_steps, control="mean-gradient", eta=1.0)
    .under(everyone=True),
    begins("vrl-sgd", "fedavg", f"{LIANG}: v_i = 0"),
    alone("vrl-sgd", "fedavg", f"{LIANG}: x = x_i"),
    reduces("vrl-sgd", "fednova-vr", "FedNova, L204 beside Liang et al. (2019), with v_i = -c_i").under(
        "everybody takes equally many steps", narrow=equal_steps
    ),
    begins(
        "feddyn",
        "fedprox",
        "external: Acar et al. (2021): the mean change enters the mean model and h / mu",
        " and everybody takes part; then eta = 2",
        everyone=True,
    ).told(weights="uniform", eta=2),
    reduces("mifa", "fedavg", "external: Gu et al. (2021): the mean of what is known is that of the round").under(
        "everybody takes part in every round", everyone=True
    ),
)
