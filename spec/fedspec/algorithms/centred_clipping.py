"""Centred clipping: the server averages the changes' differences from its last aggregate, each difference clipped.

    L times:  v = v + (1 / n) sum_i min(1, c / ||Delta_i - v||) (Delta_i - v)     (clients as in FedAvg)
    x = x + eta v                                                                 (eta = 1)

over the n clients of the round, who are not weighed; v is 0 before the first round and is kept from round to round.

External: Karimireddy, He and Jaggi (2021), arXiv 2012.10333, who clip clients' momenta; the box as the authors' code
epfml/byzantine-robust-optimizer (codes/aggregator/clipping.py at 288417f) and byzfl 0.0.11 have it, which agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import together
from fedspec.arith import Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.distances import centred_clipping
from fedspec.plan import Inbox
from fedspec.records import record
from fedspec.server.average import average


@dataclass(frozen=True)
class CentredClipping(Hyper):
    """Hyper-parameters of centred clipping."""

    eta_l: Scalar
    clip_norm: Scalar
    passes: int
    eta: Scalar = 1


@record
class Centred:
    """The server's model and its last aggregate, the centre of the next clipping.

    Attributes:
        x: the model.
        v: the centre of the next round.
    """

    x: Vector
    v: Vector


def init(h: CentredClipping, x: Vector) -> Centred:
    """Initial state: the centre is zero."""
    return Centred(x=x, v=zeros(x))


def server(h: CentredClipping, state: Centred, messages: Inbox) -> tuple[Centred, dict[str, Any]]:
    """Run some passes of centred clipping from the centre; the result is the step and the new centre."""
    deltas, v = together(messages).deltas, state.v
    for _ in range(h.passes):
        v = centred_clipping(v, deltas, clip_norm=h.clip_norm)
    x = average(state.x, v, eta=h.eta)
    return Centred(x=x, v=v), {}


ROW = Algorithm(
    id="centred-clipping",
    family=Family.SERVERS,
    aliases={"cclip": "its short name"},
    title="the mean of differences from the last move, each clipped",
    source="external: Karimireddy, He and Jaggi (2021)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="karimireddy-2021-code",
            formerly=("karimireddy-2021",),
            words="v = v + mean of (Delta_i - v) min(1, c / ||Delta_i - v||), L times, from the v of the round before",
        ),
    ),
    run=Method(hyper=CentredClipping, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True),
    costs=Costs(down="m d", up="m d", server="2 d"),
    facts=(Fact.ISOTROPIC,),
    denies={"coordinates": "what it clips are whole changes"},
    usual={"passes": 1},
    traps=(
        phrases.DOWNHILL,
        "differences from v are clipped, and v is added again; changes that are clipped themselves forget v",
        "v is kept from round to round, and is 0 only before the first",
        "each pass clips the differences from the v of that pass",
        "lengths are over the whole model: clipped by tensors a change may be the root of their number longer",
        "a change that equals v has no direction, and differs by 0",
    ),
    symbols={"clip_norm": "tau", "passes": "L"},
)
