"""Reductions of FedNova's other forms: variance reduction, sampling, other servers, a solver for each client."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from fedspec_properties.reductions.edge import Edge, fixing, told
from fedspec_properties.reductions.rounds import ALONE, EVERYONE, FIRST, equal_steps, of_rounds, plans, to
from fedspec_suite.measure.scenario import Scenario, linear
from fedspec_suite.measure.setting import Setting


def _linear(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return linear(s)


def _one_drawn(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return plans(s, participants=lambda e: e.participants[:1], steps=lambda e: e.steps[:1])


def _all_run(solver: str) -> Callable[[st.DrawFn, Setting, Scenario], Scenario]:
    return lambda draw, setting, s: plans(s, strategies=lambda e: (solver,) * len(e.steps))


def _in_one(solver: str) -> Callable[[Scenario], Scenario]:
    return lambda s: told(plans(s, strategies=lambda e: ()), "fednova", options={"solver": solver})


NOVA = (
    *(
        of_rounds(
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
            ("linear-is-fednova", "the objectives are linear", "FedNova, L204: sum p_i c_i = 0", _linear, {}),
        )
    ),
    of_rounds(
        id="fednova-alg2-is-fednova-vr",
        source="fednova-alg2",
        target="fednova-vr",
        when="line 13 does not store the correction and the loop counts as in eqs. (35)-(36)",
        cited="FedNova, L204 beside Alg. 2",
        carry=to("fednova-vr", {"solver": "momentum"}),
        options={"stored": "uncorrected", "loop": "shifted"},
    ),
    of_rounds(
        id="fednova-sampled-is-fednova",
        source="fednova-sampled",
        target="fednova",
        when="everybody is drawn",
        cited="FedNova, Alg. 1 beside eq. (12)",
        options={"sampled_weights": "self-normalised"},
        draw=EVERYONE,
    ),
    of_rounds(
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
        of_rounds(
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
    of_rounds(
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
        narrow=fixing(beta=0.0),
        needs=("beta",),
        zeroes=("beta",),
    ),
    of_rounds(
        id="fednova-momentum-is-fedavgm",
        source="fednova-momentum",
        target="fedavgm",
        when="everybody takes equally many steps of SGD",
        cited="FedNova, L204 with eqs. (5)-(6)",
        carry=to("fedavgm", eta=1),
        narrow=equal_steps,
        options={"solver": "sgd"},
    ),
    of_rounds(
        id="fednova-momentum-is-slowmo",
        source="fednova-momentum",
        target="slowmo",
        when="its buffer holds gradients, and everybody takes equally many steps of SGD",
        cited="FedNova, L204 with eqs. (5)-(6)",
        carry=to("slowmo", eta=1),
        narrow=equal_steps,
        options={"solver": "sgd", "buffer_holds": "gradients"},
    ),
)

SERVERS = tuple(
    of_rounds(
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


SOLVERS = tuple(
    of_rounds(
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

EDGES = (*NOVA, *SERVERS, *SOLVERS)
