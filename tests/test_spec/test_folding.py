"""Texts folded under a reading: no option is left in them, and they compute what the text with options computes."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch

from fedspec import arith
from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method, Program
from fedspec.covers import named_cover
from fedspec.folding import FOLDED, LEFT_OPEN, Folding, folding_of
from fedspec.hyper import plays_part
from fedspec.params import layers
from fedspec.plan import Arrival, Exchange, Oracle, Plan, Setup
from fedspec.population import Clients
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import CoverName
from fedspec_suite.measure.parts import lengths
from fedspec_suite.report.source import code_of
from fedspec_torch.population import Batched
from fedspec_torch.problems import QuadraticClients as Stacked

pytestmark = pytest.mark.table(10)

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
        "v_hat0": 0.2,
        "q": 1.0,
        "trim": 0.25,
        "gamma": 0.9,
        "twice_a": 1,
        "hinge_a": 2.0,
        "hinge_b": 1,
        "N": 2,
    },
}
SETUP = Setup((1, 2, 3, 4), {"w": (2, 2), "b": (1, 1)})
W = np.array([[0.5, 0.25, 0.25, 0], [0.25, 0.5, 0.25, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 1]])
CLUSTERS = ((0, 2, 1), (3,))
STRATEGIES = ("sgd", "adam", "sm3-adagrad", "adagrad", "sm3-adam")


READINGS = [(a.id, r.name) for a in CATALOGUE.values() for r in a.readings if a.options.keys() - LEFT_OPEN.keys()]


def text(run: Any) -> Callable[..., Any]:
    """The text of a row: of its rule, its server or its step."""
    found: Callable[..., Any] = (
        run.rule if isinstance(run, LocalSolver) else run.server if isinstance(run, Method) else run.step
    )
    return found


def linked(folding: Folding) -> dict[FunctionType, FunctionType]:
    """Every function of the specification over names in which the folded ones stand."""
    modules = {name: vars(module) for name, module in [*sys.modules.items()] if f"{name}.".startswith(FOLDED)}
    # Another text may compute with whatever fedspec.arith has.
    spaces = {name: {**vars(arith), **names} for name, names in modules.items()}
    made: dict[FunctionType, FunctionType] = {}
    for names in modules.values():
        for f in (inspect.unwrap(v) for v in names.values() if isinstance(v, FunctionType)):
            if f.__module__ in spaces and f not in made:
                made[f] = FunctionType(f.__code__, spaces[f.__module__], f.__name__, f.__defaults__, f.__closure__)
                made[f].__kwdefaults__ = f.__kwdefaults__
    for f, source in folding.texts.items():
        exec(compile(f"from __future__ import annotations\n{source}", "<folded>", "exec"), spaces[f.__module__])
        made[f] = spaces[f.__module__].pop(f.__name__)
    for name, names in modules.items():
        spaces[name].update(
            {n: made[g] for n, v in names.items() if isinstance(v, FunctionType) and (g := inspect.unwrap(v)) in made}
        )
    return made


def folded(a: Algorithm, reading: str) -> Callable[..., Any]:
    """The text of a row as a reading runs it."""
    runs, folding = text(a.run), folding_of(a, reading)
    folding.add(runs)
    return linked(folding)[inspect.unwrap(runs)]


@pytest.mark.parametrize(("name", "reading"), READINGS)
def test_no_text_under_a_reading_looks_at_an_option(name: str, reading: str) -> None:
    a = CATALOGUE[name]
    kinds = {a.options[n].__name__ for n in a.options.keys() - LEFT_OPEN.keys()}
    for node in ast.walk(ast.parse(code_of(a, reading))):
        if isinstance(node, ast.Compare | ast.match_case):
            named = [n.value for n in ast.walk(node) if isinstance(n, ast.Attribute)]
            assert not {n.id for n in named if isinstance(n, ast.Name)} & kinds
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "h":
            assert node.attr not in a.options.keys() - LEFT_OPEN.keys()


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
            strategies=(*STRATEGIES, *run.strategies)[-len(who) :] if "strategies" in takes else (),
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
        [(one,), (two,), (three,), (one,)]
        if len(inspect.signature(run.step).parameters) == 4 and "arrivals" not in inspect.signature(run.step).parameters
        else [(one,), (two,), (three, one)]
    )


def both(
    run: Program | Method, other: Callable[..., Any], clients: Clients, x: Any, array: Any, h: Any
) -> list[tuple[Any, Any]]:
    """After every event, what another text has and what that of the row has."""
    steps: tuple[Any, ...]
    events: list[tuple[Any, ...]]
    if isinstance(run, Method):
        servers = (other, run.server)
        steps = tuple(partial(_round, server=server, local=run.local, norm=run.norm) for server in servers)
        start, events = run.init(h, x), [(p,) for p in plans(run)]
    else:
        steps, peers = (other, run.step), "peers" in run.takes
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


ROUNDS = [(n, r) for n, r in READINGS if not isinstance(CATALOGUE[n].run, LocalSolver)]
STEPS = [(n, r) for n, r in READINGS if isinstance(CATALOGUE[n].run, LocalSolver)]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("name", "reading"), ROUNDS)
def test_rounds_of_a_folded_text_are_those_of_the_text(name: str, reading: str, library: str) -> None:
    """Bit for bit, whole states and all that is shown, after every event."""
    a = CATALOGUE[name]
    run, other = a.run, folded(a, reading)
    assert not isinstance(run, LocalSolver)
    clients, x, array = problem(library, whole=isinstance(run, Method) and run.whole)
    for z in [1, 3] if "z" in a.numbers else [1]:
        pairs = both(run, other, clients, x, array, hyper(run, z=z, **a.reading(reading).fixes))
        assert all(same(one, two) for one, two in pairs)
        assert not same(pairs[0][0], pairs[-1][0])


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("name", "reading"), STEPS)
def test_steps_of_a_folded_rule_are_those_of_the_rule(name: str, reading: str, library: str) -> None:
    """Bit for bit, over five local steps; every second one updates a delayed preconditioner, and some are short."""
    a, (clients, x, _) = CATALOGUE[name], problem(library)
    run, other = a.run, folded(a, reading)
    assert isinstance(run, LocalSolver)
    known = {**NUMBERS, "z": 2, "cover": named_cover(CoverName.AXES, SETUP.shapes), "layers": layers(SETUP.shapes)}
    known = {**known, **{"v0": 0.25, "m0": 0.5, "shapes": ((2, 2), (1, 1)), "anchor": x / 2}}
    numbers = {n: known[n] for n in inspect.signature(run.rule).parameters if n in known}
    named = {**folding_of(a, reading).options}
    options = {n: v for n, v in named.items() if n in inspect.signature(run.rule).parameters}
    begin = run.begin or (lambda x: x)
    start = {n: known[n] for n in inspect.signature(begin).parameters if n in known}
    state = also = begin(x, **start)
    oracle, taken = clients[2], inspect.signature(other).parameters  # type: ignore[index]
    for k in range(5):
        g, before = oracle(k, getattr(state, "x", state)), state
        numbers = {**numbers, **({"k": k} if "k" in inspect.signature(run.rule).parameters else {})}
        state = other(state, g, **{n: v for n, v in numbers.items() if n in taken})
        also = run.rule(also, g, **numbers, **options)
        assert same(state, also)
        assert not same(before, state)
