"""The mirror as a subject: against the specification as a subject, on everything that the catalogue has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_mirror.support import DEVICES, HYPER, MATRICES, SHAPES, Array, assert_close, dyadic, pairs

from fedspec.catalogue import CATALOGUE, Algorithm, Program
from fedspec.contract import (
    Begin,
    Blocks,
    Case,
    ClientMessage,
    Event,
    Gradient,
    Messages,
    Quadratics,
    Round,
    Subject,
)
from fedspec.errors import ContractError
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.reference import SUBJECT as REFERENCE
from fedspec.reference import offers
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.verdict import Status
from fedspec_torch.judged.sessions import DEVICE
from fedspec_torch.judged.subject import SUBJECT


def blocks(seed: int, dtype: str, shapes: Mapping[str, tuple[int, ...]] = SHAPES) -> Blocks:
    return {name: dyadic(seed + i, *shape).astype(dtype) for i, (name, shape) in enumerate(shapes.items())}


def scenario(algorithm: Algorithm, level: Any, options: dict[str, str], dtype: str) -> tuple[Case, list[Event]]:
    """A case and five events."""
    problem: Quadratics | None = None
    shapes = MATRICES if algorithm.has(Fact.MATRICES) else SHAPES
    x0 = blocks(0, dtype, shapes)
    events: list[Event]
    if level == "client":
        steps = [Gradient(blocks(10 * k + 10, dtype, shapes)) for k in range(4)]
        events = [*steps[:3], Begin(blocks(5, dtype, shapes)), steps[3]]
    elif level == "server":
        events = [
            Messages(
                tuple(
                    ClientMessage(
                        i,
                        blocks(100 * t + 10 * i, dtype),
                        weight=i + t,
                        steps=i + 1,
                        a_norm=1.5 * i + 1,
                        loss=0.5 + i if algorithm.losses else None,
                    )
                    for i in range(3)
                )
            )
            for t in range(5)
        ]
    else:
        x0 = {"x": dyadic(0, 4).astype(dtype)}
        A = dyadic(1, 5, 4, 4) / 4
        H = (A @ A.transpose(0, 2, 1) + np.eye(4) / 8).astype(dtype)
        f = np.full(5, 64, dtype=dtype) if algorithm.losses else None
        problem = Quadratics(H, dyadic(2, 5, 4).astype(dtype), np.arange(1.0, 6.0), f)
        plans = [((0, 1, 2, 3, 4), (2, 2, 2, 2, 2)), ((3, 1), (1, 4)), ((2,), (3,)), ((0, 4, 2), (3, 1, 2))]
        events = [Round(*plan) for plan in [*plans, plans[0]]]
    reading = algorithm.readings[0].name
    hyper = {n: HYPER[n] for n in algorithm.numbers_under(level, options)}
    return Case(algorithm.id, level, reading, options, dtype, x0, hyper, problem), events


def entries() -> Iterator[Any]:
    for algorithm in CATALOGUE.values():
        for level in algorithm.levels if not isinstance(algorithm.run, Program) else ():
            yield pytest.param(algorithm, level, id=f"{algorithm.id}-{level}")


def flat(value: object) -> Array:
    """An answer as one array."""
    return flatten(value) if isinstance(value, Mapping) else np.asarray(value)


def largest(value: Array | float) -> float:
    return float(np.max(np.abs(value)))


@pytest.mark.table(10)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])
@pytest.mark.parametrize(("algorithm", "level"), [*entries()])
def test_agrees_with_the_reference(
    algorithm: Algorithm, level: str, dtype: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEVICE, device)
    for options in pairs(algorithm):
        case, events = scenario(algorithm, level, options, dtype)
        ours, theirs = SUBJECT.start(case), REFERENCE.start(case)
        scale: dict[str, float] = {}
        for event in events:
            got, want = ours.step(event), theirs.step(event)
            assert set(got) == set(want)
            assert set(algorithm.shows) <= set(got)
            for name, value in want.items():
                scale[name] = max(scale.get(name, 8.0), largest(value))  # type: ignore[arg-type]
                if name in ("tau_eff", "w", "rate"):
                    np.testing.assert_allclose(flat(got[name]), flat(value), rtol=16 * float(np.finfo(dtype).eps))
                else:
                    rows = name in ("d_i", "b_i")
                    assert rows or list(got[name]) == list(case.x0)  # type: ignore[arg-type]
                    # Rows of numbers come as Python's.
                    told = flat(got[name]).astype(dtype) if rows else flat(got[name])
                    assert_close(told, flat(value), scale[name], f"{options} {name}")


def test_a_number_that_is_shown_is_not_rounded() -> None:
    case, events = scenario(CATALOGUE["fednova"], "server", {"tau_eff_choice": "fixed"}, "float64")
    answer = SUBJECT.start(replace(case, hyper={**case.hyper, "tau_eff": 0.1})).step(events[0])
    assert answer["tau_eff"] == 0.1


CASES = 2 if os.environ.get("FEDSPEC_PROFILE") == "quick" else 4
FEW = 2
"""Cases of an offer that is not the canonical one: its rules are the specification's text, run by the same engine."""

PROGRAMS = [a for a in CATALOGUE.values() if isinstance(a.run, Program)]


@pytest.mark.table(1)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])
@pytest.mark.parametrize("algorithm", PROGRAMS, ids=lambda a: a.id)
def test_follows_the_programs_of_the_reference(
    algorithm: Algorithm, dtype: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every option, on drawn cases: the laws that compare with the rule."""
    monkeypatch.setenv(DEVICE, device)
    for number, offer in enumerate(o for level in algorithm.levels for o in offers(algorithm, level)):
        cases = FEW if number else CASES
        obligations = judge_offer(Inside(SUBJECT), replace(offer, dtypes=(dtype,)), cases=cases, law="follows-*")
        assert len(obligations) == 1 + len(algorithm.shows_at(offer.level))
        assert [str(o.deviation or o.reason) for o in obligations if o.status is not Status.PASS] == []


ENGINE = [("fedavg", "looped singly"), ("fedada2", "stacked"), ("cc-fedadam", "stacked"), ("dsgd", "looped singly")]
ENGINE += [("scaffold", "in two shards"), ("cafga", "in two shards")]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.long
@pytest.mark.parametrize(("name", "how"), ENGINE)
def test_the_loop_of_simulate_conforms(name: str, how: str) -> None:
    """Clients that only shift where shards end may change the last bits."""
    (offer,) = (o for o in SUBJECT.info.offers if (o.algorithm, o.variant) == (name, "engine looped singly"))
    obligations = judge_offer(Inside(SUBJECT), replace(offer, variant=f"engine {how}"), cases=2)
    wrong = {o.law for o in obligations if o.status not in {Status.PASS, Status.SKIP}}
    assert obligations and wrong <= ({"bystander"} if "shards" in how else set())


def test_offers_the_whole_catalogue() -> None:
    assert isinstance(SUBJECT, Subject)
    assert (SUBJECT.info.name, SUBJECT.info.variant) == ("fedspec_torch", "torch")
    rules = tuple(offer for offer in SUBJECT.info.offers if not offer.variant)
    assert rules == REFERENCE.info.offers


def test_blocks_come_in_any_order() -> None:
    case, events = scenario(CATALOGUE["momentum"], "client", {}, "float64")
    for event in events[:2]:
        assert isinstance(event, Gradient)
        turned = Gradient(dict(reversed([*event.g.items()])))
        want, got = (flat(SUBJECT.start(case).step(e)["x"]) for e in (event, turned))
        np.testing.assert_array_equal(got, want)


class TestRefusals:
    def start(self, **changes: Any) -> None:
        case, _ = scenario(CATALOGUE["sgd"], "client", {}, "float64")
        SUBJECT.start(Case(**{**vars(case), **changes}))

    def test_unknown_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(DEVICE, "abacus")
        with pytest.raises(ContractError, match="no device 'abacus'"):
            self.start()

    @pytest.mark.parametrize("g", [{}, {"W": np.zeros((3, 4))}, {"W": np.zeros((4, 3)), "b": np.zeros(5)}])
    def test_other_blocks(self, g: Blocks) -> None:
        case, _ = scenario(CATALOGUE["sgd"], "client", {}, "float64")
        with pytest.raises(ContractError, match="blocks: got"):
            SUBJECT.start(case).step(Gradient(g))

    @pytest.mark.parametrize(("name", "level"), [("sgd", "client"), ("fedavg", "server"), ("fedavg", "round")])
    def test_events_of_another_level(self, name: str, level: str) -> None:
        algorithm = CATALOGUE[name]
        case, _ = scenario(algorithm, level, algorithm.defaults(), "float64")
        wrong: Event = Round((0,), (1,)) if level != "round" else Begin(case.x0)
        with pytest.raises(ContractError, match=f"at level {level}"):
            SUBJECT.start(case).step(wrong)
