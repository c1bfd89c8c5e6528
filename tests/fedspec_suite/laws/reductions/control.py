"""Reductions of the algorithms whose clients keep control variates, and of FedNova's other forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_suite.laws.reductions.edge import Edge, told
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.scenario import linear as without_curvature
from fedspec_suite.measure.setting import Setting

FIRST = {"rounds": (1, 1)}
ALONE = {"clients": (1, 1)}
EVERYONE = {"everyone": True}
KARIMIREDDY = "external: Karimireddy et al. (2020)"


def to(algorithm: str, options: dict[str, str] | None = None, **hyper: Any) -> Callable[[Scenario], Scenario]:
    """The same run in another algorithm's words."""
    return lambda s: told(s, algorithm, options=options, hyper=hyper)


def _plans(s: Scenario, steps: Callable[[Round], tuple[int, ...]]) -> Scenario:
    return replace(s, events=tuple(replace(e, steps=steps(e)) if isinstance(e, Round) else e for e in s.events))


def equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every round has one number of steps for all."""
    return _plans(s, lambda e: (draw(st.integers(1, 4)),) * len(e.steps))


def single_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every client takes one step a round."""
    return _plans(s, lambda e: (1,) * len(e.steps))


def linear(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Objectives without curvature."""
    return without_curvature(s)


def _equal_steps_rate_1(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(equal_steps(draw, setting, s), eta=1.0)


def _no_memory(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(s, beta=0.0)


def _one_drawn(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    events = (replace(e, participants=e.participants[:1], steps=e.steps[:1]) for e in s.events if isinstance(e, Round))
    return replace(s, events=tuple(events))


def _edge(
    *,
    id: str,
    source: str,
    target: str,
    when: str,
    cited: str,
    carry: Callable[[Scenario], Scenario] | None = None,
    **more: Any,
) -> Edge:
    return Edge(
        id=id, source=source, target=target, when=when, cited=cited, level="round", carry=carry or to(target), **more
    )


CONTROLLED = (
    _edge(
        id="scaffold-begins-as-fedavg",
        source="scaffold",
        target="fedavg",
        when="it is the first round",
        cited=f"{KARIMIREDDY}: c_i = c = 0",
        draw=FIRST,
    ),
    _edge(
        id="scaffold-alone-is-fedavg",
        source="scaffold",
        target="fedavg",
        when="there is one client",
        cited=f"{KARIMIREDDY}: c_i = c",
        draw=ALONE,
    ),
    _edge(
        id="scaffold-of-single-steps-is-fedavg",
        source="scaffold",
        target="fedavg",
        when="everybody takes one step",
        cited=f"{KARIMIREDDY}: c is the mean of the c_i",
        narrow=single_steps,
        draw=EVERYONE,
    ),
    _edge(
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
    _edge(
        id="vrl-sgd-begins-as-fedavg",
        source="vrl-sgd",
        target="fedavg",
        when="it is the first round",
        cited="external: Liang et al. (2019): v_i = 0",
        carry=to("fedavg", eta=1),
        draw=FIRST,
    ),
    _edge(
        id="vrl-sgd-alone-is-fedavg",
        source="vrl-sgd",
        target="fedavg",
        when="there is one client",
        cited="external: Liang et al. (2019): x = x_i",
        carry=to("fedavg", eta=1),
        draw=ALONE,
    ),
    _edge(
        id="vrl-sgd-is-fednova-vr",
        source="vrl-sgd",
        target="fednova-vr",
        when="everybody takes equally many steps",
        cited="FedNova, L204 beside Liang et al. (2019), with v_i = -c_i",
        narrow=equal_steps,
    ),
    _edge(
        id="feddyn-begins-as-fedprox",
        source="feddyn",
        target="fedprox",
        when="it is the first round and everybody takes part; then eta = 2",
        cited="external: Acar et al. (2021): the mean change enters the mean model and h / mu",
        carry=to("fedprox", {"weights": "uniform"}, eta=2),
        draw={**FIRST, **EVERYONE},
    ),
)

NOVA = (
    *(
        _edge(
            id=f"{source}-{name}",
            source=source,
            target="fednova",
            when=when,
            cited=cited,
            carry=to("fednova", options),
            narrow=narrow,
            options=asks,
            draw=draw,
        )
        for source, options, asks in (
            ("fednova-vr", {}, {}),
            ("fednova-alg2", {"solver": "momentum"}, {"loop": "shifted"}),
        )
        for name, when, cited, narrow, draw in (
            ("begins-as-fednova", "it is the first round", "FedNova, L204 with d = 0", lambda d, t, s: s, FIRST),
            ("alone-is-fednova", "there is one client", "FedNova, L204: c_i = d_i - d_i", lambda d, t, s: s, ALONE),
            ("linear-is-fednova", "the objectives are linear", "FedNova, L204: sum p_i c_i = 0", linear, {}),
        )
    ),
    _edge(
        id="fednova-alg2-is-fednova-vr",
        source="fednova-alg2",
        target="fednova-vr",
        when="line 13 does not store the correction and the loop counts as in eqs. (35)-(36)",
        cited="FedNova, L204 beside Alg. 2",
        carry=to("fednova-vr", {"solver": "momentum"}),
        options={"stored": "uncorrected", "loop": "shifted"},
    ),
    _edge(
        id="fednova-sampled-is-fednova",
        source="fednova-sampled",
        target="fednova",
        when="everybody is drawn",
        cited="FedNova, Alg. 1 beside eq. (12)",
        options={"sampled_weights": "self-normalised"},
        draw=EVERYONE,
    ),
    _edge(
        id="fednova-sampled-uniformly-is-fednova",
        source="fednova-sampled",
        target="fednova",
        when="everybody is drawn and tau_eff is a constant",
        cited="FedNova, footnote 1: p_i m/q with q = m",
        carry=to("fednova", {"tau_eff_choice": "fixed"}),
        options={"sampled_weights": "without-replacement", "sampled_steps": "fixed"},
        draw=EVERYONE,
    ),
    *(
        _edge(
            id=name,
            source="fednova-sampled",
            target="fedavg",
            when=f"one client of SGD is drawn{how} and tau_eff is taken from the sample",
            cited="FedNova, Alg. 1: ||a_i||_1 cancels",
            carry=to("fedavg", eta=1),
            narrow=_one_drawn,
            options={"sampled_weights": weights, "sampled_steps": "sample", "solver": "sgd"},
        )
        for name, weights, how in (
            ("fednova-sampled-one-is-fedavg", "self-normalised", ""),
            ("fednova-sampled-one-replaced-is-fedavg", "with-replacement", " with replacement"),
        )
    ),
    _edge(
        id="fednova-sampled-is-fedavg",
        source="fednova-sampled",
        target="fedavg",
        when="those that are drawn take equally many steps of SGD",
        cited="FedNova, Alg. 1 beside eqs. (5)-(6)",
        carry=to("fedavg", eta=1),
        narrow=equal_steps,
        options={"sampled_weights": "self-normalised", "sampled_steps": "sample", "solver": "sgd"},
    ),
    Edge(
        id="fednova-momentum-is-fednova",
        source="fednova-momentum",
        target="fednova",
        when="beta = 0",
        cited="FedNova, L204",
        level="server",
        carry=to("fednova"),
        narrow=_no_memory,
        needs=("beta",),
        zeroes=("beta",),
    ),
    _edge(
        id="fednova-momentum-is-fedavgm",
        source="fednova-momentum",
        target="fedavgm",
        when="everybody takes equally many steps of SGD",
        cited="FedNova, L204 with eqs. (5)-(6)",
        carry=to("fedavgm", eta=1),
        narrow=equal_steps,
        options={"solver": "sgd"},
    ),
)

SERVERS = tuple(
    _edge(
        id=f"fednova-adaptive-{server}-is-{target}",
        source="fednova-adaptive",
        target=target,
        when=f"everybody takes equally many steps of SGD under server {server}",
        cited="FedNova, L204 with eqs. (5)-(6)",
        narrow=equal_steps,
        options={"solver": "sgd", "server": server},
        roots=True,
    )
    for server, target in (("adam", "fedadam"), ("adagrad", "fedadagrad"), ("yogi", "fedyogi"))
)


def _all_run(solver: str) -> Callable[[st.DrawFn, Setting, Scenario], Scenario]:
    def narrow(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
        events = [replace(e, strategies=(solver,) * len(e.steps)) for e in s.events if isinstance(e, Round)]
        return replace(s, events=tuple(events))

    return narrow


def _without_names(s: Scenario) -> tuple[Round, ...]:
    return tuple(replace(e, strategies=()) for e in s.events if isinstance(e, Round))


def _in_one(solver: str) -> Callable[[Scenario], Scenario]:
    return lambda s: told(s, "fednova", _without_names(s), options={"solver": solver})


SOLVERS = tuple(
    _edge(
        id=f"fednova-solvers-of-{solver}-is-fednova",
        source="fednova-solvers",
        target="fednova",
        when=f"everybody's solver is {solver}",
        cited="FedNova, L206 beside eq. (12)",
        carry=_in_one(solver),
        narrow=_all_run(solver),
    )
    for solver in ("momentum", "proximal")
)

EDGES = (*CONTROLLED, *NOVA, *SERVERS, *SOLVERS)
