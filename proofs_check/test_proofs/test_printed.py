"""Printed equations of a local solver's or a server's rule, under every reading, are interpreted in fractions and
compared with the rule.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_proofs.calls import COORDINATES
from test_proofs.printed import evaluate, python
from test_proofs.test_arithmetics import CALLS, called

from fedspec.catalogue import CATALOGUE
from fedspec.rules import RULES, equations, printed
from fedspec_properties.closed_forms.muon import ODD

LABELS = [label for label, (name, _) in CALLS.items() if name.startswith(("fedspec.client", "fedspec.server"))]

SETS = {"sm3-i.mu", "sm3-i.nu", "sm3-ii.mu", "sm3-ii.nu", "sm3-adam.mu", "sm3-adam.nu"}
"""Equations for each set of a cover, which the interpreter does not read; test_client_rules counts them by hand."""

OF_OTHERS = {"sm3-adam.update", "sm3-i-delayed.nu", "sm3-ii-delayed.nu"}
"""Equations that point to those of another rule."""

THEN = {"qsgd.R": RULES["fedspec.client.quantise.on_levels"]}
"""Equations after which a rule goes on with those of another."""

CALLED = {
    "y": "x",
    "x_i": "x",
    "Delta": "delta",
    "Delta_i": "delta_i",
    "T": "steps",
    "p_i": "p",
    "k": "kept",
    "s": "levels",
}
"""Symbols of a box by the argument that holds them, where the two differ."""

SCALINGS: dict[str, Any] = {
    "identity": lambda low, high: lambda length: length,
    "constant": lambda low, high: lambda length: 1,
    "clip": lambda low, high: lambda length: min(max(length, low), high),
}
"""Function phi, by the name of its reading."""

ORTHOGONALISED = RULES["fedspec.client.muon.newton_schulz"]
"""Rule that makes Muon's O of u."""

OF_THE_ANCHOR = {"feddyn.y": {"x": "anchor"}}


def names_of(arguments: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The symbols before the step: arguments, the state's fields; t counts this step already."""
    names: dict[str, Any] = {}
    for name, value in arguments.items():
        if is_dataclass(value) and not isinstance(value, type):
            names |= {f.name: getattr(value, f.name) for f in fields(value)}
        else:
            names[name] = value
    if "phi" in names:
        names["phi"] = SCALINGS[names["phi"]](names["phi_m"], names["phi_M"])
    if "c" in names:
        names["C"] = lambda p: names["c"]
    if "shape" in names:
        names |= {n: Fraction(q) for n, q in zip("abc", ODD["jordan"][0], strict=True)}
        names |= {n: [Fraction(row[j]) for row in ODD["muloco"]] for j, n in enumerate(("a_k", "b_k", "c_k"))}
    if "shapes" in names:
        names |= {n: Fraction(number) for n, number in zip("rc", names["shapes"][0], strict=True)}
    if "t" in names:
        names["t"] = Fraction(names["t"] + 1)
    for symbol, argument in CALLED.items():
        if argument in names:
            names[symbol] = names[argument]
    return {"d": Fraction(COORDINATES), **names}


@pytest.mark.table(1)
@pytest.mark.parametrize("label", LABELS)
def test_the_printed_equations_run(label: str) -> None:
    name, chosen = CALLS[label]
    rule, call = RULES[name], called(label)
    own = inspect.signature(rule).parameters
    always = {e.id for e in printed(rule) if not e.when}
    of_rows = {n: v for e in printed(rule) if e.id not in always for n, v in e.when if n not in own}
    lines = equations(rule, {**of_rows, **{n: str(v) for n, v in chosen}})
    lines += tuple(e for line in lines if line.id in THEN for e in equations(THEN[line.id]))
    names, found = names_of(dict(call.arguments), dict(call.result)), {}
    foreign = [e for e in lines if e.id in OF_OTHERS]
    if foreign or not {"mu", "nu"} & {e.text.partition(" ")[0] for e in lines}:
        # What another rule's equations make of these is taken from the result.
        names |= {n: v for n, v in call.result.items() if n in {"mu", "nu"}}
    for e in lines:
        if e.id in SETS or e in foreign:
            continue
        held = {symbol: call.arguments[argument] for symbol, argument in OF_THE_ANCHOR.get(e.id, {}).items()}
        left, value = evaluate(e.text, {**names, **held})
        names[left] = found[left] = value
        if e.id == "muon.u":
            taken = {n: names[n] for n in inspect.signature(ORTHOGONALISED).parameters if n in names}
            names["O"] = ORTHOGONALISED(**taken, shape=names["shapes"][0])
    assert found or {e.id for e in lines} <= SETS
    if set(call.result) == {"result"}:
        (want,) = call.result.values()
        assert (found[lines[-1].text.partition(" ")[0]] == want).all()
    for symbol, want in call.result.items():
        if symbol in found:
            assert np.array_equal(found[symbol], want), f"{symbol}: printed {lines}"


@pytest.mark.table(20)
@pytest.mark.parametrize("name", [n for n in RULES if n.startswith(("fedspec.client", "fedspec.server"))])
def test_conditions_are_options_of_the_rule_or_of_its_rows(name: str) -> None:
    rule = RULES[name]
    parameters = inspect.signature(rule).parameters
    rows = [a for a in CATALOGUE.values() if rule in a.rules]
    for e in printed(rule):
        for option, value in e.when:
            kinds = [type(parameters[option].default)] if option in parameters else [a.options[option] for a in rows]
            assert kinds and all(value in list(kind) for kind in kinds), f"{e.id}: {option} = {value}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("eta_l m_hat / (sqrt(v_hat) + eps)", "eta_l * m_hat / ( sqrt ( v_hat ) + eps )"),
        ("2 (a + b)^2 c", "2 * ( a + b ) ** 2 * c"),
        ("g / (||g|| + eps)", "g / ( norm ( g ) + eps )"),
        ("||g||_1 / d sign(g)", "sum ( abs ( g ) ) / d * sign ( g )"),
        ("s |v| / max_j |v_j|", "s * abs ( v ) / largest ( abs ( v ) )"),
    ],
)
def test_how_print_is_read(text: str, wanted: str) -> None:
    assert python(text) == wanted
