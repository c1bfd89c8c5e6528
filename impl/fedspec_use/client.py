"""Client half of an algorithm on named arrays: its local solver, or its round with a single client.

This module defines no equation. A client that keeps state runs the row's text as the only client; a reading under which
the result would differ from one client of many is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fedspec.arith import Vector, stack
from fedspec.catalogue import Method
from fedspec.errors import ParameterError, PlanError, ShapeError
from fedspec.functions import Program
from fedspec.params import flatten, unflatten
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import stacked
from fedspec_use.server import Arrays, Chosen, in_blocks, of_blocks, placed, trained

Gradient = Callable[[int, Arrays], Arrays]
"""Function from local step k = 0, 1, ... and a model to the gradients, by name."""


@dataclass(frozen=True)
class LocalResult:
    """Result of a client's local steps.

    Attributes:
        model: the client's local model.
        kept: the client's state for its next round, by names that :func:`train` accepts; empty if there is none.
        control: the change of the client's control variate; None if it has none.
    """

    model: dict[str, Any]
    kept: dict[str, Any]
    control: dict[str, Any] | None = None


class OneClient:
    """Population of one client, which records the client's result."""

    def __init__(self, gradient: Oracle) -> None:
        self.gradient, self.did = gradient, ()

    def __len__(self) -> int:
        """Return 1."""
        return 1

    def each(self, client: Any, plan: Plan, x: Vector) -> Any:
        """Run the client, and return its result as a stack with one row."""
        self.did = client(0, x, self.gradient, plan.steps[0])
        return stacked([self.did])

    def each_arrival(self, client: Any, arrivals: Sequence[Any], x_mu: Sequence[Vector]) -> Any:
        """Raise an error: clients that train in rounds don't send late updates."""
        raise PlanError("arrival: a client that trains in rounds doesn't send late updates")

    def gradients(self, S: Sequence[int], t: int, X: Any) -> Any:
        """Return the client's gradient at each row of X."""
        return stack([self.gradient(t, x) for x in X])


def keeps(chosen: Chosen) -> tuple[str, ...]:
    """Return the fields of the state that a client keeps between rounds: the fields with one entry for each client."""
    if isinstance(chosen.run, Method):
        return ()
    first = _first(chosen, np.zeros(2))
    return tuple(f.name for f in fields(first) if _is_own(getattr(first, f.name)))


def tells(chosen: Chosen, state: Any, arrays: Arrays) -> dict[str, Any]:
    """Return the server state that clients need besides the model, each vector as arrays FIELD/NAME."""
    return {key: a for name in _read(chosen) for key, a in in_blocks(name, getattr(state, name), arrays).items()}


def train(chosen: Chosen, arrays: Arrays, gradient: Gradient, steps: int, kept: Arrays, told: Arrays) -> LocalResult:
    """Run one client's part of a round, with the algorithm's local solver and the client's state.

    Args:
        chosen: the row, with the client's own hyper-parameters.
        arrays: the model that the server sent.
        gradient: the client's gradients.
        steps: the client's number of local steps.
        kept: the client's state from its last round; empty in its first.
        told: the quantities that the server sent beside the model, as :func:`tells` returns them.

    Raises:
        ParameterError: a hyper-parameter of the client is missing, or the client's state depends on other clients.
        PlanError: the number of steps isn't a whole number >= 1, or the solver reads a quantity that wasn't sent.
        ShapeError: the client's state belongs to another model, or a gradient has another shape.
    """
    if missing := missing_of(chosen):
        raise ParameterError(f"{missing[0]}: not given; give the client's value here, or to the strategy")
    named = trained(arrays)
    x = flatten(named)

    def oracle(k: int, y: Vector) -> Vector:
        g = gradient(k, placed(y, arrays))
        for name, a in named.items():
            if name not in g or np.shape(g[name]) != a.shape:
                got = f"of shape {np.shape(g[name])}, not {a.shape}" if name in g else "missing"
                raise ShapeError(
                    f"gradient: at local step {k} {name!r} is {got}; give one for each array that is trained"
                )
        return flatten({name: g[name] for name in named}).astype(y.dtype)

    if isinstance(chosen.run, Method):
        return LocalResult(placed(chosen.run.local(chosen.h, x, oracle, steps), arrays), {})
    if _together(chosen):
        raise ParameterError(
            f"reading: under {chosen.reading} of {chosen.algorithm.id}, a client continues from the mean of its "
            "round's clients' states, which it doesn't receive; choose another reading, or run `fedspec simulate "
            f"{chosen.algorithm.id}`"
        )
    read = _read(chosen)
    if absent := [name for name in sorted(read) if any(f"{name}/{block}" not in told for block in named)]:
        raise PlanError(
            f"{absent[0]}: the message lacks it, but clients of {chosen.algorithm.id} need it in addition to the model"
        )
    state = replace(_first(chosen, x), **{name: of_blocks(name, told, arrays) for name in read})
    before = replace(state, **_opened(state, named, kept)) if kept else state
    after, did = _round(chosen, before, oracle, steps)
    control = {}
    if chosen.controls:
        (name,) = keeps(chosen)
        control = unflatten((getattr(after, name) - getattr(before, name))[0], named)
    return LocalResult(placed(x + did[0], arrays), _closed(chosen, after, named), control or None)


def missing_of(chosen: Chosen) -> list[str]:
    """Return the clients' hyper-parameters that aren't given."""
    if isinstance(chosen.run, Method):
        return [] if "eta_l" in chosen.numbers else ["eta_l"]
    known = chosen.algorithm.numbers_under("round", chosen.options)
    return [n for n in known if n not in chosen.numbers and n not in chosen.algorithm.numbers_at("server")]


def _first(chosen: Chosen, x: Vector, clients: int = 1) -> Any:
    run = chosen.algorithm.run
    assert isinstance(run, Program)
    return run.init(chosen.h, x, Setup((1,) * clients, {"x": x.shape}))


def _is_own(value: Any) -> bool:
    return value.ndim == 2 if hasattr(value, "ndim") else isinstance(value, tuple)


def _round(chosen: Chosen, state: Any, oracle: Oracle, steps: int) -> tuple[Any, Any]:
    """State after a round of the only client, and the text's results: the client's change, and its kept state."""
    run, population = chosen.algorithm.run, OneClient(oracle)
    assert isinstance(run, Program)
    after, _ = run.step(chosen.h, state, population, Plan((0,), (steps,), (1,)))
    return after, population.did


def _probe(k: int, x: Vector) -> Vector:
    g: Vector = 0.5 * x + np.array([1.0, -0.25, 0.125])
    return g


def _read(chosen: Chosen) -> frozenset[str]:
    """Fields of a server's state that its clients read beside the model, found in a round of one client."""
    if isinstance(chosen.run, Method):
        return frozenset()
    first = _first(chosen, np.array([1.0, -2.0, 0.5]))
    servers = replace(chosen, clients=1).init(first.x)
    beside = {f.name for f in fields(first)} & {f.name for f in fields(servers)} - {"x"}

    def did(**other: Any) -> Any:
        return np.stack(_round(chosen, replace(first, **other), _probe, 2)[1])

    with np.errstate(all="ignore"):
        return frozenset(n for n in beside if not np.array_equal(did(), did(**{n: first.x}), equal_nan=True))


def _together(chosen: Chosen) -> bool:
    """True if a client's kept state depends on who else takes part, found in a round of two clients."""
    run = chosen.algorithm.run
    assert isinstance(run, Program)
    first = _first(chosen, np.array([1.0, -2.0, 0.5]), 2)

    def kept(other: Oracle) -> list[Any]:
        after, _ = run.step(chosen.h, first, [_probe, other], Plan((0, 1), (2, 2), (1, 1)))
        return [getattr(after, name)[0] for name in keeps(chosen)]

    with np.errstate(all="ignore"):
        alike = zip(kept(_probe), kept(lambda k, x: -3.0 * x), strict=True)
        return not all(np.array_equal(a, b, equal_nan=True) for a, b in alike)


def _closed(chosen: Chosen, state: Any, named: Arrays) -> dict[str, Any]:
    """Kept state of a client as arrays: each vector as FIELD/NAME, each count as FIELD."""
    out: dict[str, Any] = {}
    for field in keeps(chosen):
        (value,) = getattr(state, field)
        if np.ndim(value):
            out |= in_blocks(field, value, named)
        else:
            out[field] = np.array(value)
    return out


def _opened(state: Any, named: Arrays, kept: Arrays) -> dict[str, Any]:
    """State of one client from the arrays of :func:`_closed`."""
    own = [f.name for f in fields(state) if _is_own(getattr(state, f.name))]
    vectors = [name for name in own if hasattr(getattr(state, name), "ndim")]
    wanted = {f"{field}/{name}": np.shape(a) for field in vectors for name, a in named.items()}
    wanted |= {name: () for name in own if name not in vectors}
    if {name: np.shape(a) for name, a in kept.items()} != wanted:
        raise ShapeError(
            f"state: this client kept {sorted(kept)} of shapes {[np.shape(kept[n]) for n in sorted(kept)]}, but the "
            f"model needs {sorted(wanted)} of {[wanted[n] for n in sorted(wanted)]}; the state belongs to another "
            "model or row"
        )
    found: dict[str, Any] = {field: stack([of_blocks(field, kept, named)]) for field in vectors}
    return found | {name: (int(kept[name]),) for name in own if name not in vectors}
