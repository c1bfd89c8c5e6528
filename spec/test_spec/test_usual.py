"""Usual values: every algorithm that trains can be asked for without a number, in each reading and option."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver
from fedspec.checked_rows import check_row
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError, ParameterError, PluginError
from fedspec.usual import BY_NAME, unsaid, usual

TRAINERS = [a for a in CATALOGUE.values() if not isinstance(a.run, LocalSolver)]


def asked(a: Algorithm) -> Iterator[tuple[str, dict[str, str]]]:
    """Each reading, alone and with each value of each option that it leaves open."""
    for reading in a.readings:
        yield reading.name, {}
        for option, kind in a.options.items():
            for value in map(str, kind):
                try:
                    a.resolve(reading.name, {option: value})
                except FedspecError:
                    continue
                yield reading.name, {option: value}


@pytest.mark.table(20)
@pytest.mark.parametrize("a", TRAINERS, ids=lambda a: a.id)
def test_usual_values_make_a_record_in_every_reading_and_keep_what_it_asks(a: Algorithm) -> None:
    run: Any = a.run
    for reading, options in asked(a):
        found = usual(a, reading, options)
        try:
            # The record refuses what is outside its domain, plays no part, or is missing.
            h = run.hyper(**found, **a.resolve(reading, options))
        except ParameterError as error:
            # Two options that do not go together, whatever the numbers are.
            assert str(error).partition(":")[0] in a.options, f"{reading}: {options}"
            continue
        for name, value in found.items():
            assert DOMAINS[name].domain.holds(value)
        for wanted in a.reading(reading).requires:
            if not options:
                assert wanted.holds(vars(h)), f"{reading}: {wanted.words}"
        assert set(found) <= set(unsaid(a, reading, options))


def test_a_rate_is_smaller_where_a_root_divides_and_what_is_given_is_not_said_again() -> None:
    find = CATALOGUE.__getitem__
    assert usual(find("fedavg")) == {"eta_l": 0.1}
    assert usual(find("fedadam"))["eta"] < usual(find("fedavgm"))["eta"]
    assert usual(find("dadam"))["eta_l"] < usual(find("dsgd"))["eta_l"]
    assert usual(find("fedadam"), given={"eta": 5, "eta_l": 2}).keys() == {"beta1", "beta2", "tau", "v0"}
    late = usual(find("fedbuff"), "discounted-by-hinge")
    assert late.keys() - usual(find("fedbuff")).keys() == {"hinge_a", "hinge_b"}
    assert usual(find("sgd")) == unsaid(find("sgd")) == {}


def test_the_second_moment_begins_at_the_square_of_a_stabiliser_that_is_given() -> None:
    a = CATALOGUE["fedadam"]
    assert usual(a, given={"tau": 0.5})["v0"] == 0.25
    assert usual(a, given={"tau": 0.5, "v0": 1.0}).keys().isdisjoint({"tau", "v0"})
    assert usual(a)["v0"] == usual(a)["tau"] ** 2
    # What is no number is refused as such, by the record.
    assert usual(a, given={"tau": "half"})["v0"] == BY_NAME["v0"]


def test_what_a_reading_asks_of_a_default_is_kept() -> None:
    a = CATALOGUE["fednova"]
    assert usual(a, "wang-2020-code").items() >= {"mu": BY_NAME["mu"], "rho": BY_NAME["rho"]}.items()
    assert "mu" not in usual(a) and "mu" not in usual(a, "wang-2020-code", {"mu": 0.5})
    assert unsaid(a)["eta_l"] == 0.1 and "mu" not in unsaid(a)


def test_a_row_says_its_own_and_what_it_cannot_say_is_refused() -> None:
    own = replace(CATALOGUE["fedadam"], id="mine", usual={"eta": 7.0, "v0": 2.0})
    assert usual(own).items() >= {"eta": 7.0, "v0": 2.0, "eta_l": 0.1}.items()
    assert usual(own, given={"eta": 1.0, "tau": 3.0})["v0"] == 2.0
    # A number for what has a default stands before the default.
    assert usual(replace(CATALOGUE["fedavg"], usual={"eta": 0.5})) == {"eta_l": 0.1, "eta": 0.5}
    for wrong, words in (({"etta": 1.0}, "usual: 'etta' is none of its"), ({"eta": -1.0}, "usual: eta: got -1.0")):
        with pytest.raises(PluginError, match=words):
            check_row(replace(own, usual=wrong), "mine.py")
