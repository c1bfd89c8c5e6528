"""Mutants of the rounds of the algorithms that adapt on both sides: who is averaged, with which weights and sign."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fedspec_suite.mutants.mutant import Mutant

ALGORITHMS = "fedspec.algorithms."
PAIRS = ("fedada2", "joint-local", "joint-direct")
WEIGHTED = ("fedadaadagrad", "fedadaadam", "fedblended")
EACH = "each(client, clients, plan, state.x)"
PLAN = "type(plan)(**{**vars(plan), "

_SERVER = ALGORITHMS + "server_update.server_update"
_MEAN = "weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))"


def box(algorithm: str) -> str:
    """The round of an algorithm."""
    return f"{ALGORITHMS}{algorithm.replace('-', '_')}.step"


def boxes(
    *, slug: str, words: str, old: str, new: str, algorithms: tuple[str, ...], **options: str
) -> Iterator[Mutant]:
    """The same edit in the box of each algorithm; the first one has the plain id."""
    for algorithm in algorithms:
        yield Mutant(
            id=f"joint-{slug}" + (f"-{algorithm}" if algorithm != algorithms[0] else ""),
            words=words,
            algorithms=(algorithm,),
            rule=box(algorithm),
            old=old,
            new=new,
            options=options,
        )


_scaled = partial(Mutant, algorithms=WEIGHTED, rule="fedspec.mixing.scaled.scaled", old="scale * delta")
_server = partial(Mutant, rule=_SERVER, old=_MEAN)

MUTANTS = (
    _scaled(id="scaled-ignored", words="the weights Xi_i are ignored", new="delta"),
    _scaled(id="scaled-divides", words="the weights Xi_i divide", new="delta / scale"),
    _scaled(id="scaled-squared", words="the weights Xi_i enter twice", new="scale * scale * delta"),
    Mutant(
        id="joint-weights-normalised",
        words="the weighted changes are divided by the sum of their weights instead of their number",
        algorithms=WEIGHTED,
        rule=_SERVER,
        old=_MEAN,
        new=_MEAN + " * (len(deltas) / sum(plan.scales) if plan.scales else 1)",
    ),
    _server(
        id="joint-by-examples",
        words="the mean weighs by examples",
        algorithms=(*PAIRS, *WEIGHTED),
        new="weighted_mean(deltas, shares(plan.examples, state.x))",
    ),
    _server(
        id="joint-drawn-twice-counts-once",
        words="a client that is drawn twice counts once",
        algorithms=("fedada2", "fedadaadagrad"),
        new="weighted_mean(deltas, "
        "shares([int(plan.participants.index(i) == p) for p, i in enumerate(plan.participants)], state.x))",
    ),
    _server(
        id="joint-sum", words="a sum over the participants instead of their mean", algorithms=PAIRS, new="sum(deltas)"
    ),
    _server(
        id="joint-uphill",
        words="the server takes the mean for a gradient and reverses it",
        algorithms=PAIRS,
        new=f"-{_MEAN}",
    ),
    Mutant(
        id="joint-servers-exchanged",
        words="the server's AdaGrad and Adam are exchanged",
        algorithms=PAIRS,
        rule=ALGORITHMS + "server_update.server_step",
        old="if server is Adaptivity.ADAM:",
        new="beta2 = beta2 or 0\n    if server is Adaptivity.ADAGRAD:",
    ),
    *boxes(
        slug="first-client",
        words="everybody trains on the data of the first participant",
        old=EACH,
        new=EACH.replace("clients,", "[clients[plan.participants[0]]] * len(clients),"),
        algorithms=(*PAIRS, *WEIGHTED),
    ),
    *boxes(
        slug="longest-work",
        words="everybody takes as many steps as the one who takes most",
        old=EACH,
        new=EACH.replace("plan,", PLAN + "'steps': (max(plan.steps),) * len(plan.steps)}),"),
        algorithms=(*PAIRS, *WEIGHTED),
    ),
    *boxes(
        slug="sign",
        words="the changes point uphill",
        old=EACH,
        new=f"-{EACH}",
        algorithms=(*PAIRS, *WEIGHTED),
    ),
)
