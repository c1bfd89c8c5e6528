"""Hyper-parameters that play no part are refused, and those that play one are required."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.fedada2 import FedAda2
from fedspec.algorithms.fedadaadam import FedAdaAdam
from fedspec.algorithms.fedbuff import FedBuff
from fedspec.algorithms.private import DpFedAvg
from fedspec.catalogue import CATALOGUE, LocalSolver
from fedspec.client.amsgrad import amsgrad, begin
from fedspec.errors import ParameterError
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
