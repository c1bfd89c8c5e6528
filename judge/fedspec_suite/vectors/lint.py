"""Checks of a vector beyond its schema: dyadic inputs of few bits, an id that hashes the inputs, and useful bounds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec.schema import said
from fedspec.wire import decode_case, decode_event
from fedspec_suite.measure.bench import THRESHOLD
from fedspec_suite.measure.portable_rng import is_short
from fedspec_suite.measure.scenario import with_dtype
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.vectors.alternatives import WIDE_ONLY, limits_of
from fedspec_suite.vectors.rows import offers
from fedspec_suite.vectors.selection import LONGEST
from fedspec_suite.vectors.store import LARGEST, REMEDY, AlgorithmVectors, indexed, load
from fedspec_suite.vectors.vector import Vector, id_of, line, options_of, read, scenario

LARGEST_NAME = 2**53 - 1
"""Largest client number: JSON holds it exactly."""

MOST = 1000
"""Largest magnitude of an input."""

BLIND = 0.05
"""Upper bound of the allowed error relative to the largest expected number; wider bounds would pass wrong values."""


def lint(folder: Path) -> list[str]:
    """List the faults of a folder's vectors, a sentence each; empty if there are none.

    Raises:
        FedspecError: a file cannot be read at all.
    """
    said: list[str] = []
    seen: set[str] = set()
    # What cannot be read at all is refused before anything is played.
    for stored in [*load(folder)]:
        where = f"{folder / stored.algorithm}.json"
        said += [f"{where}: {fault}" for fault in _of_file(stored, seen)]
    total = sum(f["bytes"] for f in indexed(folder).values())
    return said + ([f"{folder}: {total} bytes, more than {LARGEST}"] if total > LARGEST else [])


def _of_file(stored: AlgorithmVectors, seen: set[str]) -> Iterator[str]:
    used: set[str] = set()
    for k, vector in enumerate(stored.vectors):
        used |= {name for names in vector["kills"].values() for name in names}
        if vector["id"] in seen:
            yield f"vector {k}: {_name(vector)} is used twice"
        seen.add(vector["id"])
        for fault in faults(vector, stored.algorithm):
            yield f"vector {_name(vector)}: {fault}"
    if used != set(stored.defects):
        odd = ", ".join(map(said, sorted(used ^ set(stored.defects))[:5]))
        yield f"defects: {odd} in kills without words, or with words and in no kills"
    if odd_words := [v["words"] for v in stored.defects.values() if not v["words"].isprintable()]:
        yield f"defects: the words {said(odd_words[0])} are no line of text"


def faults(vector: Vector, algorithm: str) -> Iterator[str]:
    """Yield the faults of one vector."""
    case = vector["case"]
    if case["algorithm"] != algorithm:
        yield f"case.algorithm: {case['algorithm']} in the file of {algorithm}"
    if vector["id"] != (right := id_of(vector)):
        yield f"id: its inputs have the id {right}; inputs of a vector are not changed"
    if (size := len(line(vector))) > LONGEST:
        yield f"{size} bytes, more than {LONGEST}"
    if not any(vector["kills"].values()):
        yield "kills: it tells nothing from the rule"
    for place, number in _numbers({"case": case, "events": vector["events"]}, ""):
        if place.endswith(".client") and 0 <= number <= LARGEST_NAME:
            continue
        if not is_short(number) or abs(number) > MOST:
            yield f"{place}: {number!r} has more than eight bits, or is larger than {MOST}"
    try:
        decode_case(case)
        for event in vector["events"]:
            decode_event(event, case["dtype"])
        setting = _claims().get((case["algorithm"], case["level"], case["reading"], _told(options_of(case))))
        if setting is None:
            yield "case: no claim of the specification has this level, reading and options"
        else:
            yield from _of_row(case, setting)
    except FedspecError as error:
        yield str(error)
        return
    wrong = [*_wanted(vector)] or [*_blind(vector)]
    yield from wrong or _by_the_rule(vector)


def _of_row(case: Mapping[str, Any], setting: Setting) -> Iterator[str]:
    """Properties of a case that those of its row lack, or that it lacks of theirs."""
    if set(case["hyper"]) != set(setting.numbers):
        yield f"case.hyper: {', '.join(sorted(case['hyper']))}; this row has {', '.join(sorted(setting.numbers))}"
    posed = setting.level in {"round", "trace"}
    for name, wanted in (("problem", posed), ("population", setting.counts_all)):
        if (case[name] is not None) != wanted:
            yield f"case.{name}: {'is missing' if wanted else 'plays no part in this row'}"


def _by_the_rule(vector: Vector) -> Iterator[str]:
    """Faults of the case by the rule in floating point, which refuses it or gives another number than is wanted."""
    s = with_dtype(scenario(vector), "float64")
    eps, tiny = limits_of("float64")
    try:
        with np.errstate(all="ignore"):
            session = SUBJECT.start(s.case)
            answers = [session.step(event) for event in s.events]
    except Exception as error:
        yield f"the specification refuses it: {' '.join(str(error).split())[:200]}"
        return
    for k, (answer, want, scale) in enumerate(zip(answers, vector["want"], vector["scale"], strict=True)):
        for name, numbers in want.items():
            right = np.array([float(read(v, name)) for v in numbers])
            got = np.asarray(answer.get(name, ()), dtype=float).reshape(-1)
            far = THRESHOLD * (eps * np.array(scale[name], dtype=float) + tiny)
            if got.shape != right.shape or not (np.abs(got - right) <= far).all():
                yield f"want[{k}].{name}: is not what the rule gives"
                return


@cache
def _claims() -> dict[tuple[str, str, str, str], Setting]:
    """Every row, by algorithm, level, reading and options."""
    settings = [(o, setting_of(o)) for o in offers()]
    return {(o.algorithm, o.level, o.reading, _told(s.options)): s for o, s in settings}


def _told(options: Mapping[str, str]) -> str:
    return json.dumps(dict(options), sort_keys=True)


def refuse_unsound(stored: AlgorithmVectors, folder: Path) -> None:
    """Raise the first fault of an algorithm's vectors, if they have one.

    Raises:
        FedspecError: the first fault.
    """
    for fault in _of_file(stored, set()):
        raise FedspecError(f"vectors: {folder / stored.algorithm}.json: {fault}; {REMEDY}")


def _name(vector: Vector) -> str:
    """The id; in quotes if it is none, since it may hold anything."""
    return str(vector["id"]) if re.fullmatch(r"[\w./-]{1,80}", vector["id"]) else said(vector["id"])


def _numbers(value: Any, where: str) -> Iterator[tuple[str, float]]:
    """Every number in a JSON value, and where it stands."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _numbers(part, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _numbers(part, f"{where}[{k}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, value


def _wanted(vector: Vector) -> Iterator[str]:
    """Faults of the wanted values."""
    size = sum(int(np.size(a)) for a in vector["case"]["x0"].values())
    if not len(vector["want"]) == len(vector["scale"]) == len(vector["events"]):
        yield "want, scale: not one for each event"
        return
    for k, (want, scale) in enumerate(zip(vector["want"], vector["scale"], strict=True)):
        if "x" not in want or set(want) != set(scale) or not set(want) <= set(vector["equations"]):
            yield f"want[{k}]: x is missing, or scale and equations do not have the same names"
            continue
        for name, numbers in want.items():
            if len(numbers) != len(scale[name]) or (name == "x" and len(numbers) != size):
                yield f"want[{k}].{name}: not as many numbers as the scale, or the model, has"
            if not all(math.isfinite(b) and b >= 0 for b in scale[name]):
                yield f"scale[{k}].{name}: not all are finite and >= 0"
            for number in numbers:
                try:
                    read(number, f"want[{k}].{name}")
                except FedspecError as error:
                    yield str(error)
    places = {f"{name}{tail}" for name in vector["equations"] for tail in ("", WIDE_ONLY)}
    if odd := set(vector["kills"]) - places:
        yield f"kills: {sorted(odd)[0]!r} is no place that is wanted"


def _blind(vector: Vector) -> Iterator[str]:
    """Faults of bounds so wide that nearly everything passes."""
    eps = max(limits_of(dtype)[0] for dtype in vector["dtypes"])
    every = [[abs(float(read(v, name))) for v in numbers] for want in vector["want"] for name, numbers in want.items()]
    largest = max((v for near in every for v in near), default=0.0)
    bounds = [scale[name] for want, scale in zip(vector["want"], vector["scale"], strict=True) for name in want]
    if any(
        THRESHOLD * eps * max(bound, default=0) > BLIND * (max(near, default=0) or largest)
        for near, bound in zip(every, bounds, strict=True)
    ):
        yield "scale: a bound is so wide that it hides what the vector is to show"
