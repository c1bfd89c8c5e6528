"""The catalogue is consistent: ids, equations, readings, options, hyper-parameters."""

from __future__ import annotations

import pkgutil
from collections import Counter
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import fedspec.algorithms
import fedspec.client
from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE, FAMILIES, Algorithm, LocalSolver, Method, Program, find
from fedspec.contract import Arrival
from fedspec.domains import DOMAINS
from fedspec.entry import LAST
from fedspec.errors import FedspecError, ParameterError, UnknownNameError
from fedspec.rules import RULES, equations, printed
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import reference
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

pytestmark = pytest.mark.table(10)

ROWS = list(CATALOGUE.values())


@pytest.mark.parametrize("a", ROWS, ids=lambda a: a.id)
def test_row_is_complete(a: Algorithm) -> None:
    assert a.title and a.source and a.levels and a.readings
    ids = [e.id for e in a.equations]
    assert any(i.endswith(".step") for i in ids)
    own = {e.id.split(".")[1] for rule in a.rules for e in printed(rule)}
    assert set(a.shows) <= own, "what is shown is an equation"
    for number in a.numbers:
        assert number in DOMAINS
    for reading in a.readings:
        resolved = a.resolve(reading.name, {})
        assert set(resolved) == set(a.options)
        for name, value in resolved.items():
            a.options[name](value)


def _module(a: Algorithm) -> str:
    """Module of the functions that an algorithm runs."""
    match a.run:
        case LocalSolver():
            return a.run.rule.__module__
        case Method():
            return a.run.server.__module__
        case Program():
            return a.run.step.__module__


def test_every_row_stands_in_the_file_of_its_functions_and_at_a_place_of_its_own() -> None:
    found = []
    for package in (fedspec.client, fedspec.algorithms):
        for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            said = vars(import_module(file.name))
            rows = (*said.get("ROWS", ()), *([said["ROW"]] if "ROW" in said else []))
            for a in rows:
                assert _module(a) == file.name, f"{a.id}: its row stands in {file.name}"
            found += rows
    # Another test of this process may have asked for an algorithm of its own, which joins the catalogue.
    ours = [id for id, a in CATALOGUE.items() if _module(a).startswith("fedspec.")]
    assert sorted(a.id for a in found) == sorted(ours), "an id is said twice"
    assert sorted(CATALOGUE) == sorted(i for family in FAMILIES.values() for i in (a.id for a in family))
    places = Counter((a.family, a.place) for a in found if a.place != LAST)
    assert set(places.values()) == {1}


def end(a: Algorithm, options: dict[str, str], **hyper: float) -> Array:
    """Last model of a plain run of an algorithm; arrivals after the second are late."""
    s = plain_scenario(Setting(a, a.levels[-1], a.readings[0].name, options))
    events = tuple(replace(e, delay=min(k // 2, 1)) if isinstance(e, Arrival) else e for k, e in enumerate(s.events))
    return reference(Scenario(replace(s.case, hyper={**s.case.hyper, **hyper}), events))[-1]["x"]


BITE = {
    "phi_m": ({"phi_m": 3.0, "phi_M": 8.0}, {"phi_m": 4.0, "phi_M": 8.0}),
    "v0": ({"v0": 1.0}, {"v0": 4.0}),
    "hinge_a": ({"hinge_a": 0.5, "hinge_b": 0}, {"hinge_a": 2.0, "hinge_b": 0}),
}
"""Values at which a hyper-parameter matters, where those of its pool do not on so plain a case."""


SOMETIMES = [(a, n) for a in ROWS for n in a.plays if n in a.numbers]


@pytest.mark.parametrize(("a", "number"), SOMETIMES, ids=[f"{a.id}-{n}" for a, n in SOMETIMES])
def test_a_number_is_read_under_the_values_that_the_row_says(a: Algorithm, number: str) -> None:
    option = {said.partition("=")[0] for said in a.plays[number]}
    assert len(option) == 1 and option <= set(a.options)
    for value in a.options[name := option.pop()]:
        options = {**a.defaults(), name: str(value)}
        values = BITE[number] if number in BITE else [{number: v} for v in POOLS[number][:2]]
        read = number in a.numbers_under(a.levels[-1], options)
        assert read is (f"{name}={value}" in a.plays[number])
        try:
            ends = [end(a, options, **hyper) for hyper in values]
        except ParameterError as refused:
            # A record refuses what plays no part; a solver, which has none, does not.
            assert not read and str(refused).startswith(f"{number}: ")
            continue
        assert np.array_equal(*ends) is not read, f"{a.id}: {number} under {name}={value}"


def test_readings_differ() -> None:
    for a in ROWS:
        seen = [tuple(sorted(r.fixes.items())) for r in a.readings]
        assert len(set(seen)) == len(seen), a.id


@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_some_reading_gives_every_option_another_value(a: Algorithm) -> None:
    """An option that every reading fixes at one value is none."""
    for option, value in a.defaults().items():
        assert any(r.fixes.get(option) != value for r in a.readings), option


def test_equation_ids_are_unique() -> None:
    printed = [(e.id, e.rule) for function in RULES.values() for e in equations(function)]
    owners: dict[str, set[str]] = {}
    for equation, rule in printed:
        owners.setdefault(equation, set()).add(rule)
    assert {i for i, rules in owners.items() if len(rules) > 1} == set()


def test_every_rule_prints_an_equation_and_a_source() -> None:
    for name, function in RULES.items():
        assert printed(function), name
        text = function.__doc__ or ""
        assert "Source:" in text or "External:" in text or "external:" in text, name


def test_unknown_names_are_refused_with_what_is_known() -> None:
    with pytest.raises(UnknownNameError, match="fedavg"):
        find("fedavgg")
    with pytest.raises(UnknownNameError, match="reddi-2021"):
        find("fedadam").resolve("reddi", {})
    with pytest.raises(UnknownNameError, match="weights"):
        find("fedadam").resolve("reddi-2021", {"wieghts": "uniform"})
    with pytest.raises(UnknownNameError, match="uniform"):
        find("fedadam").resolve("reddi-2021", {"weights": "equal"})
    with pytest.raises(ParameterError, match="claim another reading"):
        find("fedadam").resolve("reddi-2021", {"bias_correction": "moments"})
    assert issubclass(UnknownNameError, FedspecError)
