"""Hyper-parameters: what plays no part is refused, what plays one is required, and usual values are there for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.fedada2 import FedAda2
from fedspec.algorithms.fedadaadam import FedAdaAdam
from fedspec.algorithms.fedbuff import FedBuff
from fedspec.algorithms.private import DpFedAvg
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver
from fedspec.checked_rows import check_row
from fedspec.client.amsgrad import amsgrad, begin
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError, ParameterError, PluginError
from fedspec.usual import BY_NAME, unsaid, usual
from fedspec_suite.measure.hyper_pools import POOLS

pytestmark = pytest.mark.table(10)

JOINT: dict[str, Any] = {"eta_l": 1, "eps": 1, "eta": 1, "beta1": 0, "tau": 1, "v0": 1}
BUFFER: dict[str, Any] = {"buffer": 1, "eta_l": 1, "eta": 1}
COUNT_OF = {"twice_a": 3, "hinge_b": 2, "kept": 2}
"""A value that is no default, for those that count."""
PRIVATE: dict[str, Any] = {"eta_l": 1, "eta": 1, "clip_norm": 1, "sigma": 1}


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (FedAda2, {**JOINT, "server": "adam"}, "beta2: not given; FedAda2 needs it under server=adam"),
        (FedAdaAdam, JOINT, "beta1_l, beta2_l: not given; FedAdaAdam needs them"),
        # What has no default at all, and what an option asks for, in one sentence.
        (FedBuff, {"eta": 1, "staleness": "hinge"}, "buffer, eta_l, hinge_a, hinge_b: .* them under staleness=hinge"),
        (FedBuff, {**BUFFER, "staleness": "polynomial"}, "twice_a: not given; FedBuff needs it"),
        (DpFedAvg, {**PRIVATE, "server": "adagrad", "beta1": 0, "v0": 0}, "tau: not given"),
    ],
)
def test_a_record(kind: Any, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        kind(**given)


def idle() -> Iterator[tuple[str, str, str]]:
    """A row, a hyper-parameter and a value of an option under which it plays no part."""
    for a in CATALOGUE.values():
        for name in a.plays if not isinstance(a.run, LocalSolver) else ():
            option = a.plays[name][0].partition("=")[0]
            others = [f"{option}={value}" for value in a.options[option]]
            yield from ((a.id, name, said) for said in others if said not in a.plays[name])


@pytest.mark.parametrize(("row", "name", "said"), list(idle()))
def test_what_is_given_and_plays_no_part_is_refused_and_a_default_is_not(row: str, name: str, said: str) -> None:
    a = CATALOGUE[row]
    assert not isinstance(a.run, LocalSolver)
    option, _, value = said.partition("=")
    options = {option: value}
    given = {n: POOLS.get(n, (1.0,))[-1] for n in a.numbers_under("round", {**a.defaults(), **options})}
    a.run.hyper(**given, **options)
    other = next(str(v) for v in a.options[name] if str(v) != a.defaults()[name]) if name in a.options else 0.5
    with pytest.raises(ParameterError, match=rf"^{name}: .*{value}|^{name}: .*drop it"):
        a.run.hyper(**{**given, name: COUNT_OF.get(name, other)}, **options)


def test_a_client_s_maximum() -> None:
    """Called without a row the rule refuses it, too."""
    numbers: dict[str, Any] = {"eta_l": 1.0, "beta1": 0.5, "beta2": 0.5, "eps": 1.0}
    state, g = begin(np.zeros(1)), np.ones(1)
    amsgrad(state, g, **numbers, maximum_of="after-correction", bias_correction="moments")  # type: ignore[arg-type]
    amsgrad(state, g, **numbers, maximum_of="before-correction")  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match=r"maximum_of: got after-correction, .* under bias_correction=none; leave it"
    ):
        amsgrad(state, g, **numbers, maximum_of="after-correction")  # type: ignore[arg-type]


def test_a_claim() -> None:
    """An offer of such a pair of options is refused as well, and cases hold what plays a part."""
    row = CATALOGUE["fedada2"]
    with pytest.raises(ParameterError, match="idle: 'reset' plays no part in fedada2 with these options"):
        row.resolve("fedada2", {"client": "adam", "idle": "reset"})
    assert "beta2_l" not in row.numbers_under("round", row.resolve("fedada2", {}))
    assert {"beta1_l", "beta2_l"} <= set(row.numbers_under("round", row.resolve("fedada2", {"client": "adam"})))
    with pytest.raises(ParameterError, match=r"client: declared .adagrad., but reading"):
        CATALOGUE["joint-direct"].resolve("uncorrected", {"client": "adagrad"})


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
