"""Rounds of an algorithm whose numbers are traced, so that what is kept and sent can be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from test_spec.tracing import CountedMatrix, Origins, Path, Traced, counted, origins, trace_state, traced

from fedspec.arith import Array
from fedspec.catalogue import Algorithm, Program
from fedspec.contract import Offer
from fedspec.facts import Fact
from fedspec.plan import Arrival, Exchange, Plan, Setup
from fedspec.readings import choice
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.case_parts import lengths
from fedspec_suite.measure.cases import STRATEGIES
from fedspec_suite.measure.setting import setting_of

N, D, TAU, BUFFER = 3, 2, 3, 2


def hyper(a: Algorithm) -> dict[str, Any]:
    """Numbers and options of the plainest case, canonical; a delay is 2, and nothing is clipped."""
    case = plain_scenario(setting_of(Offer(a.id, a.levels[-1], a.readings[0].name))).case
    turned = {n: v for n, v in (("z", 2), ("clip_norm", 64.0), ("buffer", BUFFER)) if n in case.hyper}
    return {**case.hyper, **turned, **{n: choice(kind, n, case.options[n]) for n, kind in a.options.items()}}


@dataclass
class Client:
    """A client that notes what the points depend on where it is asked for a gradient."""

    G: Array
    asked: list[Origins]

    def __call__(self, k: int, x: Array) -> Array:
        self.asked.append(origins(x))
        return self.G[k]


@dataclass
class Run:
    """Some rounds of a program from a traced state.

    Attributes:
        state: the last one.
        read: numbers on which the models at the ends of rounds depend.
        asked: numbers on which each client's points of the first round depend.
        senders: the participants.
        moved: floats that the mixing matrix moved in the first round.
    """

    state: Any
    read: Origins
    asked: list[Origins]
    senders: Sequence[int]
    moved: int


def setup_of(a: Algorithm) -> Setup:
    """Three clients, and a model of one block: a row where it has to be a matrix."""
    return Setup((2, 1, 1), {"w": (1, D) if a.has(Fact.MATRICES) else (D,)})


def play(a: Algorithm, rounds: int = 3, state: Any = None, G: Array | None = None) -> Run:
    """Rounds, exchanges or fillings of the buffer, with every number of the state traced unless it is given."""
    assert isinstance(a.run, Program)
    h = a.run.hyper(**hyper(a))
    setup = setup_of(a)
    if state is None:
        state = begun(a, h, setup)
    if G is None:
        # Gradients come from nowhere, in the arithmetic of the state.
        G = np.full((N, TAU, D), Traced(0.5))
    clients = [Client(G[i], []) for i in range(N)]
    everyone = bool({"everyone", "peers"} & set(a.run.takes)) or a.run.event == "exchange"
    who = tuple(range(N)) if everyone else (0, 1)
    W = counted(np.full((N, N), 1 / N))
    read: Origins = frozenset()
    asked: list[Origins] = []
    moved = 0
    for r in range(rounds):
        for plan in plans(a, who, W):
            state, _ = a.run.step(h, state, clients, plan)
            read |= origins(state.x)
        if r == 0:
            asked, moved = [frozenset().union(*c.asked) for c in clients], sum(W.moved)
    return Run(state, read, asked, who, moved)


def plans(a: Algorithm, who: tuple[int, ...], W: CountedMatrix) -> list[Any]:
    """Events of one round of the plainest kind."""
    assert isinstance(a.run, Program)
    takes = a.run.takes
    if a.run.event == "arrival":
        return [Arrival(client=i, steps=TAU, delay=0) for i in who[: BUFFER if "buffer" in a.numbers else 1]]
    if a.run.event == "exchange":
        clusters = (who,) if "clusters" in takes else ()
        return [Exchange(() if "peers" in takes else who, (who,) * TAU, W, clusters)]
    strategies = STRATEGIES[:1] * len(who) if "strategies" in takes else ()
    noise = (0.5,) * D if "noise" in takes else ()
    draws = ((0.5,) * D,) * len(who) if "draws" in takes else ()
    return [
        Plan(who, lengths(takes, (TAU,) * len(who)), (2,) * len(who), strategies=strategies, noise=noise, draws=draws)
    ]


def begun(a: Algorithm, h: Any, setup: Setup) -> Any:
    """The first state, traced."""
    assert isinstance(a.run, Program)
    x = np.ones(N * D if "peers" in a.run.takes else D)
    state = a.run.init(h, x, setup)
    if a.run.event == "arrival":
        # The present model stands in the server's state and at the end of its versions: it is kept once.
        if not hasattr(state, "server"):
            return replace(state, versions=(traced(x, ("x",)),))
        server = trace_state(state.server, path=("server",))
        return replace(state, server=server, versions=(getattr(server, "x", server),))
    # What a first round only makes, later ones read.
    return trace_state(replace(state, begun=True) if hasattr(state, "begun") else state)


def owner(path: Path, state: Any) -> str:
    """Owner of a number: a stack has a row for each client, a tuple a record; all else is the server's."""
    inner = state
    for name in path:
        if isinstance(inner, np.ndarray):
            return f"client {name}" if inner.ndim == 2 else "server"
        if isinstance(inner, tuple) and len(inner) == N:
            return f"client {name}"
        inner = inner[int(name)] if isinstance(inner, tuple) else getattr(inner, name, inner)
    return "server"


def owned(of: Origins, whose: str, state: Any) -> int:
    return sum(owner(path, state) == whose for path in of)


def held(state: Any) -> list[float]:
    """The server's numbers in a state."""
    marked = trace_state(state)
    flat: list[float] = []

    def collect(value: Any, like: Any) -> None:
        if isinstance(value, np.ndarray):
            flat.extend(
                float(v)
                for v, t in zip(value.flat, like.flat, strict=True)
                if owner(next(iter(t.of)), state) == "server"
            )
        elif isinstance(value, tuple):
            for v, w in zip(value, like, strict=True):
                collect(v, w)
        elif hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                if name not in {"p", "cover", "layers"}:
                    collect(getattr(value, name), getattr(like, name))

    collect(state, marked)
    return flat
