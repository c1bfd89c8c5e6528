"""The canonical readings that stand plain beside a form with options: which rows have one, and that the two agree."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import fedspec.readings
from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method, Program
from fedspec.covers import named_cover
from fedspec.entry import LEFT_OPEN
from fedspec.hyper import plays_part
from fedspec.params import layers
from fedspec.plan import Arrival, Exchange, Oracle, Plan, Setup
from fedspec.population import Clients
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import CoverName
from fedspec.rules import PLAIN
from fedspec_suite.measure.parts import lengths
from fedspec_suite.report.source import text_of
from fedspec_torch.population import Batched
from fedspec_torch.problems import QuadraticClients as Stacked

pytestmark = pytest.mark.table(10)

BY_PLAN = {"Strategy"}
"""What a plan names for each client: a box that tells these apart follows its paper."""

NUMBERS: dict[str, Any] = {
    **{"eta_l": 0.3, "eta": 0.7, "beta1": 0.9, "beta2": 0.75, "beta3": 0.25, "beta": 0.5, "eps": 0.25, "tau": 0.5},
    **{"v0": 0.25, "v0_l": 0.125, "m0_l": 0.5, "beta1_l": 0.8, "beta2_l": 0.6, "eps_s": 1.5, "rho": 0.6, "mu": 0.2},
    **{
        "mix": 0.4,
        "buffer": 2,
        "tau_c": 1,
        "clip_norm": 1.5,
        "sigma": 0.3,
        "lam": 0.2,
        "wd": 0.2,
        "levels": 3,
        "kept": 2,
    },
    **{
        "P": 2,
        "overlap": 1,
        "own": 0.3,
        "chance": 0.25,
        "consensus": 0.4,
        "kept": 2,
        "f": 0,
        "keep": 2,
        "smooth": 0.5,
        "passes": 2,
        "radius": 0.7,
        "ns_steps": 3,
    },
}
SETUP = Setup((1, 2, 3, 4), {"w": (2, 2), "b": (1, 1)})
W = np.array([[0.5, 0.25, 0.25, 0], [0.25, 0.5, 0.25, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 1]])
CLUSTERS = ((0, 2, 1), (3,))
STRATEGIES = ("sgd", "adam", "sm3-adagrad", "adagrad", "sm3-adam")


def with_plain() -> list[str]:
    return [a.id for a in CATALOGUE.values() if a.run.plain]


@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_a_row_with_options_has_a_plain_form(a: Algorithm) -> None:
    assert a.run.plain or a.options.keys() <= LEFT_OPEN.keys()


@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_no_page_shows_a_switch(a: Algorithm) -> None:
    """No option is compared, matched, defaulted or fished out of the record; nothing is called that switches within."""
    switching = {"h.of", "corrected", "root", "rate", "around", "warmed", *(name.rpartition(".")[2] for name in PLAIN)}
    readings = {n for n in vars(fedspec.readings) if n[0].isupper()} - BY_PLAN
    for node in ast.walk(ast.parse(text_of(a).code)):
        if isinstance(node, ast.Compare | ast.match_case | ast.arguments):
            named = [n.value for n in ast.walk(node) if isinstance(n, ast.Attribute)]
            assert not {n.id for n in named if isinstance(n, ast.Name)} & readings
        assert not isinstance(node, ast.Call) or ast.unparse(node.func) not in switching


def same(one: Any, two: Any) -> bool:
    """Whether states or intermediates are equal, bit for bit."""
    if is_dataclass(one):
        return type(one) is type(two) and all(same(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[n], two[n]) for n in one)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(np.all(np.asarray(one) == np.asarray(two)))


@dataclass(frozen=True)
class Drifting:
    """Stacks of clients whose gradients grow with the local step."""

    clients: Stacked

    def __len__(self) -> int:
        return len(self.clients)

    def oracle(self, S: Sequence[int]) -> Oracle:
        g = self.clients.oracle(S)
        return lambda k, x: g(k, x) * (1 + k / 4)


def problem(library: str, whole: bool = False) -> tuple[Clients, Any, Any]:
    """Four clients, a model of five coordinates, and what makes arrays."""
    rng = np.random.default_rng(1)
    H, e, x = rng.normal(size=(4, 5, 5)), rng.normal(size=(4, 5)), rng.normal(size=5)
    H = H @ H.swapaxes(1, 2) / 5
    if library == "torch":
        return Batched(Drifting(Stacked(torch.tensor(H), torch.tensor(e))), whole=whole), torch.tensor(x), torch.tensor
    return [lambda k, x, g=g: g(k, x) * (1 + k / 4) for g in QuadraticClients(H, e).clients], x, np.asarray


def hyper(run: Any, **more: Any) -> Any:
    """The record of an algorithm: options at their defaults, numbers that they need from the table."""
    options = {f.name: str(more.get(f.name, f.default)) for f in fields(run.hyper) if isinstance(f.default, StrEnum)}
    played = (f.name for f in fields(run.hyper) if plays_part(run.hyper.plays, f.name, options))
    given = {**NUMBERS, **more}
    return run.hyper(**{n: given[n] for n in played if n in given})


def plans(run: Program | Method) -> list[Plan]:
    """Rounds of some clients with uneven steps, some of them twice; FedNova's box draws without replacement."""
    takes = run.takes if isinstance(run, Program) else ()
    rounds = [((0, 2, 1), (3, 1, 3)), ((1,), (2,)), ((2, 0, 1, 3), (2, 2, 4, 3))]
    repeats = "repeats" in takes and not hasattr(run.hyper, "sampled_weights")
    if repeats:
        rounds = [((0, 2, 0), (3, 1, 3)), ((1,), (2,)), ((2, 0, 1, 3, 2), (2, 2, 4, 3, 1))]
    if "everyone" in takes:
        rounds = [((0, 1, 2, 3), (3, 1, 3, 2)), ((3, 1, 0, 2), (1, 2, 2, 4))]
    rounds = [(who, lengths(takes, steps)) for who, steps in rounds]
    return [
        Plan(
            who,
            steps,
            tuple(SETUP.examples[i] for i in who),
            strategies=STRATEGIES[-len(who) :] if "strategies" in takes else (),
            scales=(0.5, 1.0, 0.25, 1.5, 0.75)[: len(who)] if "scales" in takes else (),
            noise=(0.3, -1.2, 0.8, 0.1, -0.4) if "noise" in takes else (),
            draws=((0.3, 0.9, 0.8, 0.1, 0.4),) * len(who) if "draws" in takes else (),
            repeats=repeats,
        )
        for who, steps in rounds
    ]


def exchanges(run: Program, array: Any) -> list[Exchange]:
    """Rounds of other senders and other draws, or of all where there is no server."""
    if "peers" in run.takes:
        return [Exchange((), ((0, 1, 2, 3),) * n, array(W)) for n in (3, 1)]
    rounds = [((0, 3), ((1, 3), (0, 2))), ((1, 0, 3), ((0, 1, 2), (3, 1, 2))), ((1, 2, 3), ((2, 0), (1, 3)))]
    clusters = CLUSTERS if "clusters" in run.takes else ()
    if "senders" not in run.takes:
        one_set = "one-set" in run.takes
        return [Exchange(S, (S, S) if one_set else computing, array(W), clusters=clusters) for S, computing in rounds]
    apart = np.array([[0.7, 0.3, 0], [0.3, 0.7, 0], [0, 0, 1]])
    return [Exchange(S, (S,) * 3, array(apart[3 - len(S) :, 3 - len(S) :]), clusters=clusters) for S, _ in rounds[1:]]


def arrivals(run: Program) -> list[tuple[Arrival, ...]]:
    """Single updates and pairs that fit the buffer, some from old versions."""
    one, two, three = Arrival(0, 2, 0), Arrival(3, 3, 0), Arrival(1, 1, 1)
    return (
        [(one,), (two,), (three,), (one,)] if run.init.__module__.endswith("async") else [(one,), (two,), (three, one)]
    )


def both(run: Program | Method, clients: Clients, x: Any, array: Any, h: Any) -> list[tuple[Any, Any]]:
    """After every event, what the plain form has and what the one with options has."""
    assert run.plain
    steps: tuple[Any, ...]
    events: list[tuple[Any, ...]]
    if isinstance(run, Method):
        servers = (run.plain, run.server)
        steps = tuple(partial(_round, server=server, local=run.local, norm=run.norm) for server in servers)
        start, events = run.init(h, x), [(p,) for p in plans(run)]
    else:
        steps, peers = (run.plain, run.step), "peers" in run.takes
        start = run.init(h, array(np.linspace(-1, 1, 20)) if peers else x, SETUP)
        match run.event:
            case "round":
                events = [(p,) for p in plans(run)]
            case "exchange":
                events = [(e,) for e in exchanges(run, array)]
            case "arrival":
                events = [*arrivals(run)]
    states, out = [start, start], []
    for event in events:
        ran = [step(h, state, clients, *event) for step, state in zip(steps, states, strict=True)]
        states = [state for state, _ in ran]
        out.append((ran[0], ran[1]))
    return out


def _round(h: Any, state: Any, clients: Clients, plan: Plan, **functions: Any) -> tuple[Any, dict[str, Any]]:
    trace = run_round(h, state, clients, plan, **functions)
    return trace.state, trace.values


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", [n for n in with_plain() if not isinstance(CATALOGUE[n].run, LocalSolver)])
def test_the_plain_box_is_the_form_with_options_at_its_defaults(name: str, library: str) -> None:
    """Bit for bit, whole states and all that is shown, after every event."""
    run = CATALOGUE[name].run
    assert not isinstance(run, LocalSolver)
    clients, x, array = problem(library, whole=isinstance(run, Method) and run.whole)
    delays = [1, 3] if "z" in CATALOGUE[name].numbers else [1]
    for z in delays:
        pairs = both(run, clients, x, array, hyper(run, z=z))
        assert all(same(one, two) for one, two in pairs)
        assert not same(pairs[0][0], pairs[-1][0])


BOXES = [(a.id, name) for a in CATALOGUE.values() if isinstance(a.run, Program) for name in a.run.boxes]


def test_a_second_box_belongs_to_a_reading() -> None:
    assert ("dadam", "chen-2021") in BOXES
    assert all(name in {r.name for r in CATALOGUE[a].readings[1:]} for a, name in BOXES)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("name", "reading"), BOXES)
def test_another_box_is_the_form_with_options_at_its_readings(name: str, reading: str, library: str) -> None:
    """Bit for bit, and not what the canonical reading gives."""
    a, (clients, x, array) = CATALOGUE[name], problem(library)
    assert isinstance(a.run, Program)
    h = hyper(a.run, **a.reading(reading).fixes)
    pairs = both(replace(a.run, plain=a.run.boxes[reading]), clients, x, array, h)
    assert all(same(one, two) for one, two in pairs)
    assert not same(pairs[-1][0], both(a.run, clients, x, array, hyper(a.run))[-1][0])


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", [n for n in with_plain() if isinstance(CATALOGUE[n].run, LocalSolver)])
def test_the_plain_rule_is_the_rule_with_options_at_its_defaults(name: str, library: str) -> None:
    """Bit for bit, over five local steps; every second one updates a delayed preconditioner, and some are short."""
    run, (clients, x, _) = CATALOGUE[name].run, problem(library)
    assert isinstance(run, LocalSolver) and run.plain and run.begin
    known = {**NUMBERS, "z": 2, "cover": named_cover(CoverName.AXES, SETUP.shapes), "layers": layers(SETUP.shapes)}
    known = {**known, **{"v0": 0.25, "m0": 0.5, "shapes": ((2, 2), (1, 1))}}
    given = {n: known[n] for n in inspect.signature(run.plain).parameters if n in known}
    start = {n: known[n] for n in inspect.signature(run.begin).parameters if n in known}
    state = other = run.begin(x, **start)
    oracle = clients[2]  # type: ignore[index]
    for k in range(5):
        g, at = oracle(k, state.x), {"k": k} if "k" in inspect.signature(run.plain).parameters else {}
        before = state
        state, other = run.plain(state, g, **given, **at), run.rule(other, g, **given, **at)
        assert same(state, other)
        assert not same(before, state)
