"""CHOCO-SGD: gossip of compressed differences. Row i of every stack is client i's; X_hat = 0 at first.

    I times:  X = X - eta_l G(X)
              Q = C(X - X_hat)                       (C, row by row: the k largest entries, or the scaled signs)
              X_hat = X_hat + Q
              X = X + consensus (W X_hat - X_hat)

Q is all that is sent. Row i of X_hat is what the neighbours of client i know of its model, and client i too, since it
is made of what was sent. W is doubly stochastic, so that the mean model moves by the mean gradient, whatever C is.

The authors' code exchanges first: neighbours mix by what they knew before, and are told of the models after.

    gossip-first  X = X - eta_l G(X) + consensus (W X_hat - X_hat);  X_hat = X_hat + C(X - X_hat)

External: Koloskova, Stich and Jaggi (2019), arXiv 1902.00340, not opened. Witnesses, two unrelated codes that agree:
``liboyue/Network-Distributed-Algorithm``, ``nda/optimizers/decentralized_distributed/CHOCO_SGD.py`` at 7f661e9, and
``sacs-epfl/decentralizepy``, ``src/decentralizepy/sharing/Choco.py``, lines 359-451 at a5d46be, which keeps W X_hat
instead. The authors' code: ``epfml/ChocoSGD``, ``convex_code/logistic.py``, lines 109 and 183-187 at 3cb976a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.peers import Peers, check_everyone, rows
from fedspec.arith import Scalar, Stack, Vector
from fedspec.client.compress import compress
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.compressed_gossip import told, towards_told, untold
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Compressor, FirstExchanged, KnownStart
from fedspec.records import record


@dataclass(frozen=True)
class Choco(Hyper):
    """Hyper-parameters and options of CHOCO-SGD."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {"kept": ("compressor=top-k",)}

    eta_l: Scalar
    consensus: Scalar
    kept: int = NOT_GIVEN
    compressor: Compressor = Compressor.TOP_K
    exchanged: FirstExchanged = FirstExchanged.TOLD
    known: KnownStart = KnownStart.NOTHING


@record
class Known(Peers):
    """The clients' models, and their neighbours' estimates of them."""

    X_hat: Stack


def init(h: Choco, x: Vector, setup: Setup) -> Known:
    """Initial state: the models, and the neighbours' estimates of them, which are 0 or exact."""
    X = rows(x, setup)
    return Known(X, X if h.known is KnownStart.MODELS else X * 0)


def step(h: Choco, state: Known, clients: Clients, plan: Exchange) -> tuple[Known, dict[str, Any]]:
    """Run one round of CHOCO-SGD: local steps with an exchange after each."""
    check_everyone(plan, clients)
    X, X_hat, W, everyone = state.X, state.X_hat, plan.mixing, range(len(clients))
    for t in range(len(plan.computing)):
        X = sgd(X, gradients(clients, everyone, t, X), eta_l=h.eta_l)
        if h.exchanged is FirstExchanged.MIXED:
            X = towards_told(X, X_hat, W, consensus=h.consensus)
        X_hat = told(X_hat, compress(untold(X, X_hat), h.compressor, h.kept))
        if h.exchanged is FirstExchanged.TOLD:
            X = towards_told(X, X_hat, W, consensus=h.consensus)
    return Known(X, X_hat), {"X_hat": X_hat.reshape(-1)}


ROW = Algorithm(
    id="choco",
    family=Family.GOSSIP,
    aliases={"choco-sgd": "its name in full"},
    title="gossip of compressed differences",
    source="external: Koloskova, Stich and Jaggi (2019), CHOCO-SGD",
    basis=Basis.CODE,
    levels=("trace",),
    readings=(
        Reading(
            name="told-first",
            formerly=("koloskova-2019",),
            words="as two codes have it: neighbours are told of X - eta_l G, then mix; X_hat = 0 at first",
            fixes={"exchanged": "told", "known": "nothing"},
        ),
        Reading(
            name="epfml",
            words="the authors' convex code: they mix what they knew before, then are told; X_hat = X at first",
            fixes={"exchanged": "mixed", "known": "models"},
        ),
        Reading(
            name="gossip-first",
            words="the same, X_hat = 0 at first, as the authors' deep code (epfml/ChocoSGD, "
            "dl_code/pcode/optim/parallel_choco.py, lines 155-186 at 3cb976a), which compresses each layer by itself",
            fixes={"exchanged": "mixed", "known": "nothing"},
        ),
    ),
    run=Program(hyper=Choco, init=init, step=step, event="exchange", takes=("peers",)),
    costs=Costs(
        gossip="|E| tau k",
        client="2 d",
        working="3 d",
        note="under top-k, the k places not counted; of what neighbours told one weighted sum is enough, which takes d",
    ),
    traps=(
        "what is compressed is the difference to what the neighbours know, not the model",
        "X_hat is made of what was sent: one that holds what was not sent is known to nobody",
        "the model moves by the difference of what is known, its own known model included, not its own model",
        "the order is a reading: where all is sent and consensus = 1 this one is W (X - eta_l G), the authors' code "
        "W X - eta_l G",
        "k counts entries of the whole model of a client, not of each block, and not of all clients together",
        "k is 1 or more: sacs-epfl/decentralizepy, whose share may round to no entry, sends all of them there "
        "(Choco.py, lines 203-206 at a5d46be)",
        phrases.DOUBLY_STOCHASTIC,
    ),
    denies={
        "problem-translates": "where neighbours know nothing at first, what is sent of a model hangs on where zero lies"
    },
    symbols={"eta_l": "eta", "consensus": "gamma", "kept": "k"},
)
