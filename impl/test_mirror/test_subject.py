"""The mirror as a subject: against the specification as a subject, on everything that the catalogue has."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_mirror.support import DEVICES

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.contract import Begin, Blocks, Case, Event, Gradient, Offer, Round, Subject
from fedspec.errors import ContractError
from fedspec.params import flatten
from fedspec.reference import SUBJECT as REFERENCE
from fedspec.reference import offers
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Status
from fedspec_torch.judged.sessions import DEVICE
from fedspec_torch.judged.subject import SUBJECT


def plain(name: str, level: Any) -> tuple[Case, tuple[Event, ...]]:
    """The plainest case of a row at a level, and its events."""
    s = plain_scenario(setting_of(Offer(name, level, CATALOGUE[name].readings[0].name)))
    return s.case, s.events


def test_a_number_that_is_shown_is_not_rounded() -> None:
    case, (event, *_) = plain("fednova", "server")
    options, hyper = {**case.options, "tau_eff_choice": "fixed"}, {**case.hyper, "tau_eff": 0.1}
    answer = SUBJECT.start(replace(case, options=options, hyper=hyper)).step(event)
    assert answer["tau_eff"] == 0.1


CASES = 2 if os.environ.get("FEDSPEC_PROFILE") == "quick" else 4
FEW = 2
"""Cases of an offer that is not the canonical one: its rules are the specification's text, run by the same engine."""

on_devices = pytest.mark.parametrize("device", DEVICES)
in_types = pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])


def follow(algorithm: Algorithm, dtype: str) -> None:
    """Every option, on drawn cases: the laws that compare with the rule."""
    for number, offer in enumerate(o for level in algorithm.levels for o in offers(algorithm, level)):
        cases = FEW if number else CASES
        obligations = judge_offer(
            InProcess(SUBJECT), replace(offer, dtypes=(dtype,)), cases=cases, law="follows-*,dtype"
        )
        assert len(obligations) >= 2 + len(algorithm.shows_at(offer.level))
        assert [str(o.deviation or o.reason) for o in obligations if o.status is not Status.PASS] == []


@pytest.mark.table(2)
@on_devices
@in_types
@pytest.mark.parametrize("algorithm", CATALOGUE.values(), ids=lambda a: a.id)
def test_agrees_with_the_reference(
    algorithm: Algorithm, dtype: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEVICE, device)
    follow(algorithm, dtype)


ENGINE = [("fedavg", "looped singly"), ("fedada2", "stacked"), ("cc-fedadam", "stacked"), ("dsgd", "looped singly")]
ENGINE += [("scaffold", "in two shards"), ("cafga", "in two shards")]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.long
@pytest.mark.parametrize(("name", "how"), ENGINE)
def test_the_loop_of_simulate_conforms(name: str, how: str) -> None:
    """Clients that only shift where shards end may change the last bits."""
    (offer,) = (o for o in SUBJECT.info.offers if (o.algorithm, o.variant) == (name, "engine looped singly"))
    obligations = judge_offer(InProcess(SUBJECT), replace(offer, variant=f"engine {how}"), cases=2)
    wrong = {o.law for o in obligations if o.status not in {Status.PASS, Status.SKIP}}
    assert obligations and wrong <= ({"bystander"} if "shards" in how else set())


def test_offers_the_whole_catalogue() -> None:
    assert isinstance(SUBJECT, Subject)
    assert (SUBJECT.info.name, SUBJECT.info.variant) == ("fedspec_torch", "torch")
    rules = tuple(offer for offer in SUBJECT.info.offers if not offer.variant)
    assert rules == REFERENCE.info.offers


BLOCKS = {"W": np.arange(12.0).reshape(3, 4), "b": np.arange(5.0)}


@pytest.mark.table(1)
@pytest.mark.parametrize("pair", ["fedadam-with-yogi", "fedavgm-with-adamw", "q-fedavg-with-momentum"])
def test_a_server_with_another_local_solver_conforms_when_it_is_named(pair: str) -> None:
    """The option has to reach the process of torch, which lists its claims before it knows what is asked."""
    words = ["check", "spec", "torch", "--only", pair, "--law", "follows-x", "--profile", "quick", "-q"]
    ran = subprocess.run([fedspec_command(), *words], capture_output=True, text=True, check=False)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0 and all("follows x" in line and pair in line for line in lines), ran.stderr
    assert {line.split(" 0.1.0 ")[0] for line in lines} == {"fedspec", "fedspec_torch"}
    assert any("engine stacked" in line for line in lines)


def test_a_pair_that_is_none_says_why() -> None:
    ran = subprocess.run(
        [fedspec_command(), "check", "torch", "--only=fedadam-with-krum/round"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2 and "krum is no local solver" in ran.stderr


def fedspec_command() -> str:
    """Path of the installed command."""
    return str(Path(sys.executable).with_name("fedspec"))


def test_blocks_come_in_any_order() -> None:
    case = replace(plain("momentum", "client")[0], x0=BLOCKS)
    (want, got) = (
        flatten(SUBJECT.start(case).step(Gradient(dict(g)))["x"])  # type: ignore[arg-type]
        for g in (BLOCKS, reversed([*BLOCKS.items()]))
    )
    np.testing.assert_array_equal(got, want)


class TestRefusals:
    def test_unknown_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(DEVICE, "abacus")
        with pytest.raises(ContractError, match="device: got 'abacus'"):
            SUBJECT.start(plain("sgd", "client")[0])

    @pytest.mark.parametrize("g", [{}, {"W": BLOCKS["W"]}, {**BLOCKS, "W": BLOCKS["W"].T}])
    def test_other_blocks(self, g: Blocks) -> None:
        with pytest.raises(ContractError, match="blocks: got"):
            SUBJECT.start(replace(plain("sgd", "client")[0], x0=BLOCKS)).step(Gradient(g))

    @pytest.mark.parametrize(("name", "level"), [("sgd", "client"), ("fedavg", "server"), ("fedavg", "round")])
    def test_events_of_another_level(self, name: str, level: str) -> None:
        case, _ = plain(name, level)
        wrong: Event = Round((0,), (1,)) if level != "round" else Begin(case.x0)
        with pytest.raises(ContractError, match=f"at level {level}"):
            SUBJECT.start(case).step(wrong)
