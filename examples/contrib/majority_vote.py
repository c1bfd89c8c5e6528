"""Majority vote: clients vote on the sign of each coordinate, and the server steps by eta along the majority's sign.

    Delta = sign(sum_i sign(Delta_i))
    x = x + eta Delta

over the clients of the round, who are not weighed; sign(0) = 0, so a tie moves nothing.

External: Bernstein, Zhao, Azizzadenesheli and Anandkumar (2019), arXiv 1810.05291, not opened, with one local step and
no momentum. Witness: the authors' code jiaweizzhao/signSGD-with-Majority-Vote (majority_vote in
main/signum_experiment_docker/source_code/compressor.py at f3f4257), which has one bit for a sign and so none for 0,
and agg_sign of TinfoilHat0/Defending-Against-Backdoors-with-Robust-Learning-Rate (src/aggregation.py at 711ab52),
which takes changes of many steps and leaves a tie at 0, as here. They agree where no coordinate is 0 and no vote tied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import stacked
from fedspec.arith import Scalar, Stack, Vector, sign
from fedspec.costs import Costs
from fedspec.domains import Dimension
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average
from fedspec_suite.own import Mistake


@dataclass(frozen=True)
class MajorityVote(Hyper):
    """Hyper-parameters of majority vote."""

    eta_l: Scalar
    eta: Scalar


@record
class State:
    """The server's model."""

    x: Vector


@rule
def majority(deltas: Stack) -> Vector:
    """Return the sign of each coordinate for which most clients vote.

        Delta = sign(sum_i sign(Delta_i))                     majority-vote.delta

    External: Bernstein et al. (2019).
    """
    delta: Vector = sign(sign(deltas).sum(axis=0))
    return delta


def init(h: MajorityVote, x: Vector) -> State:
    """Begin with the model alone."""
    return State(x=x)


def server(h: MajorityVote, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Count the votes, and step."""
    _, deltas = stacked(messages, Weighting.UNIFORM, state.x)
    delta = majority(deltas)
    return State(x=average(state.x, delta, eta=h.eta)), {"delta": delta}


ROW = Algorithm(
    id="majority-vote",
    family=Family.SERVERS,
    title="clients vote on the direction of each coordinate",
    source="external: Bernstein, Zhao, Azizzadenesheli and Anandkumar (2019), arXiv 1810.05291",
    levels=("server", "round"),
    readings=(Reading(name="ties-rest", words="Delta = sign(sum_i sign(Delta_i)), where sign(0) = 0"),),
    run=Method(hyper=MajorityVote, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="d"),
    denies={"rests": "in rounded numbers the sign of a change of 0 cannot be decided"},
    dimensions={"eta": Dimension.LENGTH},
    traps=(
        "signs are added, not changes: one client's length counts for nothing",
        "the sum of the signs has a sign again: a step is eta or 0 in each coordinate",
        "nobody is weighed by examples",
    ),
)


def last_move(p: Any, changes: Any, h: Any, o: Any) -> Any:
    """Return the move by counting positive and negative changes in each coordinate, without a sign function."""
    up, down = (sum(1 * (s * v > 0) for v in changes) for s in (1, -1))
    return h["eta"] * (1 * (up > down) - 1 * (up < down))


MOVES = {"majority-vote": last_move}

MUTANTS = (
    Mistake(
        id="majority-vote-of-sum",
        words="the sign is that of the sum of changes, so that the longest decides",
        function=majority,
        old="sign(deltas).sum(axis=0)",
        new="deltas.sum(axis=0)",
    ),
    Mistake(
        id="majority-vote-mean",
        words="the mean of the signs is taken, not its sign",
        function=majority,
        old="sign(sign(deltas).sum(axis=0))",
        new="sign(deltas).sum(axis=0) / len(deltas)",
    ),
)
