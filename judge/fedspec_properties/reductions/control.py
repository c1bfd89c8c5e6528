"""Reductions of the algorithms whose clients keep control variates."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fedspec_properties.reductions.rounds import ALONE, EVERYONE, FIRST, equal_steps, of_rounds, plans, single_steps, to
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

KARIMIREDDY = "external: Karimireddy et al. (2020)"


def _equal_steps_rate_1(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(equal_steps(draw, setting, s), eta=1.0)


def _with_period(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Coins that say 1 at every K-th step, and p = 1 / K; K is a power of two, so that p is no rounded number."""
    K = draw(st.sampled_from((1, 2, 4)))
    return with_hyper(plans(s, steps=lambda e: (K,) * len(e.steps)), chance=1 / K)


MISHCHENKO = "external: Mishchenko et al. (2022)"
PERIODIC: dict[str, Any] = {"source": "scaffnew", "narrow": _with_period, "needs": ("chance",)}

EDGES = (
    of_rounds(
        id="scaffnew-is-scaffold",
        target="scaffold",
        when="every K-th coin says 1, p = 1 / K, and eta = 1",
        cited=f"{MISHCHENKO} beside Karimireddy et al. (2020), option II: h_i = c_i - c",
        carry=to("scaffold", {"control": "mean-gradient", "weights": "uniform"}, eta=1),
        **PERIODIC,
    ),
    of_rounds(
        id="scaffnew-is-vrl-sgd",
        target="vrl-sgd",
        when="every K-th coin says 1, and p = 1 / K",
        cited=f"{MISHCHENKO} beside Liang et al. (2019): h_i = v_i",
        carry=to("vrl-sgd", {"divisor": "own-steps", "weights": "uniform"}),
        **PERIODIC,
    ),
    of_rounds(
        id="scaffnew-begins-as-fedavg",
        source="scaffnew",
        target="fedavg",
        when="it is the first round",
        cited=f"{MISHCHENKO}: h_i = 0",
        carry=to("fedavg", {"weights": "uniform"}, eta=1),
        draw=FIRST,
    ),
    of_rounds(
        id="scaffnew-alone-is-fedavg",
        source="scaffnew",
        target="fedavg",
        when="there is one client",
        cited=f"{MISHCHENKO}: x = x_i",
        carry=to("fedavg", {"weights": "uniform"}, eta=1),
        draw=ALONE,
    ),
    of_rounds(
        id="scaffold-begins-as-fedavg",
        source="scaffold",
        target="fedavg",
        when="it is the first round",
        cited=f"{KARIMIREDDY}: c_i = c = 0",
        draw=FIRST,
    ),
    of_rounds(
        id="scaffold-alone-is-fedavg",
        source="scaffold",
        target="fedavg",
        when="there is one client",
        cited=f"{KARIMIREDDY}: c_i = c",
        draw=ALONE,
    ),
    of_rounds(
        id="scaffold-of-single-steps-is-fedavg",
        source="scaffold",
        target="fedavg",
        when="everybody takes one step",
        cited=f"{KARIMIREDDY}: c is the mean of the c_i",
        narrow=single_steps,
        draw=EVERYONE,
    ),
    of_rounds(
        id="scaffold-is-fednova-vr",
        source="scaffold",
        target="fednova-vr",
        when="everybody takes equally many steps and eta = 1",
        cited="FedNova, L204 beside Karimireddy et al. (2020), option II",
        narrow=_equal_steps_rate_1,
        options={"control": "mean-gradient"},
        needs=("eta",),
        draw=EVERYONE,
    ),
    of_rounds(
        id="vrl-sgd-begins-as-fedavg",
        source="vrl-sgd",
        target="fedavg",
        when="it is the first round",
        cited="external: Liang et al. (2019): v_i = 0",
        carry=to("fedavg", eta=1),
        draw=FIRST,
    ),
    of_rounds(
        id="vrl-sgd-alone-is-fedavg",
        source="vrl-sgd",
        target="fedavg",
        when="there is one client",
        cited="external: Liang et al. (2019): x = x_i",
        carry=to("fedavg", eta=1),
        draw=ALONE,
    ),
    of_rounds(
        id="vrl-sgd-is-fednova-vr",
        source="vrl-sgd",
        target="fednova-vr",
        when="everybody takes equally many steps",
        cited="FedNova, L204 beside Liang et al. (2019), with v_i = -c_i",
        narrow=equal_steps,
    ),
    of_rounds(
        id="feddyn-begins-as-fedprox",
        source="feddyn",
        target="fedprox",
        when="it is the first round and everybody takes part; then eta = 2",
        cited="external: Acar et al. (2021): the mean change enters the mean model and h / mu",
        carry=to("fedprox", {"weights": "uniform"}, eta=2),
        draw={**FIRST, **EVERYONE},
    ),
    of_rounds(
        id="mifa-is-fedavg",
        source="mifa",
        target="fedavg",
        when="everybody takes part in every round",
        cited="external: Gu et al. (2021): the mean of what is known is that of the round",
        carry=to("fedavg", {"weights": "uniform"}, eta=1),
        draw=EVERYONE,
    ),
)
