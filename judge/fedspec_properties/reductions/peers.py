"""Reductions of the algorithms that have no server: every client keeps a model and mixes it with its neighbours'."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Event, Exchange, Round
from fedspec.params import flatten
from fedspec_properties.reductions.edge import Edge, fixing, told
from fedspec_properties.reductions.exchanges import FOUR, changed, complete, exchanges, size, unmixed
from fedspec_properties.reductions.rounds import ALONE, FIRST
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting


def _first_row(s: Scenario) -> dict[str, Array]:
    return {"w": flatten(s.case.x0)[: flatten(s.case.x0).size // size(s)]}


def _for_everyone(s: Scenario, x: Array) -> Array:
    return np.tile(x, size(s))


def _steps(s: Scenario) -> list[int]:
    return [len(e.computing) for e in s.events if isinstance(e, Exchange)]


def _after_steps(s: Scenario, k: int) -> int:
    """The number, from 0, of the local step that event k ends with."""
    return sum(_steps(s)[: k + 1]) - 1


def _single_steps(s: Scenario) -> list[Event]:
    everyone = tuple(range(size(s)))
    return [Round(everyone, (1,) * len(everyone)) for tau in _steps(s) for _ in range(tau)]


def _local_sgd(s: Scenario) -> Scenario:
    everyone = tuple(range(size(s)))
    events = [Round(everyone, (tau,) * len(everyone)) for tau in _steps(s)]
    options = {"weights": "uniform"}
    return told(s, "fedavg", events, level="round", options=options, hyper={"eta": 1.0}, x0=_first_row(s))


def _local_sgd_at_its_rate(s: Scenario) -> Scenario:
    there = _local_sgd(s)
    return with_hyper(there, eta=s.case.hyper["eta"])


def _complete_and_alike(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    tau = draw(st.integers(1, 3))
    return exchanges(s, lambda e: replace(complete(e), computing=(tuple(range(size(s))),) * tau))


def _minibatches(s: Scenario) -> Scenario:
    options = {"weights": "uniform"}
    events = _single_steps(s)
    return told(s, "fedavg", events, level="round", options=options, hyper={"eta": 1.0}, x0=_first_row(s))


def _as_dsgd(s: Scenario) -> Scenario:
    return told(s, "dsgd", options={"order": "adapt-then-combine"})


def _as_dsgd_that_combines_first(s: Scenario) -> Scenario:
    return told(s, "dsgd", options={"order": "combine-then-adapt"})


def _as_tracking(s: Scenario) -> Scenario:
    return told(s, "diging", options={"tracking": "semi-atc", "start": "gradient"})


def _as_d2(s: Scenario) -> Scenario:
    return told(s, "d2", options={"matrix": "whole"})


def _as_scaffold(s: Scenario) -> Scenario:
    everyone = tuple(range(size(s)))
    events = [Round(everyone, (tau,) * len(everyone)) for tau in _steps(s)]
    options = {"control": "mean-gradient", "weights": "uniform"}
    return told(
        s, "scaffold", events, level="round", options=options, hyper={"eta": 1.0, **s.case.hyper}, x0=_first_row(s)
    )


def _all_told(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(s, kept=flatten(s.case.x0).size // size(s), consensus=1.0)


def _single(e: Exchange) -> Exchange:
    return replace(e, computing=e.computing[:1])


def _of_single_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(exchanges(s, _single), eta=1.0)


def _alone(s: Scenario) -> Scenario:
    """Rounds of one local step with rate 1: the change is minus the gradient."""
    hyper = {"eta": s.case.hyper["eta_l"], "eta_l": 1.0}
    options = {"epsilon": "outside"}
    events = _single_steps(s)
    return told(s, "fedamsgrad", events, level="round", options=options, hyper=hyper, x0=_first_row(s))


LIU = "external: Liu, Lin, Koloskova and Stich (2024)"
ALGHUNAIM = "external: Alghunaim (2024)"

EDGES = (
    Edge(
        id="dsgd-is-fedavg",
        source="dsgd",
        target="fedavg",
        when="W = J: rounds of one local step of everybody",
        cited="Lian et al. (2017), Algorithm 1",
        level="trace",
        carry=_minibatches,
        narrow=changed(complete),
        options={"order": "adapt-then-combine"},
        back=_for_everyone,
        at=_after_steps,
        draw=FOUR,
    ),
    Edge(
        id="gossip-pga-is-fedavg",
        source="gossip-pga",
        target="fedavg",
        when="nobody mixes (W = I) but at the end of a period",
        cited="Chen et al. (2021), Gossip-PGA: local SGD is its W = I",
        level="trace",
        carry=_local_sgd,
        narrow=changed(unmixed),
        back=_for_everyone,
    ),
    Edge(
        id="gossip-pga-is-dsgd",
        source="gossip-pga",
        target="dsgd",
        when="W = J",
        cited="Chen et al. (2021), Gossip-PGA",
        level="trace",
        carry=_as_dsgd,
        narrow=changed(complete),
        draw=FOUR,
    ),
    Edge(
        id="diging-begins-as-dsgd",
        source="diging",
        target="dsgd",
        when="it is the first local step",
        cited="external: Nedic, Olshevsky and Shi (2017): Y = G(X) at first",
        level="trace",
        carry=_as_dsgd_that_combines_first,
        narrow=changed(_single),
        options={"tracking": "diging", "start": "gradient"},
        draw=FIRST,
    ),
    Edge(
        id="diging-alone-is-dsgd",
        source="diging",
        target="dsgd",
        when="there is one client",
        cited="external: Nedic, Olshevsky and Shi (2017): Y = G(X)",
        level="trace",
        carry=_as_dsgd_that_combines_first,
        options={"start": "gradient"},
        draw=ALONE,
    ),
    *(
        Edge(
            id=f"{name}-diging-is-fedavg",
            source="diging",
            target="fedavg",
            when=f"W = J ({words}): rounds of one local step of everybody",
            cited="external: Nedic, Olshevsky and Shi (2017): J Y is the mean gradient",
            level="trace",
            carry=_minibatches,
            narrow=changed(complete),
            options={"tracking": name, "start": "gradient"},
            back=_for_everyone,
            at=_after_steps,
            draw=FOUR,
        )
        for name, words in (("semi-atc", "semi-ATC"), ("atc", "ATC"))
    ),
    Edge(
        id="k-gt-of-single-steps-is-diging",
        source="k-gt",
        target="diging",
        when="a round has one local step and eta = 1: semi-ATC tracking, Y = G + C",
        cited=f"{LIU}: C = 0 at first",
        level="trace",
        carry=_as_tracking,
        narrow=_of_single_steps,
        needs=("eta",),
    ),
    Edge(
        id="k-gt-is-scaffold",
        source="k-gt",
        target="scaffold",
        when="W = J: option II of everybody, C = c - c_i",
        cited=f"{LIU} beside Karimireddy et al. (2020)",
        level="trace",
        carry=_as_scaffold,
        narrow=changed(complete),
        back=_for_everyone,
        draw=FOUR,
    ),
    Edge(
        id="k-gt-alone-is-fedavg",
        source="k-gt",
        target="fedavg",
        when="there is one client",
        cited=f"{LIU}: C stays 0",
        level="trace",
        carry=_local_sgd_at_its_rate,
        back=_for_everyone,
        draw=ALONE,
    ),
    Edge(
        id="led-of-single-steps-is-d2",
        source="led",
        target="d2",
        when="a round has one local step",
        cited=f"{ALGHUNAIM} beside Tang et al. (2018)",
        level="trace",
        carry=_as_d2,
        narrow=changed(_single),
    ),
    Edge(
        id="led-is-scaffold",
        source="led",
        target="scaffold",
        when="W = J and all rounds have equally many local steps: option II of everybody at eta = 1",
        cited=f"{ALGHUNAIM} beside Karimireddy et al. (2020): c_i - c = -dual / (eta_l tau)",
        level="trace",
        carry=_as_scaffold,
        narrow=_complete_and_alike,
        back=_for_everyone,
        draw=FOUR,
    ),
    Edge(
        id="d2-begins-as-dsgd",
        source="d2",
        target="dsgd",
        when="it is the first local step: first adapted, then combined",
        cited="external: Tang et al. (2018): X = W (X - eta_l G) at first",
        level="trace",
        carry=_as_dsgd,
        narrow=changed(_single),
        options={"matrix": "whole"},
        draw=FIRST,
    ),
    Edge(
        id="d2-is-fedavg",
        source="d2",
        target="fedavg",
        when="W = J: rounds of one local step of everybody",
        cited="external: Tang et al. (2018): the mean model moves by the mean gradient",
        level="trace",
        carry=_minibatches,
        narrow=changed(complete),
        options={"matrix": "whole"},
        back=_for_everyone,
        at=_after_steps,
        draw=FOUR,
    ),
    Edge(
        id="exact-diffusion-alone-is-dsgd",
        source="d2",
        target="dsgd",
        when="there is one client",
        cited="external: Yuan et al. (2018): nothing is mixed",
        level="trace",
        carry=_as_dsgd,
        options={"matrix": "half"},
        draw=ALONE,
    ),
    *(
        Edge(
            id=f"choco-{name}-is-dsgd",
            source="choco",
            target="dsgd",
            when=f"all entries are sent and consensus = 1: {words}",
            cited="external: Koloskova, Stich and Jaggi (2019): then X_hat is X",
            level="trace",
            carry=carry,
            narrow=_all_told,
            options={"compressor": "top-k", **options},
            needs=("kept", "consensus"),
        )
        for name, words, carry, options in (
            ("told", "first adapted, then combined", _as_dsgd, {"exchanged": "told"}),
            ("mixed", "first combined", _as_dsgd_that_combines_first, {"exchanged": "mixed", "known": "models"}),
        )
    ),
    Edge(
        id="dadam-is-fedamsgrad",
        source="dadam",
        target="fedamsgrad",
        when="there is one client and beta3 = 0: rounds of one local step with rate 1",
        cited="Nazari et al. (2019), Algorithm 1",
        level="trace",
        carry=_alone,
        narrow=fixing(beta3=0.0),
        options={"denominators": "local"},
        needs=("beta3",),
        zeroes=("beta3",),
        at=_after_steps,
        draw={"clients": (1, 1)},
        roots=True,
    ),
)
