"""Slips of a kind that any method may have are named in subjects that are written out, not edited."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).with_name("subjects")))

from unnamed import Adaptive, Average, Clients, Late, Local, Slipped, TheirCode

from fedspec.contract import Level, Offer
from fedspec_suite.diagnosis.identify import Diagnosis, identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import Setting, setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

SERVER = ("fedavg", "server", "mcmahan-2017")
ROUND = ("fedavg", "round", "mcmahan-2017")
NOVA = ("fednova", "round", "fednova")
MOMENTUM = (("solver", "momentum"),)
BUFFER = ("fedbuff", "trace", "nguyen-2022")
ADAM = ("fedadam", "server", "reddi-2021")
DECAYED = "0.003 x is added to every gradient (weight decay inside the gradient, L2)"
NOT_ONE = ", which need not sum to one"

NAMED: dict[tuple[Any, ...], str] = {
    (Average, *SERVER, "percent"): f"models, not changes, are averaged by shares rounded to 2 digits{NOT_ONE}",
    (Average, *SERVER, "permille of changes"): f"changes are averaged by shares rounded to 3 digits{NOT_ONE}",
    (Average, *SERVER, "eight bits"): (
        f"models, not changes, are averaged by shares cut off at multiples of 2^-8{NOT_ONE}"
    ),
    (Average, *SERVER, "nova"): (
        f"models, not changes, are averaged by shares of FedNova, p_i tau_eff / ||a_i||_1{NOT_ONE}"
    ),
    (Average, *SERVER, "subtracted once"): (
        "weights = uniform, and models are added and divided by n, with the old one subtracted once, "
        "where n times is due"
    ),
    (Average, *SERVER, "by steps"): "of clients that take equally many steps the last alone counts",
    (Average, *SERVER, "by size"): "of clients of one size the last alone counts",
    (Clients, *ROUND, "by steps"): "of clients that take equally many steps the last alone counts",
    (Clients, *ROUND, "percent"): f"models, not changes, are averaged by shares rounded to 2 digits{NOT_ONE}",
    (Clients, *ROUND, "subtracted once"): (
        "models times n_i are added and divided by the sum of n_i, with the old one subtracted once"
    ),
    (Late, *BUFFER, "last of a version"): "of updates that began at one version the last alone counts",
    (Late, *BUFFER, "mean of a version"): (
        "of updates that began at one version the changes are averaged first, and that mean counts once"
    ),
    (Late, *BUFFER, "sum of a version"): (
        "of updates that began at one version the changes are added, and that sum counts once"
    ),
    (Clients, *NOVA, "one short", MOMENTUM): "||a_i||_1 lacks the first entry of a_i, unless it is the only one",
    (Clients, *NOVA, "models", MOMENTUM): (
        "models, not changes, are averaged by w_i tau_eff / ||a_i||_1, which need not sum to one"
    ),
    (Adaptive, *ADAM, "m_0 = -v_0"): "m starts at minus what v does",
    (Adaptive, *ADAM, "m_0 = -Delta"): "m starts at minus the first Delta",
    (Adaptive, "fedamsgrad", "server", "afga", "v_hat_0 one"): "v_hat starts at 1 in every coordinate",
    (Adaptive, "fedamsgrad", "server", "afga", "corrected maximum"): (
        "v is divided by 1 - beta2^t before the maximum takes it, and m by 1 - beta1^t in the step"
    ),
    (Adaptive, "fedamsgrad", "server", "afga", "corrected v"): (
        "v is divided by 1 - beta2^t before the maximum takes it, and m is not corrected"
    ),
    (Adaptive, "fedams", "server", "option-1", "corrected v"): (
        "v is divided by 1 - beta2^t before the maximum takes it, and m is not corrected"
    ),
    (Adaptive, "fedams", "server", "option-1", "corrected maximum"): (
        "v is divided by 1 - beta2^t before the maximum takes it, and m by 1 - beta1^t in the step"
    ),
    (Adaptive, *ADAM, "decay"): (
        "0.003 x is subtracted from Delta before the server takes it (weight decay inside the pseudo-gradient, L2)"
    ),
    (Local, "momentum", "client", "fednova", "u_0 = -g"): "u starts at minus the first gradient",
    (Local, "sgd", "client", "fednova", "decay"): DECAYED,
    (Local, "adam", "client", "kingma-2015", "decay"): DECAYED,
    (Local, "amsgrad", "client", "reddi-2018", "decay"): DECAYED,
    (Clients, *ROUND, "decay"): DECAYED,
    (Late, *BUFFER, "clipped"): "every gradient is clipped to [-0.7, 0.7]",
    (Local, "adam", "client", "kingma-2015", "clipped"): "every gradient is clipped to [-0.7, 0.7]",
    (Clients, "scaffold", "round", "karimireddy-2020", "clipped"): "every gradient is clipped to [-0.7, 0.7]",
    (Local, "adam", "client", "kingma-2015", "shortened"): (
        "every gradient is clipped to length 1.5, all blocks together"
    ),
    (Adaptive, *ADAM, "changes clipped at 0.3"): "every change is clipped to [-0.3, 0.3]",
    (Clients, "scaffold", "round", "karimireddy-2020", "mean over the seen"): (
        "c is the mean of c_i over the clients seen so far, not over all"
    ),
    (TheirCode, "fedams", "server", "option-1", "1"): "the rule of fedams-code, with v_hat0 = 1",
    (TheirCode, "fedams", "server", "option-1", "0.02"): "the rule of fedams-code, with v_hat0 = 0.02",
}


@cache
def setting(algorithm: str, level: Level, reading: str, options: tuple[tuple[str, str], ...]) -> Setting:
    return setting_of(Offer(algorithm, level, reading, dict(options), dtypes=("float64",)))


def said(method: Any, *given: Any) -> Diagnosis:
    subject = Slipped(method, *given)
    offer = subject.info.offers[0]
    of = setting(offer.algorithm, offer.level, offer.reading, tuple(offer.options.items()))
    with np.errstate(all="ignore"):
        return identify(bench_of(Inside(subject), offer, of), of)


@pytest.mark.parametrize("flaw", NAMED, ids=lambda flaw: f"{flaw[1]}/{flaw[2]}: {flaw[4]}")
def test_it_is_named_and_nothing_else_is(flaw: tuple[Any, ...]) -> None:
    assert [f.words for f in said(*flaw).found] == [NAMED[flaw]]


@pytest.mark.parametrize(
    "given",
    [
        (Average, *SERVER),
        (Adaptive, *ADAM),
        (Adaptive, "fedamsgrad", "server", "afga"),
        (Adaptive, "fedams", "server", "option-1"),
        (Local, "sgd", "client", "fednova"),
        (Local, "momentum", "client", "fednova"),
        (Local, "adam", "client", "kingma-2015"),
        (Local, "amsgrad", "client", "reddi-2018"),
        (Clients, *ROUND),
        (Clients, *NOVA, "", MOMENTUM),
        (Clients, "scaffold", "round", "karimireddy-2020"),
        (Late, *BUFFER),
    ],
    ids=lambda given: f"{given[1]}/{given[2]}",
)
def test_without_a_slip_they_are_right(given: tuple[Any, ...]) -> None:
    assert said(*given).follows
