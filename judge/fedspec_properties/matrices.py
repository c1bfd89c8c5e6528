"""Laws of steps along matrices: what becomes of singular values, of rows in another order, of a turned block.

Where a step is O(M) of a matrix M, O acts on its singular values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Begin, Event, Gradient, Round
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms import diloco_muon, muon
from fedspec_suite.laws.asked import entry, fact
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios, round_scenarios, scenarios
from fedspec_suite.measure.scenario import Scenario, posed, running, with_dtype, with_hyper
from fedspec_suite.measure.setting import Setting

SOURCE = "Jordan et al. (2024), with X = U diag(s) V': "


def _decomposed(bench: Bench, s: Scenario) -> None:
    # In double precision, whatever that of the subject.
    bench.follows(s, muon.models(with_dtype(s, "float64"), muon.by_singular_values))


def _of_rounds(bench: Bench, s: Scenario) -> None:
    bench.follows(s, [*diloco_muon.rounds(with_dtype(s, "float64"))])


@st.composite
def _sitting_out(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Two clients, of whom the first sits out the second of three rounds; a step each."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1), clients=(2, 2), everyone=True))
    rounds = (Round(S, (1,) * len(S)) for S in ((0, 1), (1,), (0, 1)))
    return with_hyper(replace(s, events=tuple(rounds)), ns_steps=1)


@st.composite
def _rows(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Every block is a row or a column."""
    s: Scenario = draw(client_scenarios(setting))
    lying = {name: draw(st.booleans()) for name in s.case.x0}
    return _blockwise(s, lambda name, a: a.reshape((1, -1) if lying[name] else (-1, 1)))


def _blockwise(s: Scenario, f: Callable[[str, Array], Array]) -> Scenario:
    """The same scenario with every block of every model and gradient changed."""

    def each(blocks: Mapping[str, Array]) -> dict[str, Array]:
        return {name: f(name, a) for name, a in blocks.items()}

    def event(e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return replace(e, g=each(g))
            case Begin(x=x):
                return Begin(each(x))
        return e

    return Scenario(replace(s.case, x0=each(s.case.x0)), tuple(map(event, s.events)))


def _along_itself(bench: Bench, s: Scenario) -> None:
    with digits():
        want = muon.models(running(s), muon.of_one_row)
    bench.follows(s, want)


@st.composite
def _reordered(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, dict[str, Any]]:
    """Rows and columns of each block in another order and with other signs."""
    s: Scenario = draw(scenarios(setting))

    def turn(n: int) -> Array:
        signs = draw(st.lists(st.sampled_from((-1, 1)), min_size=n, max_size=n))
        turned: Array = np.eye(n)[draw(st.permutations(range(n)))] * np.array(signs)
        return turned

    return s, {name: tuple(map(turn, a.shape)) for name, a in s.case.x0.items()}


def _same_path(bench: Bench, drawn: tuple[Scenario, dict[str, Any]]) -> None:
    s, turns = drawn

    def turned(name: str, a: Array) -> Array:
        Q, P = turns[name]
        return np.asarray(Q.astype(a.dtype) @ a @ P.astype(a.dtype))

    def forward(k: int, x: Array) -> Array:
        return _flatly(s, x, turned)

    related(bench, s, _posed(_blockwise(s, turned), lambda a: forward(0, a)), forward)


def _posed(s: Scenario, f: Callable[[Array], Array]) -> Scenario:
    """The same scenario with the objectives of models that are changed by f, which moves coordinates alone."""
    p = s.case.problem
    if p is None:
        return s
    rows = np.array([[f(row) for row in H] for H in p.H])
    H = np.array([[f(column) for column in each.T] for each in rows])
    return posed(s, H=H, e=np.array([f(e) for e in p.e]))


def _flatly(s: Scenario, x: Array, f: Callable[[str, Array], Array]) -> Array:
    """A flat model with every block changed."""
    return flatten({name: f(name, a) for name, a in unflatten(x, s.case.x0).items()})


def _without_decay(setting: Setting) -> st.SearchStrategy[Scenario]:
    return client_scenarios(setting, rounds=(1, 1)).map(lambda s: with_hyper(s, wd=0.0))


def _transposes(bench: Bench, s: Scenario) -> None:
    """Turned blocks make turned steps, longer or shorter by what rows and columns say."""
    start, o = flatten(s.case.x0).astype(float), s.case.options

    def forward(k: int, x: Array) -> Array:
        def turned(name: str, a: Array) -> Array:
            r, c = a.shape
            return np.asarray(a.T * (muon.longer(c, r, o) / muon.longer(r, c, o)))

        return _flatly(s, x - start, turned) + _flatly(s, start, lambda name, a: a.T)

    related(bench, s, _blockwise(s, lambda name, a: np.ascontiguousarray(a.T)), forward)


_SUMMED = entry(diloco_muon.KNOWN, "sum over its history (closed_forms/diloco_muon.py)")

LAWS = (
    Law(
        id="singular-values",
        words="each singular value of the momentum goes through the quintic by itself, and its two directions stay",
        levels=("client",),
        source=SOURCE + "a X + (b X X' + c (X X')^2) X is U diag(a s + b s^3 + c s^5) V'",
        cases=client_scenarios,
        check=_decomposed,
        applies=fact(Fact.MATRICES),
    ),
    Law(
        id="singular-values-of-rounds",
        words="clients from all gradients that they have seen, by singular values, the server from all mean changes",
        levels=("round",),
        source=SOURCE + "the same; Therien et al. (2025): momentum stays in the client, the outer one in the server",
        cases=round_scenarios,
        check=_of_rounds,
        applies=_SUMMED,
    ),
    Law(
        id="momentum-sits-out",
        words="a client goes on from the momentum with which it left, however long it stayed away",
        levels=("round",),
        source="Therien et al. (2025): the inner optimiser's state is its worker's",
        cases=_sitting_out,
        check=_of_rounds,
        applies=_SUMMED,
        needs=("ns_steps",),
    ),
    Law(
        id="one-row",
        words="a block of one row or column moves along its momentum, by the quintic of its length over the norm",
        levels=("client",),
        source=SOURCE + "a row has one singular value, its length",
        cases=_rows,
        check=_along_itself,
        applies=fact(Fact.MATRICES),
    ),
    Law(
        id="rows-and-columns-alike",
        words="rows and columns in another order and with other signs: the path in that order with those signs",
        levels=("client", "round"),
        source=SOURCE + "O(Q M P) = Q O(M) P for orthogonal Q and P",
        cases=_reordered,
        check=_same_path,
        applies=fact(Fact.MATRICES),
    ),
    Law(
        id="blocks-turned",
        words="without decay turned blocks make turned steps, as much longer as the factor of rows and columns says",
        levels=("client",),
        source=SOURCE + "O(M') = O(M)'",
        cases=_without_decay,
        check=_transposes,
        applies=fact(Fact.MATRICES),
        needs=("wd",),
        zeroes=("wd",),
    ),
)
