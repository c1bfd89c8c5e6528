"""The costs of every row are those of the specification: counted by what a step depends on and what it moves."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_spec.float_counts import TAU, D, N, held, hyper, owned, play, setup_of
from test_spec.tracing import Origins, Traced, origins, sizes, trace_state, traced

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method, Program
from fedspec.costs import SYMBOLS, UNRECORDED, floats
from fedspec.covers import named_cover
from fedspec.errors import FedspecError
from fedspec.params import layers
from fedspec.plan import Message
from fedspec.readings import CoverName

pytestmark = pytest.mark.table(10)

ROWS = list(CATALOGUE.values())


NOT_COUNTED = {
    ("fednova-vr", "server"): "the mean of the d_i is made from those that the clients keep",
    ("fednova-vr", "down"): "the mean of the d_i is made from those that the clients keep",
    ("fednova-alg2", "server"): "the mean of the d_i is made from those that the clients keep",
    ("fednova-alg2", "down"): "the mean of the d_i is made from those that the clients keep",
    ("gossip-pga", "down"): "the exact mean has no server in the specification",
    ("choco", "gossip"): "it mixes all that neighbours know, where they are told of k entries",
    ("mifa", "server"): "the gradients that take part are replaced before they are read, all but those of one client",
    ("mime", "down"): "the mean gradient is made from those that the clients send first",
    ("fedpaq", "up"): "levels have no slope by which they could be told apart",
}
"""Formulas that an implementation meets and the specification does not, by row."""


def rows(kind: type, formula: str = "") -> pytest.MarkDecorator:
    """The rows of a kind, without those for which that formula cannot be counted."""
    chosen = [a for a in ROWS if isinstance(a.run, kind) and (a.id, formula) not in NOT_COUNTED]
    return pytest.mark.parametrize("a", chosen, ids=lambda a: a.id)


def test_every_row_has_costs_and_traps() -> None:
    for a in ROWS:
        assert a.costs is not UNRECORDED, a.id
        every = dict.fromkeys(SYMBOLS, 2)
        for field in ("down", "up", "gossip", "client", "working", "server"):
            assert floats(getattr(a.costs, field), every) >= 0
        assert a.traps and all(a.traps) and len(set(a.traps)) == len(a.traps)


def test_formulas_are_read_as_they_are_printed() -> None:
    assert floats("m (2 d + 1)", {"m": 3, "d": 5}) == 33
    assert floats("|E| (tau - 1) d + n d", {"|E|": 4, "tau": 3, "d": 2, "n": 5}) == 26
    with pytest.raises(KeyError):
        floats("m x", {"m": 1})


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("d / 32", 2),
        ("d / 3", 22),
        ("d / 3 + d / 3 + d / 3", 64),
        ("0.5 m d", 64),
        ("2.5 d", 160),
        ("d^2", 4096),
        ("(d - 60)^2 m / 0.5", 64),
        ("m (1 + d / 32)", 6),
        ("2 * m * d", 256),
    ],
)
def test_formulas_are_computed_as_anybody_reads_them(formula: str, value: int) -> None:
    """Formulas at d = 64 and m = 2; thirds are rounded up once, at the end."""
    assert floats(formula, {"d": 64, "m": 2}) == value


@pytest.mark.parametrize(
    ("formula", "where"),
    [
        ("m d)", "')' stands"),
        ("m (d + 1", "it ends"),
        ("m (d + )", "')' stands"),
        ("d / m", "'m' stands"),
        ("d / 0", "'0' stands"),
        ("d^0.5", "'0.5' stands"),
        ("d^m", "'m' stands"),
        ("d ** 2", "'*' stands"),
        ("m, d", "',' stands"),
        ("", "it ends"),
    ],
)
def test_what_is_no_formula_is_refused(formula: str, where: str) -> None:
    with pytest.raises(FedspecError, match=re.escape(where)):
        floats(formula, {"d": 64, "m": 2})


def test_a_name_that_is_longer_than_a_symbol_is_none() -> None:
    for name in ("N d", "d2", "md"):
        with pytest.raises(KeyError):
            floats(name, dict.fromkeys(SYMBOLS, 1))


@rows(LocalSolver)
def test_a_solver_keeps_what_its_later_steps_read(a: Algorithm) -> None:
    shapes = {"w": (2, 3)}
    d, cover = 6, named_cover(CoverName.AXES, shapes)
    assert isinstance(a.run, LocalSolver)
    x = np.ones(d)
    given: dict[str, Any] = {n: v for n, v in hyper(a).items() if n not in {"cover", "v0"}}
    begin = a.run.begin
    wanted = inspect.signature(begin).parameters if begin else {}
    begun = begin(x, **{n: v for n, v in (("cover", cover), ("v0", 0.25)) if n in wanted}) if begin else x
    most = 0
    # A round is entered anywhere: what is needed there is what later models depend on.
    for t in range(3):
        state = replace(begun, t=t) if hasattr(begun, "t") else begun
        state = trace_state(state, path=("state",))
        anchor = traced(x, ("anchor",))
        read: Origins = frozenset()
        for k in range(t, t + 3):
            extra = {"x": state, "state": state, "g": np.full(d, Traced(0.5)), "anchor": anchor, "k": k, "cover": cover}
            extra["layers"], extra["shapes"] = layers(shapes), tuple(shapes.values())
            named = {n: v for n, v in extra.items() if n in inspect.signature(a.run.rule).parameters}
            state = a.run.rule(**named, **given)
            read |= origins(getattr(state, "x", state))
        most = max(most, len(read))
    assert most == floats(a.costs.working, sizes(d=d, q=len(cover.sets)))


@rows(Method)
def test_a_server_keeps_what_its_later_rounds_read(a: Algorithm) -> None:
    assert isinstance(a.run, Method)
    h = a.run.hyper(**hyper(a))
    state = trace_state(a.run.init(h, np.ones(D)), path=("server",))
    read: Origins = frozenset()
    for _ in range(3):
        message = Message(delta=np.full(D, 0.5), examples=2, steps=2, a_norm=2.0, loss=1.5)
        state, _ = a.run.server(h, state, [message])
        read |= origins(getattr(state, "x", state))
    assert len(read) == floats(a.costs.server, sizes(d=D))
    assert floats(a.costs.client, sizes(d=D)) == 0, "a method's clients keep nothing from round to round"


@rows(Method)
def test_a_client_sends_what_the_server_reads(a: Algorithm) -> None:
    assert isinstance(a.run, Method)
    h = a.run.hyper(**hyper(a))
    sent = [
        Message(
            delta=traced(np.ones(D), (f"client {i}", "delta")),
            examples=i + 1,
            steps=2,
            a_norm=Traced(2.0, frozenset({(f"client {i}", "a_norm")})),
            loss=Traced(1.5, frozenset({(f"client {i}", "loss")})),
        )
        for i in range(2)
    ]
    state, _ = a.run.server(h, a.run.init(h, np.full(D, Traced(1.0))), sent)
    assert len(origins(getattr(state, "x", state))) == floats(a.costs.up, sizes(d=D, m=2))


@rows(Program, "server")
def test_a_programs_server_keeps_what_later_rounds_read(a: Algorithm) -> None:
    assert isinstance(a.run, Program)
    run = play(a)
    shape = run.state if a.run.event != "arrival" else None
    buffer = D if "buffer" in a.numbers else 0
    assert owned(run.read, "server", shape) + buffer == floats(a.costs.server, sizes(d=D))


@rows(Program)
def test_a_client_keeps_what_later_rounds_read(a: Algorithm) -> None:
    assert isinstance(a.run, Program)
    run = play(a)
    shape = run.state if a.run.event != "arrival" else None
    for i in range(N):
        if shape is None or i in run.senders:
            kept = 0 if shape is None else owned(run.read, f"client {i}", shape)
            assert kept == floats(a.costs.client, sizes(d=D))


RECEIVED_LAST = ("streaming-diloco",)
"""Algorithms whose clients begin a round from models of their own, and receive at its end: no point depends on the
server's."""


@rows(Program, "down")
def test_a_client_receives_what_its_points_depend_on(a: Algorithm) -> None:
    assert isinstance(a.run, Program)
    run = play(a, rounds=1)
    shape = run.state if a.run.event != "arrival" else None
    m = {"fedasync": 1, "delayed-nesterov": 1}.get(a.id, len(run.senders))
    received = [owned(run.asked[i], "server", shape) for i in run.senders[:m]]
    down = 0 if a.id in RECEIVED_LAST else floats(a.costs.down, sizes(d=D, m=m, n=N))
    assert sum(received) == down


@rows(Program, "gossip")
def test_gossip_moves_what_the_links_carry(a: Algorithm) -> None:
    """All clients send, so that nobody hears the model from a neighbour first."""
    run = play(a, rounds=1)
    assert run.moved == floats(a.costs.gossip, sizes(d=D, n=N, m=N, tau=TAU, E=N * (N - 1)))


SENDERS = [
    a for a in ROWS if isinstance(a.run, Program) and a.run.event != "exchange" and (a.id, "up") not in NOT_COUNTED
]
FOLLOWS = {"scaffold": D, "mime-lite": D, "mime": D}
"""Numbers that are sent though they follow from others that are sent: of Mime here alone, where gradients stay."""


@pytest.mark.parametrize("a", SENDERS, ids=lambda a: a.id)
def test_a_client_sends_as_many_numbers_as_the_server_can_tell_apart(a: Algorithm) -> None:
    """The rank of what the server knows after a round, as a function of one client's gradients."""
    assert isinstance(a.run, Program)
    h = a.run.hyper(**hyper(a))
    start = a.run.init(h, np.ones(D), setup_of(a))
    G = np.random.default_rng(1).normal(size=(N, TAU, D)) + 2

    def known(G: Array) -> Array:
        return np.array(held(play(a, 1, start, G).state), dtype=float)

    columns = []
    for k in range(TAU):
        for j in range(D):
            step = np.zeros_like(G)
            step[0, k, j] = 1e-5
            columns.append((known(G + step) - known(G - step)) / 2e-5)
    rank = int(np.linalg.matrix_rank(np.array(columns), tol=1e-6))
    m = {"fedasync": 1, "delayed-nesterov": 1}.get(a.id, N if "everyone" in a.run.takes else 2)
    sent = floats(a.costs.up, sizes(d=D, p=D, m=m, n=N, k=hyper(a).get("kept", 0))) // m
    norms = floats(a.costs.up, sizes(d=0, p=0, m=1, n=1, k=0))
    assert rank == sent - norms - FOLLOWS.get(a.id, 0)


WORKING = {
    "fedavg": "sgd",
    "fedprox": "proximal-sgd",
    "fednova": "sgd",
    "joint-local": "agdu",
    "joint-direct": "agdu",
    "fedada2": "sm3-ii-delayed",
    "fedadaadagrad": "agdu",
    "fedadaadam": "admu",
    "fedavg-normalised": "normalised-sgd",
    "fed-sgd": "sgd",
    "fedasync": "proximal-sgd",
    "dp-fedavg": "sgd",
}


@pytest.mark.parametrize("name", WORKING)
def test_a_client_needs_what_its_solver_needs(name: str) -> None:
    assert CATALOGUE[name].costs.working == CATALOGUE[WORKING[name]].costs.working
