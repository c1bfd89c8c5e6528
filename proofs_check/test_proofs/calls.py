"""Exact calls of any rule, read off its signature, and their translation to other arithmetics.

This is how the promise *one text, many arithmetics* is tested for every rule, those to come included. Hyper-parameters
and vectors are dyadic, so that floats hold them exactly. Where a rule takes roots, second moments are drawn until every
root is rational.
"""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE
from fedspec.covers import Cover
from fedspec.errors import InexactError
from fedspec.hyper import plays_part
from fedspec.readings import BiasCorrection
from fedspec_proofs.engines import exact

Rule: TypeAlias = Callable[..., Any]
Options: TypeAlias = Mapping[str, StrEnum]
Leaf: TypeAlias = Callable[[str, Fraction], Any]

HYPER = {
    "eta": "3/4",
    "eta_l": "1/2",
    "beta": "5/8",
    "beta1": "1/2",
    "beta2": "3/4",
    "beta3": "1/4",
    "rho": "1/4",
    "gamma": "3/4",
    "mu": "3/2",
    "eps": "1/16",
    "tau": "1/16",
    "tau_eff": "5/2",
    "eps_s": "3/2",
    "a_norm": "7/4",
    "alpha": "3/8",
    "mix": "3/4",
    "N": "3",
    "c": "1/4",
    "P": "2",
    "overlap": "1",
    "own": "1/4",
    "hinge_a": "3/2",
    "lam": "1/2",
    "guard": "1/8",
    "chance": "3/8",
    "consensus": "3/8",
    "radius": "3/4",
    "R": "4",
    "wd": "1/2",
    "phi_m": "5/4",
    "phi_M": "3/2",
    "fixed": "5/2",
    "scale": "3/2",
    "clip_norm": "5/4",
    "smooth": "5/4",
    "sigma": "3/4",
}
"""Hyper-parameters by name; 1 - beta2 has a rational root."""

WEIGHTS = {
    "p": ("1/4", "1/2", "1/4"),
    "w": ("1/4", "1/2", "1/4"),
    "reach": ("0", "1/4", "1"),
    "a_norms": ("1", "7/4", "5/2"),
    "tau": ("1", "2", "4"),
}
SM3 = {"g": (1, -2, 1), "g_squared": (1, 4, 1), "mu": ("105/16", "2145/64")}
"""Over the cover {0, 1}, {1, 2} both SM3 rules have rational roots here."""

AVERAGED = {**SM3, "mu": ("35/16", "715/64")}
"""Arguments of SM3 that averages with beta2."""

WAITING = {"g": SM3["g"], "mu": ("9/4", 4), "nu": (1, "9/4", 4)}
"""Arguments at a step without an update."""

FROM = ("3/8", "-5/8", "7/8")
APART = {
    "z": FROM,
    "v": FROM,
    "deltas": (("7/8", "3/8", "15/8"), ("9/8", "-1/4", "1/8"), ("-1/8", "-13/8", "-1/8")),
}
"""A point and changes 3/2, 9/8 and 3/2 from it, on either side of ``smooth`` and ``clip_norm``, at rational distances
from each other too."""

ROUNDED = {"v": ("3/2", -1, 3), "u": ("1/4", "7/8", "1/2")}
"""A vector of length 7/2 with entries of both signs, and draws by which some are rounded up and some down."""

TIED = {"p": ("3/4", "-3/4", 2)}
"""Entries of one size of which one is kept."""

COVER = Cover(((0, 1), (1, 2)), 3)
COORDINATES = CLIENTS = 3
SEED = 20180219
DRAWS = 20_000


@dataclass(frozen=True)
class Call:
    """A call of a rule: its arguments by name, and the parts of the result on fractions."""

    rule: Rule
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]

    def run(self, entry: Leaf, number: Leaf | None = None, dtype: Any = object) -> dict[str, Any]:
        """The parts of the result in another arithmetic.

        Args:
            entry: makes an entry of a vector from its name and its value.
            number: the same for a hyper-parameter; ``entry`` if not given.
            dtype: the type of the vectors.
        """
        translated = {n: _translate(n, v, entry, number or entry, dtype) for n, v in self.arguments.items()}
        return parts(self.rule(**translated))


def options(rule: Rule) -> Iterator[dict[str, StrEnum]]:
    """Every combination of the readings that a rule takes, but for those that turn one where it plays no part."""
    kinds = {n: t for n, t in _hints(rule).items() if isinstance(t, type) and issubclass(t, StrEnum)}
    plays, defaults = _plays(rule, tuple(kinds)), inspect.signature(rule).parameters
    for chosen in itertools.product(*kinds.values()):
        named = dict(zip(kinds, chosen, strict=True))
        refused = any(named.get(n) is value for n, value in REFUSED.get(rule.__name__, ()))
        if not refused and all(plays_part(plays, n, named) or v is defaults[n].default for n, v in named.items()):
            yield named


REFUSED = {"adagrad": [("bias_correction", BiasCorrection.STEP)]}
"""Readings that a rule refuses: a sum has no decay to correct for."""


def _plays(rule: Rule, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Options under which the rows' readings play a part, if that depends on the rule's own readings only."""
    rows = (row for row in CATALOGUE.values() if rule in row.rules)
    every = ((n, under) for row in rows for n, under in row.plays.items() if n in names)
    return {n: under for n, under in every if all(said.partition("=")[0] in names for said in under)}


def delayed(rule: Rule) -> bool:
    """True if a rule has steps that update nothing."""
    return _hints(rule).get("z") is int


def call(rule: Rule, chosen: Options, t: int = 0) -> Call:
    """An exact call of a rule with the given readings, after ``t`` steps; z = 2, so that t = 1 is without an update."""
    rng = np.random.default_rng(SEED)
    table = {"t": t, **_sm3(rule, t), **_fixed(rule)}
    hints = _hints(rule)
    if {"shape", "shapes"} & {*hints}:
        arguments = _rational(rule, chosen, table, rng, 4)
    elif "v_hat" in hints or any(f.name == "v" for t in hints.values() if is_dataclass(t) for f in fields(t)):
        # Coordinates do not mix: each is drawn until its own roots are rational.
        arguments = _join([_rational(rule, chosen, table, rng, 1) for _ in range(COORDINATES)])
    else:
        arguments = _rational(rule, chosen, table, rng, COORDINATES)
    return Call(rule, arguments, parts(rule(**arguments)))


def parts(result: Any, name: str = "result") -> dict[str, Any]:
    """The vectors and numbers of a result by name, without the counter of steps."""
    if is_dataclass(result) and not isinstance(result, type):
        inner = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "t"}
    elif isinstance(result, tuple):
        inner = {f"{name}_{i}": part for i, part in enumerate(result)}
    else:
        return {name: result}
    return {n: leaf for part, value in inner.items() for n, leaf in parts(value, part).items()}


def _hints(rule: Rule) -> dict[str, Any]:
    return {n: t for n, t in typing.get_type_hints(rule).items() if n != "return"}


def _sm3(rule: Rule, t: int) -> dict[str, Array]:
    """The vectors at which a rule over a cover has rational roots; nothing for other rules."""
    hints = _hints(rule)
    if "cover" not in hints:
        return {}
    chosen = WAITING if t % 2 else AVERAGED if "beta2" in hints else SM3
    return {n: exact.vector(*values) for n, values in chosen.items()}


def _fixed(rule: Rule) -> dict[str, Array]:
    """The vectors of a rule with distances between changes, with levels or with ranks; nothing for other rules."""
    hints = _hints(rule)
    apart = rule.__module__ in {"fedspec.mixing.distances", "fedspec.mixing.nearest"}
    chosen = APART if apart else ROUNDED if "levels" in hints else TIED if "kept" in hints else {}
    return {n: np.vectorize(Fraction, otypes=[object])(values) for n, values in chosen.items()}


def _rational(
    rule: Rule, chosen: Options, table: Mapping[str, Any], rng: np.random.Generator, d: int
) -> dict[str, Any]:
    for _ in range(DRAWS):
        arguments = _draw(rule, chosen, table, rng, d)
        try:
            rule(**arguments)
        except InexactError:
            continue
        return arguments
    raise LookupError(f"{rule.__name__} {dict(chosen)}: no rational roots in {DRAWS} draws; extend {__name__}")


def _draw(rule: Rule, chosen: Options, table: Mapping[str, Any], rng: np.random.Generator, d: int) -> dict[str, Any]:
    hints = _hints(rule)
    arguments = {}
    for name, parameter in inspect.signature(rule).parameters.items():
        if name in chosen:
            arguments[name] = chosen[name]
        elif is_dataclass(hints[name]):
            state = {f.name: _value(f.name, str(f.type), rng, d, table) for f in fields(hints[name])}
            arguments[name] = hints[name](**state)
        else:
            arguments[name] = _value(name, str(parameter.annotation), rng, d, table)
    return arguments


def _value(name: str, note: str, rng: np.random.Generator, d: int, table: Mapping[str, Any]) -> Any:
    if name in table:
        return table[name]
    match note.removesuffix(" | Blocks"):
        case "Vector" | "Shared" if name in {"v", "v_hat", "nu"}:
            return exact.rationals(rng, d, low=0, high=512, denominators=(64,))
        case "Vector" | "Shared":
            return exact.rationals(rng, d, low=-24, high=24, denominators=(8,))
        case "Stack" if name in {"v", "v_hat", "u_tilde"}:
            return exact.rationals(rng, CLIENTS, d, low=0, high=24, denominators=(8,)) ** 2
        case "Stack":
            return exact.rationals(rng, CLIENTS, d, low=-24, high=24, denominators=(8,))
        case "Column":
            return exact.rationals(rng, CLIENTS, 1, low=0, high=24, denominators=(8,))
        case "Weights" if name in WEIGHTS:
            return exact.vector(*WEIGHTS[name])
        case "Scalar" if name in {"k", "q"}:
            # What is counted, and an exponent: no real of z3.
            return 2
        case "Scalar" if name in HYPER:
            return Fraction(HYPER[name])
        case "Mixing":
            return np.stack(
                [
                    exact.vector("1/2", "1/4", "1/4"),
                    exact.vector("1/4", "1/2", "1/4"),
                    exact.vector("1/4", "1/4", "1/2"),
                ]
            )
        case "AnyCover":
            return COVER
        case "int" if name == "delay":
            # Drawn until the root of 1 + delay, or of 2 + delay, is rational.
            return int(rng.integers(1, 16))
        case "int" | "Count":
            counts = {
                "k": 2,
                "z": 2,
                "epoch": 1,
                "steps": 2,
                "clients": 4,
                "twice_a": 3,
                "hinge_b": 1,
                "tau_c": 1,
                "tau_max": 3,
                "tau": 3,
                "b": 1,
                "N": 2,
                "f": 0,
                "keep": 2,
                "kept": 2,
                "levels": 3,
                "ns_steps": 2,
            }
            return counts[name]
        case "Sequence[int]":
            return (1, 2, 4)
        case "tuple[int, int]":
            return (2, 2)
        case "Sequence[Sequence[int]]":
            # The roots of its numbers of rows and of columns are rational.
            return ((4, 1),)
    raise LookupError(f"argument {name}: {note} is new; extend {__name__}")


def _join(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    def joined(values: list[Any]) -> Any:
        first = values[0]
        if isinstance(first, np.ndarray):
            # Weights and matrices of clients have no coordinates to join.
            return np.concatenate(values, axis=-1) if first.shape[-1] == 1 else first
        if is_dataclass(first) and not isinstance(first, type):
            return replace(first, **{f.name: joined([getattr(v, f.name) for v in values]) for f in fields(first)})
        return first

    return {n: joined([p[n] for p in pieces]) for n in pieces[0]}


def _translate(name: str, value: Any, entry: Leaf, number: Leaf, dtype: Any) -> Any:
    if isinstance(value, np.ndarray):
        out: Array = np.empty(value.shape, dtype=dtype)
        for place, q in np.ndenumerate(value):
            out[place] = entry("_".join((name, *map(str, place))), q)
        return out
    if isinstance(value, Fraction):
        return number(name, value)
    if is_dataclass(value) and not isinstance(value, type | Cover):
        inner = {f.name: getattr(value, f.name) for f in fields(value)}
        return replace(value, **{n: _translate(f"{name}.{n}", v, entry, number, dtype) for n, v in inner.items()})
    return value
