"""Reductions of DiLoCo: to servers with less, to itself with the rate elsewhere, and by its memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fedspec.contract import Round
from fedspec.readings import Rated
from fedspec_properties.reductions.edge import Edge, fixing, pinned, told
from fedspec_properties.reductions.rounds import ALONE, of_rounds
from fedspec_suite.measure.scenario import Scenario, in_one_coordinate, with_hyper


def in_single_steps(algorithm: str) -> Callable[[Scenario], Scenario]:
    """The same local steps, each in a round of its own."""

    def carry(s: Scenario) -> Scenario:
        events = (replace(e, steps=(1,)) for e in s.events if isinstance(e, Round) for _ in range(e.steps[0]))
        return told(s, algorithm, tuple(events))

    return carry


def last_of_round(s: Scenario, k: int) -> int:
    """Which round of single steps ends where round k does."""
    return sum(e.steps[0] for e in s.events[: k + 1] if isinstance(e, Round)) - 1


def _one_coordinate(draw: Any, setting: Any, s: Scenario) -> Scenario:
    return with_hyper(in_one_coordinate(s), **_BARE)


_BARE = {"beta1": 0.0, "beta2": 0.0, "wd": 0.0, "eta": 1.0, "beta": 0.0}

ELSEWHERE = {Rated.STEP.value: Rated.BUFFER.value, Rated.BUFFER.value: Rated.STEP.value}
"""Where the rate is otherwise."""

CITED = "external: Douillard et al. (2023); by its definition"
EDGES = (
    pinned(source="diloco", target="fedavg", cited=CITED, level="server", values={"beta": 0.0}),
    Edge(
        id="diloco-is-fedavgm",
        source="diloco",
        target="fedavgm",
        when="its rate is outside the buffer, which is a sum; the server alone",
        cited="external: Douillard et al. (2023), OuterOpt; Hsu, Qi and Brown (2019)",
        level="server",
        carry=lambda s: told(s, "fedavgm"),
        options={"momentum_sum": "sum", "rated": "step"},
    ),
    Edge(
        id="diloco-rate-elsewhere",
        source="diloco",
        target="diloco",
        when="the rate stays what it is, as with the rate inside the buffer where it was outside, or outside it",
        cited="by its definition: v inside is eta times v outside",
        level="server",
        also=("round",),
        carry=lambda s: told(s, "diloco", options={"rated": ELSEWHERE[s.case.options["rated"]]}),
        roots=True,
    ),
    of_rounds(
        id="diloco-in-single-steps",
        source="diloco",
        target="diloco",
        when="one client, eta = 1 and beta = 0: a round of H steps is H rounds of one step, since its state goes on",
        cited="by its definition: the mean of one client is its model",
        carry=in_single_steps("diloco"),
        narrow=fixing(eta=1.0, beta=0.0),
        options={"inner": "kept"},
        needs=("eta", "beta"),
        zeroes=("beta",),
        at=last_of_round,
        draw={**ALONE, "everyone": True},
        roots=True,
    ),
    of_rounds(
        id="diloco-is-fedavg-normalised",
        source="diloco",
        target="fedavg-normalised",
        when="the model has one coordinate and nothing remembers: beta1 = beta2 = beta = 0, wd = 0, eta = 1",
        cited="by its definition: in one dimension g / (sqrt(g^2) + eps) is g over its length",
        narrow=_one_coordinate,
        options={"weights": "uniform"},
        needs=tuple(_BARE),
        zeroes=("beta1", "beta2", "wd", "beta"),
    ),
)
