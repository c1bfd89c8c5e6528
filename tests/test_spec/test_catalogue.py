"""The catalogue is consistent: ids, equations, readings, options, hyper-parameters."""

from __future__ import annotations

import pkgutil
from collections import Counter
from importlib import import_module

import pytest

import fedspec.algorithms
import fedspec.client
from fedspec.catalogue import CATALOGUE, FAMILIES, Algorithm, LocalSolver, Method, Program, find
from fedspec.domains import DOMAINS
from fedspec.entry import LAST
from fedspec.errors import FedspecError, ParameterError, UnknownNameError
from fedspec.rules import RULES, equations, printed

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


def test_every_row_stands_in_the_file_of_its_functions_and_at_a_place_of_its_own() -> None:
    found = []
    for package in (fedspec.client, fedspec.algorithms):
        for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            said = vars(import_module(file.name))
            rows = (*said.get("ROWS", ()), *([said["ROW"]] if "ROW" in said else []))
            for a in rows:
                match a.run:
                    case LocalSolver():
                        runs = a.run.rule
                    case Method():
                        runs = a.run.server
                    case Program():
                        runs = a.run.step
                assert runs.__module__ == file.name, f"{a.id}: its row stands in {file.name}"
            found += rows
    assert sorted(a.id for a in found) == sorted(CATALOGUE), "an id is said twice"
    assert sorted(CATALOGUE) == sorted(i for family in FAMILIES.values() for i in (a.id for a in family))
    places = Counter((a.family, a.place) for a in found if a.place != LAST)
    assert set(places.values()) == {1}


@pytest.mark.parametrize("a", [a for a in ROWS if a.read_when], ids=lambda a: a.id)
def test_what_is_read_under_an_option_is_a_number_under_a_value(a: Algorithm) -> None:
    for number, under in a.read_when.items():
        assert number in a.numbers and under
        for said in under:
            option, _, value = said.partition("=")
            assert value in list(a.options[option]), f"{a.id}: {said}"
            assert number in a.numbers_under(a.levels[-1], {**a.defaults(), option: value})
    assert set(a.read_when) - set(a.numbers_under(a.levels[-1], {})) == set(a.read_when)


def test_readings_differ() -> None:
    for a in ROWS:
        seen = [tuple(sorted(r.fixes.items())) for r in a.readings]
        assert len(set(seen)) == len(seen), a.id


def test_equation_ids_are_unique() -> None:
    printed = [(e.id, name) for name, function in RULES.items() for e in equations(function)]
    owners: dict[str, set[str]] = {}
    for equation, rule in printed:
        owners.setdefault(equation, set()).add(rule)
    assert {i for i, rules in owners.items() if len(rules) > 1} == set()


def test_every_rule_prints_an_equation_and_a_source() -> None:
    for name, function in RULES.items():
        assert equations(function), name
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
