"""Reductions of the algorithms that have no server: every client keeps a model and mixes it with its neighbours'."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Event, Exchange, Round
from fedspec.params import flatten
from fedspec_suite.laws.reductions.edge import Edge, fixing, told
from fedspec_suite.laws.reductions.exchanges import FOUR, changed, complete, size, unmixed
from fedspec_suite.laws.reductions.rounds import ALONE, FIRST
from fedspec_suite.measure.scenario import Scenario


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


def _minibatches(s: Scenario) -> Scenario:
    options = {"weights": "uniform"}
    events = _single_steps(s)
    return told(s, "fedavg", events, level="round", options=options, hyper={"eta": 1.0}, x0=_first_row(s))


def _as_dsgd(s: Scenario) -> Scenario:
    return told(s, "dsgd", options={"order": "adapt-then-combine"})


def _one_step(s: Scenario) -> Scenario:
    return told(s, "dsgd", options={"order": "combine-then-adapt"})


def _alone(s: Scenario) -> Scenario:
    """Rounds of one local step with rate 1: the change is minus the gradient."""
    hyper = {"eta": s.case.hyper["eta_l"], "eta_l": 1.0}
    options = {"epsilon": "outside"}
    events = _single_steps(s)
    return told(s, "fedamsgrad", events, level="round", options=options, hyper=hyper, x0=_first_row(s))


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
        carry=_one_step,
        narrow=changed(lambda e: replace(e, computing=e.computing[:1])),
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
        carry=_one_step,
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
