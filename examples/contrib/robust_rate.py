"""Robust learning rate: in coordinates where too few clients agree on the sign, the server steps the opposite way.

    Delta = sum_i p_i Delta_i
    D = Delta where |sum_i sign(Delta_i)| >= agreed, else -Delta      (in each coordinate)
    x = x + eta D

over the clients of the round, p_i by examples.

External: Ozdayi, Kantarcioglu and Gel (2021), arXiv 2007.03767, not opened. Witness: the authors' code
TinfoilHat0/Defending-Against-Backdoors-with-Robust-Learning-Rate (compute_robustLR and agg_avg of src/aggregation.py
at 711ab52), for agreed > 0; a threshold of 0 turns the rule off there, and does here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import stacked
from fedspec.arith import Scalar, Stack, Vector, sign, where_less
from fedspec.costs import Costs
from fedspec.domains import WHOLE, Parameter, declare
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec_suite.own import Mistake, Reduction

declare("agreed", Parameter(WHOLE, "votes that one direction needs above the other, lest the server turn round"))


@dataclass(frozen=True)
class RobustRate(Hyper):
    """Hyper-parameters and readings of the robust learning rate."""

    eta_l: Scalar
    agreed: Scalar
    eta: Scalar = 1
    weights: Weighting = Weighting.EXAMPLES


@record
class State:
    """The server's model."""

    x: Vector


@rule
def robust_rate(state: State, deltas: Stack, delta: Vector, *, eta: Scalar, agreed: Scalar) -> State:
    """Take the server step from all changes and their mean.

        D = -Delta where |sum_i sign(Delta_i)| < agreed, else Delta     robust-rate.D
        x = x + eta D                                                   robust-rate.step

    External: Ozdayi, Kantarcioglu and Gel (2021).
    """
    votes = sign(deltas).sum(axis=0)
    D = where_less(votes**2, agreed**2, -delta, delta)
    x = state.x + eta * D
    return State(x=x)


def init(h: RobustRate, x: Vector) -> State:
    """Begin with the model alone."""
    return State(x=x)


def server(h: RobustRate, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes, and step along the mean or against it, coordinate by coordinate."""
    p, deltas = stacked(messages, h.weights, state.x)
    delta = weighted_mean(deltas, p)
    return robust_rate(state, deltas, delta, **h.of(robust_rate)), {"delta": delta}


ROW = Algorithm(
    id="robust-rate",
    family=Family.SERVERS,
    title="FedAvg with a server that turns round where clients disagree",
    source="external: Ozdayi, Kantarcioglu and Gel (2021), arXiv 2007.03767",
    levels=("server", "round"),
    readings=(
        Reading(
            name="ozdayi-2021",
            words="the mean by examples, times -eta where clients disagree",
            fixes={"weights": "examples"},
        ),
    ),
    run=Method(hyper=RobustRate, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="d"),
    usual={"agreed": 4},
    denies={
        Fact.PLAIN_MEAN: "the changes' signs are counted, whatever the changes weigh",
        "zero-weight": "who has no examples votes all the same",
    },
    traps=(
        "where clients disagree the rate is -eta, not 0: the server climbs",
        "votes are not weighed by examples, changes are",
    ),
)


def last_move(p: Any, changes: Any, h: Any, o: Any) -> Any:
    """Return the move by counting the majority's lead in each coordinate, without a sum of signs."""
    up, down = (sum(1 * (s * v > 0) for v in changes) for s in (1, -1))
    turned = 1 * (up < down + h["agreed"]) * (down < up + h["agreed"])
    return (1 - 2 * turned) * h["eta"] * sum(p_i * v for p_i, v in zip(p, changes, strict=True))


MOVES = {"robust-rate": last_move}

EDGES = (Reduction(target="fedavg", values={"agreed": 0}, cited="no lead is below 0"),)

MUTANTS = (
    Mistake(
        id="robust-rate-stands",
        words="where clients disagree the server stays, in place of turning round",
        function=robust_rate,
        old="-delta, delta)",
        new="0 * delta, delta)",
    ),
    Mistake(
        id="robust-rate-strict",
        words="as many votes as the threshold are not enough",
        function=robust_rate,
        old="votes**2, agreed**2, -delta, delta",
        new="agreed**2, votes**2, delta, -delta",
    ),
    Mistake(
        id="robust-rate-up",
        words="only who is above 0 is counted as agreed",
        function=robust_rate,
        old="where_less(votes**2, agreed**2, -delta, delta)",
        new="where_less(votes, agreed, -delta, delta)",
    ),
)
