"""Accumulated gradients: autograd over the whole batch as the second route, and mistakes that get names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from test_judge import test_chain
from test_judge.diagnosing import named, written
from test_judge.test_schedules import judged
from torch.nn.utils import clip_grad_norm_

from fedspec.arith import Array
from fedspec.chain import chain
from fedspec.contract import Case, Claim, Gradient
from fedspec.errors import ContractError
from fedspec.reference import SUBJECT
from fedspec.wire import decode_event, encode
from fedspec_suite.judge.capsules.codec import decoded, encoded
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.far_cases import far_scenarios
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import check_offer, find, setting_of, with_reading

TOKENS = (2, 30, 1)


def gradient_of(w: Array, data: list[tuple[Array, Array]], reduce: Callable[[list[Any]], Any]) -> Array:
    """Gradient by autograd of what ``reduce`` makes of the batches' lists of losses, one for each token."""
    p = torch.tensor(w, requires_grad=True)
    reduce([(torch.tensor(X) @ p - torch.tensor(y)) ** 2 for X, y in data]).backward()
    assert p.grad is not None
    return p.grad.numpy()


@pytest.mark.parametrize(
    ("link", "reduce"),
    [
        ("accumulate-tokens 3", lambda losses: torch.cat(losses).mean()),
        ("accumulate-batches 3", lambda losses: torch.stack([one.mean() for one in losses]).mean()),
    ],
)
@pytest.mark.parametrize("more", [(), ("clip-norm-eps 0.75", "decay 0.125")])
def test_an_accumulation_is_the_gradient_of_its_loss(
    link: str, reduce: Callable[[list[Any]], Any], more: tuple[str, ...]
) -> None:
    """Later links see the one gradient, not the batches'."""
    rng = np.random.default_rng(2)
    w, data = rng.standard_normal(4), [(rng.standard_normal((n, 4)), rng.standard_normal(n)) for n in TOKENS]
    rows = np.stack([gradient_of(w, [one], lambda losses: losses[0].mean()) for one in data])
    case = Case("sgd", "client", "fednova", {}, "float64", {"w": w}, {"eta_l": 0.5}, gradients=(link, *more))
    x = SUBJECT.start(case).step(Gradient({"w": rows}, tokens=TOKENS))["x"]
    p = torch.nn.Parameter(torch.tensor(w))
    p.grad = torch.tensor(gradient_of(w, data, reduce))
    if more:
        clip_grad_norm_([p], 0.75)
    torch.optim.SGD([p], lr=0.5, weight_decay=0.125 if more else 0).step()
    assert x == pytest.approx(p.detach().numpy(), rel=1e-12)


Grade = Callable[["Steps", list[Array], tuple[int, ...]], Array]


def local(gradients: tuple[str, ...], grade: Grade, clip: float = 0.0, decay: float = 0.0) -> Any:
    """Momentum at level client by torch, which makes one gradient of the micro-batches' in its own way."""
    claim = Claim("momentum", "client", gradients=gradients)
    return written(claim, lambda case: Steps(case, grade, clip, decay))


class Steps(test_chain.Steps):
    def __init__(self, case: Case, grade: Grade, clip: float, decay: float) -> None:
        super().__init__(case, lambda parts, _: clip and clip_grad_norm_(parts, clip), decay)
        self.grade = grade

    def graded(self, event: Any) -> None:
        flat = np.concatenate([g.reshape(len(event.tokens), -1) for g in event.g.values()], axis=1)
        g, start = self.grade(self, [*flat], event.tokens), 0
        for p in self.parts.values():
            p.grad = torch.tensor(g[start : start + p.numel()].astype(flat.dtype)).reshape(p.shape)
            start += p.numel()


def tokens(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    return np.asarray(np.average(rows, axis=0, weights=n))


def batches(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    return np.asarray(np.mean(rows, axis=0))


def added(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    return np.asarray(np.sum(rows, axis=0))


def unscaled(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    return np.asarray(sum(k * row for k, row in zip(n, rows, strict=True)))


def last(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    return rows[-1]


def clipped_each(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    return tokens(session, [row * min(1.0, 0.75 / (np.linalg.norm(row) + 1e-6)) for row in rows], n)


def clipped_sum(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    total = 0 * rows[0]
    for k, row in zip(n, rows, strict=True):
        total = total + k / sum(n) * row
        total = total * min(1.0, 0.75 / (np.linalg.norm(total) + 1e-6))
    return np.asarray(total)


def decayed_each(session: Steps, rows: list[Array], n: tuple[int, ...]) -> Array:
    x = np.concatenate([p.detach().numpy().reshape(-1) for p in session.parts.values()])
    return np.asarray(tokens(session, rows, n) + len(rows) * 0.125 * x)


BY_TOKENS, BY_BATCHES, CLIP = ("accumulate-tokens 3",), ("accumulate-batches 3",), "clip-norm-eps 0.75"


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "subject",
    [
        local(BY_TOKENS, tokens),
        local(BY_BATCHES, batches),
        pytest.param(local((*BY_TOKENS, CLIP, "decay 0.125"), tokens, 0.75, 0.125), marks=pytest.mark.slow),
    ],
)
def test_a_solver_that_accumulates_as_it_claims_conforms(subject: Any) -> None:
    result = judged(subject)
    assert result.verdict == "conforms", result.first_deviation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (local(BY_TOKENS, batches), "accumulate-batches 3 of gradients, not accumulate-tokens 3"),
        (local(BY_BATCHES, tokens), "accumulate-tokens 3 of gradients, not accumulate-batches 3"),
        (local(BY_BATCHES, added), "gradients of micro-batches are added, not averaged"),
        (local(BY_TOKENS, unscaled), "gradients of micro-batches times their tokens are added"),
        (local(BY_TOKENS, last), "the last micro-batch alone is stepped by"),
        (local((*BY_TOKENS, CLIP), clipped_each), f"accumulate-tokens 3 comes after {CLIP}, not before it"),
        (local((*BY_TOKENS, CLIP), clipped_sum), f"{CLIP} is applied to the running sum after each micro-batch"),
        (local((*BY_TOKENS, CLIP), tokens), f"no {CLIP} of gradients"),
        (local((*BY_TOKENS, "decay 0.125"), decayed_each), "decay 0.125 is added once for each of 3 micro-batches"),
    ],
)
def test_another_accumulation_gets_a_name(subject: Any, words: str) -> None:
    said = named(subject)
    assert words in said, said


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["adam", "lamb", "sm3-ii", "muon", "proximal-sgd"])
def test_other_solvers_accumulate_too(algorithm: str) -> None:
    """The specification itself, on all cases that the judge draws."""
    claim = Claim(algorithm, "client", gradients=("accumulate-tokens 2",))
    assert judged(written(claim, SUBJECT.start)).verdict.startswith("conforms")


@pytest.mark.parametrize("said", ["accumulate-tokens", "accumulate-tokens 0", "accumulate-batches 2.5"])
def test_a_number_of_batches_is_whole(said: str) -> None:
    with pytest.raises(ContractError, match="a number of micro-batches"):
        chain([said])


@pytest.mark.parametrize(
    "claim",
    [
        Claim("momentum", "client", gradients=(CLIP, *BY_TOKENS)),
        Claim("momentum", "client", gradients=(*BY_TOKENS, *BY_BATCHES)),
        Claim("fedavg", "round", gradients=BY_TOKENS),
    ],
)
def test_accumulation_comes_first_at_level_client(claim: Claim) -> None:
    with pytest.raises(ContractError, match="claim the local solver there"):
        check_offer(claim, find(claim.algorithm))  # type: ignore[attr-defined]


def test_an_event_has_the_batches_that_the_claim_accumulates() -> None:
    case = Case("sgd", "client", "fednova", {}, "float64", {"w": np.ones(2)}, {"eta_l": 0.5}, gradients=BY_TOKENS)
    with pytest.raises(ContractError, match="got 0 micro-batches; send 3"):
        SUBJECT.start(case).step(Gradient({"w": np.ones(2)}))
    with pytest.raises(ContractError, match="got 2 micro-batches; send 3"):
        SUBJECT.start(case).step(Gradient({"w": np.ones((2, 2))}, tokens=(1, 2)))
    plain = Case("sgd", "client", "fednova", {}, "float64", {"w": np.ones(2)}, {"eta_l": 0.5})
    with pytest.raises(ContractError, match="leave tokens out"):
        SUBJECT.start(plain).step(Gradient({"w": np.ones((1, 2))}, tokens=(1,)))


def test_the_batches_travel_as_json() -> None:
    sent = encode(Gradient({"w": np.arange(6.0).reshape(3, 2)}, tokens=TOKENS))
    got = decode_event(sent)
    assert isinstance(got, Gradient) and got.tokens == TOKENS and got.g["w"].shape == (3, 2)
    assert "tokens" not in encode(Gradient({"w": np.ones(2)}))


def test_one_batch_has_many_times_the_tokens_of_the_others() -> None:
    setting = setting_of(with_reading(Claim("sgd", "client", gradients=BY_TOKENS)))
    large = set[int]()
    for s in (*draw_cases(scenarios(setting), 5, seed=0), *draw_cases(far_scenarios(setting, "rounds"), 5, seed=0)):
        sent = [e for e in s.events if isinstance(e, Gradient)]
        assert all(len(e.g[n]) == len(e.tokens) == 3 for e in sent for n in e.g)
        assert all(sorted(e.tokens)[-1] >= 16 * sorted(e.tokens)[-2] for e in sent)
        large |= {int(np.argmax(e.tokens)) for e in sent}
        assert [e.tokens for e in decoded(encoded(s), "case").events if isinstance(e, Gradient)] == [
            e.tokens for e in sent
        ]
    assert large == {0, 1, 2}
