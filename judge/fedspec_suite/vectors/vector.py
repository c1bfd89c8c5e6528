"""A vector as JSON data: inputs as in the protocol, expected values, error bounds, and the rivals it distinguishes."""

from __future__ import annotations

import decimal
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import DIGITS, Array, digits
from fedspec.errors import FedspecError, InexactError
from fedspec.params import flatten
from fedspec.reference import SUBJECT
from fedspec.wire import decode_case, decode_event, encode
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.measure.portable_rng import PortableRng
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario, change_events, lift, posed
from fedspec_suite.measure.verdict import Deviates
from fedspec_suite.vectors.alternatives import WIDE_ONLY, Kill, Rival, Want, answers, rivals
from fedspec_suite.vectors.rows import Row
from fedspec_suite.vectors.selection import SelectedCase

SHOWN = 25
"""Digits of an expected value that is irrational or a long fraction."""

_LONGEST = 27
"""Characters of a fraction that is written out."""

_WRITTEN = re.compile(r"-?\d{1,15}(?:/[1-9]\d{0,14})?|-?\d(?:\.\d{1,24})?(?:e-?\d{1,3})?")


def written(x: Fraction | Decimal) -> str:
    """Format an expected number: an integer, ``p/q`` in lowest terms, or 25 digits."""
    if isinstance(x, Fraction):
        text = str(x)
        if len(text) <= _LONGEST and max(abs(x.numerator), x.denominator) < 2**49:
            return text
        with digits():
            x = Decimal(x.numerator) / Decimal(x.denominator)
    if x == 0:
        return "0"
    with decimal.localcontext() as context:
        context.prec = SHOWN
        sign, figures, exponent = (+x).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(figures) - 1
    text = "".join(map(str, figures))
    tail = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' * sign}{text[0]}{tail}" + (f"e{power}" if power else "")


def read(text: Any, where: str) -> Fraction:
    """Parse an expected number.

    Raises:
        FedspecError: it is none of the forms that a wanted number has.
    """
    if not isinstance(text, str) or not _WRITTEN.fullmatch(text):
        raise FedspecError(
            f"{where}: got {str(text)[:60]!r}; want an integer, p/q or up to {SHOWN} digits, as a string"
        )
    return Fraction(text)


def rounded_up(bound: float) -> float:
    """Round an error bound up to three digits."""
    if bound == 0:
        return 0.0
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_CEILING
        return float(+Decimal(bound))


assert DIGITS > SHOWN


VERSION = 1

Vector = dict[str, Any]


LATER: Mapping[str, Mapping[str, str]] = {"streaming-diloco": {"against": "common"}}
"""Options that a row got after its vectors were made, at their default: left out, so that no id changes."""


def brief(algorithm: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a case as stored in a vector, without later options at their defaults."""
    later = LATER.get(algorithm, {})
    return {n: v for n, v in options.items() if later.get(n) != v}


def options_of(case: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a vector's case, including later options at their defaults."""
    return {**LATER.get(case["algorithm"], {}), **case["options"]}


def inputs(s: Scenario) -> dict[str, Any]:
    """Return the case and its events as JSON values, without the empty fields of events."""
    case = encode(s.case)
    case["options"] = brief(s.case.algorithm, s.case.options)
    return {"case": case, "events": [_without_nothing(encode(e)) for e in s.events]}


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: _without_nothing(v) for n, v in value.items() if v is not None and not (v == [] and n in _MAY_MISS)}
    return [_without_nothing(v) for v in value] if isinstance(value, list) else value


_MAY_MISS = {"strategies", "scales", "noise", "draws", "clusters"}
"""Lists of an event that a reader takes as empty where they are not there."""


def scenario(vector: Mapping[str, Any]) -> Scenario:
    """Decode the case and the events of a vector that has passed the schema."""
    dtype = vector["case"]["dtype"]
    case = {**vector["case"], "options": options_of(vector["case"])}
    return Scenario(decode_case(case), tuple(decode_event(e, dtype) for e in vector["events"]))


def id_of(given: Mapping[str, Any]) -> str:
    """Return the id of a vector: a hash of its inputs only."""
    case = given["case"]
    told = json.dumps({"case": given["case"], "events": given["events"]}, sort_keys=True, separators=(",", ":"))
    return f"{case['algorithm']}/{case['level']}/{hashlib.sha256(told.encode()).hexdigest()[:10]}"


def exact(s: Scenario) -> list[Mapping[str, Any]] | None:
    """Run the rule in fractions and return its answers; None if a root is irrational."""
    lifted = lift(s, Fraction)
    try:
        with digits():
            session = SUBJECT.start(lifted.case)
            return [session.step(event) for event in lifted.events]
    except InexactError:
        return None


def wanted(s: Scenario, want: Want, in_fractions: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return the expected values and their error bounds as JSON values."""
    values = []
    for k, names in enumerate(want.digits):
        shown = {}
        for name, numbers in names.items():
            if in_fractions is not None:
                numbers = [Fraction(v) for v in _flat(in_fractions[k][name])]
            shown[name] = [written(v) for v in numbers]
        values.append(shown)
    scales = [{name: [rounded_up(v) for v in bounds] for name, bounds in names.items()} for names in want.scales]
    return {"want": values, "scale": scales}


def _flat(value: Any) -> Any:
    return np.asarray(flatten(value) if isinstance(value, Mapping) else value, dtype=object).reshape(-1)


def encoded(r: Row, s: Scenario, want: Want, kills: Mapping[str, Kill], *, exactly: bool = True) -> Vector:
    """Return a vector as JSON values."""
    given = inputs(s)
    places: dict[str, dict[str, float | None]] = {}
    for name, kill in sorted(steady(r, s, want, kills).items()):
        places.setdefault(kill.place, {})[name] = float(f"{kill.total:.6g}") if math.isfinite(kill.total) else None
    names = {name for answer in want.values for name in answer}
    return {
        "id": id_of(given),
        **given,
        "dtypes": list(want.dtypes),
        "equations": {name: r.bench.equation_of(name) for name in r.shown if name in names},
        **wanted(s, want, exact(s) if exactly else None),
        "kills": dict(sorted(places.items())),
    }


def vector_of(r: Row, chosen: SelectedCase) -> Vector:
    """Return the vector of a selected case."""
    return encoded(r, chosen.scenario, chosen.want, chosen.kills)


def line(vector: Mapping[str, Any]) -> str:
    """Return a vector as one line of JSON."""
    return json.dumps(vector, separators=(",", ":"), allow_nan=False)


def size(r: Row, s: Scenario, want: Want) -> int:
    """Estimate the size of a vector in bytes, without its kills."""
    return len(line(encoded(r, s, want, {}, exactly=False)))


NUDGE = 2.0**-45
"""Relative change of inputs: far more than rounding, and far less than the digits of a total."""

FAR = 1e-5
"""Error of a total, relative to the largest number, that a reader of the vectors tolerates."""


def steady(r: Row, s: Scenario, want: Want, kills: Mapping[str, Kill]) -> dict[str, Kill]:
    """Replace totals that rounding decides by NaN.

    FedYogi under another mean, say, whose square is v but for rounding: the sign of their difference, and so the
    total, is one here and another there, and no less so in an implementation.
    """
    among = {rival.id: rival for rival in rivals(r)}
    either = [_nudged(s, NUDGE), _nudged(s, -NUDGE)]
    return {
        name: kill if _stays(r, either, want, among[name], kill) else kill._replace(total=math.nan)
        for name, kill in kills.items()
    }


def _stays(r: Row, either: Sequence[Scenario], want: Want, rival: Rival, kill: Kill) -> bool:
    """True if the total is the same for inputs that are a little larger or smaller; a total that is none stays none."""
    place = kill.place.removesuffix(WIDE_ONLY)
    if not math.isfinite(kill.total):
        return True
    wanted = float(np.abs(want.values[-1].get(place, (0.0,))).max())
    try:
        for s in either:
            last = {name: got for _, name, got in answers(r, s, want, rival)}[place]
            far = FAR * max(wanted, float(np.abs(last).max()))
            if not abs(float(np.sum(last)) - kill.total) <= far:
                return False
    except (SubjectError, Deviates, *CANNOT):
        return False
    return True


def _nudged(s: Scenario, by: float) -> Scenario:
    """The case with each number of its model, its messages and its objectives off by another few times so much."""
    dice = PortableRng("nudged")

    def off(a: Array) -> Array:
        return a * (1 + by * np.array([dice.between(1, 15) for _ in range(a.size)]).reshape(a.shape))

    moved = change_events(s, off, off)
    return moved if s.case.problem is None else posed(moved, moved.case.x0, e=off(s.case.problem.e))
