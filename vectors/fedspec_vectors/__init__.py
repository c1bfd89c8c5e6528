"""Small cases of federated optimisers with exact numbers, compared with your implementation; needs only Python.

A vector is a dictionary as a JSON file holds it: ``case``, ``events``, and of each event the numbers that are wanted.
What its fields are: docs/vectors.md of fedspec. Numbers are compared as ``fedspec vectors check`` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any

__all__ = ["FOLDER", "algorithms", "flat", "told", "vectors"]

FOLDER = files("fedspec_vectors") / "v1"
"""Folder of the vector files, one for each algorithm."""

SLACK = 30
"""Allowed error, as a multiple of the first-order estimate of rounding errors."""


def algorithms() -> list[str]:
    """Return the ids of the algorithms that have vectors."""
    return list(_held("readings"))


def vectors(algorithm: str, level: str, reading: str = "", **options: str) -> list[dict[str, Any]]:
    """Return the vectors of an algorithm at a level: client, server, round or trace.

    Args:
        algorithm: its id in fedspec.
        level: level at which the implementation is driven.
        reading: the published definition; the canonical one unless said.
        options: its options that are not at their default.

    Raises:
        ValueError: there are none; what there is instead.
    """
    readings = _held("readings")
    if algorithm not in readings:
        raise ValueError(f"got {algorithm!r}, which has no vectors; known: {', '.join(readings)}")
    reading = reading or next(iter(readings[algorithm]))
    usual = readings[algorithm].get(reading, {})
    # A reading that has got another name has the same options under both, and no other reading has them.
    called = [name for name, its in readings[algorithm].items() if its == usual] or [reading]
    held = _held(algorithm)
    asked = {"level": level, "options": {**usual, **options}}
    there = (v for v in held["vectors"] if v["case"]["reading"] in called)
    found = [v for v in there if {name: v["case"][name] for name in asked} == asked]
    if not found:
        ones = dict.fromkeys(_said(v["case"]) for v in held["vectors"])
        wanted = _said({"algorithm": algorithm, "reading": reading, **asked})
        raise ValueError(f"no vectors of {wanted}; there are these: {'; '.join(ones)}")
    return [{**v, "defects": held["defects"]} for v in found]


def _held(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def flat(values: Any) -> list[float]:
    """Return all numbers of a model, of named blocks, or of arrays, as one list."""
    if isinstance(values, Mapping):
        values = list(values.values())
    elif hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, Sequence):
        return [number for part in values for number in flat(part)]
    return [float(values)]


def told(
    vector: Mapping[str, Any], shown: Sequence[Mapping[str, Any]], eps: float = 2.0**-52, tiny: float = 2.0**-1022
) -> str:
    """Describe the first wrong number, and known mistakes that give the same numbers; "" if all are right.

    Args:
        vector: the case that was played.
        shown: the implementation's quantities after each event, by name: ``x``, and any others that it shows.
        eps: the machine epsilon of its type.
        tiny: the smallest normal number of its type.

    Raises:
        ValueError: it shows other events, no x, or a quantity that the vector does not have.
    """
    wants, scales = vector["want"], vector["scale"]
    if len(shown) != len(wants):
        raise ValueError(f"got {len(shown)} events, but {vector['id']} has {len(wants)}")
    for k, (got, want, scale) in enumerate(zip(shown, wants, scales, strict=True), 1):
        if strange := sorted({*got} - {*want}) or ([] if "x" in got else ["x"]):
            what = "is not shown" if strange == ["x"] else f"is none of {', '.join(want)}"
            raise ValueError(f"event {k}: {strange[0]} {what}")
        for name, values in got.items():
            if wrong := _first(flat(values), want[name], scale[name], eps, tiny):
                return f"event {k}: {name}{wrong}{_alike(vector, shown)}"
    return ""


def _first(got: list[float], want: list[str], scale: Iterable[float], eps: float, tiny: float) -> str:
    if len(got) != len(want):
        return f" has {len(got)} numbers, not {len(want)}"
    for j, (number, text, bound) in enumerate(zip(got, want, scale, strict=True)):
        # A NaN is not within the bound either.
        if not abs(number - float(Fraction(text))) <= SLACK * (eps * bound + tiny):
            return f"[{j}] is {number:.9g}, not {text}"
    return ""


def _alike(vector: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> str:
    """The known mistakes that give these totals after the last event."""
    found: dict[str, None] = {}
    for name, values in shown[-1].items():
        numbers = flat(values)
        near = 1e-5 * max(map(abs, numbers), default=0)
        for seen in (name, f"{name} in float64"):
            totals = vector["kills"].get(seen, {})
            found |= {id: None for id, t in totals.items() if t is not None and abs(sum(numbers) - t) <= near}
    words = [f"{vector['defects'][id]['words']} ({id})" for id in found]
    return f"; as if {', or '.join(words)}" if words else ""


def _said(case: Mapping[str, Any]) -> str:
    options = (f"{name}={value}" for name, value in case["options"].items())
    return " ".join([f"{case['algorithm']}/{case['level']}/{case['reading']}", *options])
