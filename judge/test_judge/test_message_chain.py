"""Messages that lose bits: NumPy's and torch's types as the second route, right servers, and mistakes with names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.diagnosing import deviates, diagnosed, named
from test_judge.test_chain import rounds
from test_judge.test_schedules import judged

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Case, Claim, Info, Messages
from fedspec.errors import ContractError, InexactError
from fedspec.params import flatten
from fedspec.rounding import FIXED, TYPES, Grid, passage, passed, rounded
from fedspec_suite.diagnosis.diagnosis import as_data
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.running_error import REACH, Running32
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import check_offer, setting_of, with_reading
from fedspec_suite.measure.verdict import Status

Blocks = dict[str, Array]
OfBlocks = Callable[[Blocks], Blocks]
Route = Callable[[Array], Array]


def bfloat16(a: Array) -> Array:
    return torch.tensor(np.asarray(a, dtype=np.float32)).to(torch.bfloat16).float().numpy().astype(a.dtype)


def upper_half(a: Array) -> Array:
    """The bits of a float32 that bfloat16 has."""
    return (a.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(a.dtype)


def cast(kind: type) -> Route:
    return lambda a: a.astype(kind).astype(a.dtype)


def fixed(k: int, whole: Route = np.rint) -> Route:
    return lambda a: (whole(a.astype(float) * 2**k) / 2**k).astype(a.dtype)


float16 = cast(np.float16)


def levels(sent: float, read: float) -> Route:
    """Nearest whole number of ``sent`` times the change, divided by ``read``."""
    return lambda a: (np.rint(a * np.asarray(sent, a.dtype)) / np.asarray(read, a.dtype)).astype(a.dtype)


ROUTES: dict[str, Route] = {
    "bfloat16": bfloat16,
    "bfloat16-truncated": upper_half,
    "float16": float16,
    "float32": cast(np.float32),
    "fixed 5": fixed(5),
    "fixed-floor 5": fixed(5, np.floor),
    "fixed-truncated 5": fixed(5, np.trunc),
}


def floats() -> Array:
    """Numbers of all sizes, exact in float32, with subnormal ones of float16 and of bfloat16, ties and zeros."""
    rng = np.random.default_rng(1)
    plain = np.ldexp(rng.uniform(-1, 1, 3000), rng.integers(-30, 16, 3000))
    small = np.ldexp(rng.uniform(-1, 1, 500), rng.integers(-135, -120, 500))
    ties = rng.integers(-1024, 1024, 500) / 64
    near_ties = [1 + 2**-8, 1 + 2**-9, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 2049.0, 65504.0, 0.0, -0.0]
    return np.concatenate([plain, small, ties, near_ties]).astype(np.float32).astype(float)


@pytest.mark.parametrize("link", ROUTES)
def test_a_rounding_is_that_of_numpy_or_torch_in_every_arithmetic(link: str) -> None:
    (word,), x = passage([link]), floats()
    want = ROUTES[link](x)
    for kind in (float, np.float32, Fraction, lambda v: Decimal(float(v))):
        given = np.array([kind(v) for v in x], dtype=object if kind not in (float, np.float32) else kind)
        got = passed(word, given, 1, ())
        assert type(got[0]) is type(given[0]) and [Fraction(float(v)) for v in got] == [Fraction(v) for v in want]


def test_beyond_the_largest_number_of_a_type() -> None:
    numbers = np.array([65519.0, 65520.0, -1e9, np.inf, np.nan])
    (word,) = passage(["float16"])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(passed(word, numbers, 1, ()), float16(numbers))
    with pytest.raises(InexactError, match="beyond 65504"):
        rounded(Fraction(70000), TYPES["float16"])
    assert rounded(Running32(70000), TYPES["float16"]).bound == np.inf


@pytest.mark.parametrize(
    "grid", [TYPES["float16"], TYPES["bfloat16-truncated"], *(Grid(-12, whole=w) for w in FIXED.values())]
)
@pytest.mark.parametrize("bound", [0.0, 1e-3, 1.0, 50.0, 3000.0])
def test_a_bound_holds_what_an_error_may_turn(grid: Grid, bound: float) -> None:
    rng = np.random.default_rng(2)
    values = [*rng.uniform(-3, 3, 60), 0.0, 0.5, 1 + 2**-11, 3 * 2**-13]
    for v in map(float, values):
        got = rounded(Running32(Fraction(v), bound), grid)
        for c in (1.0, *rng.uniform(1, REACH, 20), REACH):
            for sign in (-1, 1):
                off = rounded(Fraction(v) + sign * Fraction(c * bound * Running32.resolution), grid)
                assert abs(off - Fraction(got.value)) <= Fraction(c * got.bound * Running32.resolution * (1 + 1e-9))
    far = rounded(Running32(Fraction(1) + Fraction(1, 2**13), 1e-3), TYPES["float16"])
    assert far.value == 1 and far.bound == 0


def each(route: Route) -> OfBlocks:
    return lambda delta: {n: route(a) for n, a in delta.items()}


def shortened(c: float) -> OfBlocks:
    def clip(delta: Blocks) -> Blocks:
        length = float(np.linalg.norm(flatten(delta).astype(float)))
        return each(lambda a: (a * (c / max(length, c))).astype(a.dtype))(delta)

    return clip


def shared_out(c: float) -> OfBlocks:
    """Each block clipped to its share of the length."""
    return lambda delta: {n: shortened(c / len(delta) ** 0.5)({n: a})[n] for n, a in delta.items()}


class Server:
    """FedAvg by hand: changes pass ``routes``, their weighed ones, sums and mean the routes of those names."""

    weighed = summed = mean = staticmethod(np.asarray)
    masks, lost, model = 0, 0, None

    def __init__(
        self, messages: tuple[str, ...], *routes: OfBlocks, dtypes: Any = ("float64", "float32"), **more: Any
    ) -> None:
        claim = Claim("fedavg", "server", options={"weights": "examples"}, messages=messages, dtypes=dtypes)
        self.info, self.routes = Info("mine", "1", (claim,)), routes
        vars(self).update(more)

    def start(self, case: Case) -> Any:
        return SimpleNamespace(step=partial(self.step, case, {n: np.asarray(a) for n, a in case.x0.items()}))

    def step(self, case: Case, held: Blocks, event: Messages) -> dict[str, Any]:
        sent = [reduce(lambda d, f: f(d), self.routes, dict(m.delta)) for m in event.messages]
        if self.model:
            sent = [{n: self.model(x + d[n]) - x for n, x in held.items()} for d in sent]
        p = np.array([m.weight for m in event.messages]) / sum(m.weight for m in event.messages)
        for n, x in held.items():
            rows = [self.weighed((w * d[n]).astype(case.dtype)) for w, d in zip(p, sent, strict=True)]
            if self.masks:
                hide(rows, self.masks, self.lost)
            total = self.mean(reduce(lambda s, row: self.summed(s + row), rows, 0 * rows[0]))
            held[n] = np.asarray(x + case.hyper["eta"] * total).astype(case.dtype)
        return {"x": dict(held)}


class Narrow(Server):
    """A server that computes the mean of float16 messages in float16."""

    def step(self, case: Case, held: Blocks, event: Messages) -> dict[str, Any]:
        p = np.array([m.weight for m in event.messages]) / sum(m.weight for m in event.messages)
        for n, x in held.items():
            rows = [np.float16(w) * m.delta[n].astype(np.float16) for w, m in zip(p, event.messages, strict=True)]
            total = reduce(lambda s, row: s + row, rows)
            held[n] = np.asarray(x + case.hyper["eta"] * total.astype(case.dtype)).astype(case.dtype)
        return {"x": dict(held)}


class Sized(Server):
    """A server whose clients round their changes times their numbers of examples."""

    def step(self, case: Case, held: Blocks, event: Messages) -> dict[str, Any]:
        sent = []
        for m in event.messages:
            rows = {n: bfloat16((m.weight * a).astype(case.dtype)) for n, a in m.delta.items()}
            sent.append(replace(m, delta={n: a / max(m.weight, 1e-300) for n, a in rows.items()}))
        return super().step(case, held, replace(event, messages=tuple(sent)))


class Feedback(Server):
    """A server whose senders add what rounding took from a client's change, or from any change, to a later one."""

    def start(self, case: Case) -> Any:
        return SimpleNamespace(step=partial(self.fed_back, super().start(case).step, {}))

    def fed_back(self, step: Any, kept: dict[int, Blocks], event: Messages) -> Any:
        sent = []
        for m in event.messages:
            at = m.client if self.own else 0
            whole = {n: a + kept[at][n] if at in kept else a for n, a in m.delta.items()}
            short = each(fixed(10))(whole)
            kept[at] = {n: a - short[n] for n, a in whole.items()}
            sent.append(replace(m, delta=short))
        return step(replace(event, messages=tuple(sent)))


def hide(rows: list[Array], magnitude: float, lost: float) -> None:
    """Add pairwise masks; ``lost`` is the part of the first one that its second client doesn't take away."""
    rng = np.random.default_rng(3)
    for i, j in combinations(range(len(rows)), 2):
        mask = (magnitude * rng.uniform(0.5, 1, rows[i].shape)).astype(rows[i].dtype)
        rows[i], rows[j] = rows[i] + mask, rows[j] - ((1 - lost * (i == 0 and j == 1)) * mask).astype(mask.dtype)


CLIPPED = ("clip-norm 0.5", "bfloat16")
BF16, FIXED16 = ("bfloat16",), ("fixed 16",)
DOUBLE: Any = {"dtypes": ("float64",)}


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "subject",
    [
        Server(CLIPPED, shortened(0.5), each(bfloat16)),
        Server(("clip-block-norm 0.5", "float16"), each(lambda a: shortened(0.5)({"": a})[""]), each(float16)),
        Server(("clip-value 0.5", "fixed 10"), each(lambda a: np.clip(a, -0.5, 0.5)), each(fixed(10))),
        Server(("masks 1000",), masks=1000, **DOUBLE),
        Server(("masks 1",), masks=1, dtypes=("float32",)),
    ],
)
def test_a_server_with_the_messages_that_it_claims_conforms(subject: Server) -> None:
    result = judged(subject)
    assert result.verdict == "conforms", result.first_deviation


class Plain(Server):
    """A server that takes the plain mean, whatever the numbers of examples."""

    def step(self, case: Case, held: Blocks, event: Messages) -> dict[str, Any]:
        return super().step(case, held, replace(event, messages=tuple(replace(m, weight=1) for m in event.messages)))


def none(a: Array) -> Array:
    return a


RIGHT: dict[str, Route] = {
    "bfloat16": bfloat16,
    "float16": float16,
    "float32": cast(np.float32),
    "bfloat16-truncated": upper_half,
    "fixed 10": fixed(10),
    "fixed-floor 10": fixed(10, np.floor),
    "fixed-truncated 10": fixed(10, np.trunc),
}
WRONG: dict[str, dict[str, Route]] = {
    "bfloat16": {"float16": float16, "truncated": upper_half},
    "float16": {"bfloat16": bfloat16, "float32": cast(np.float32)},
    "float32": {"float16": float16},
    "bfloat16-truncated": {"float16": float16, "nearest": bfloat16},
    "fixed 10": {"9": fixed(9), "11": fixed(11), "floor": fixed(10, np.floor), "truncated": fixed(10, np.trunc)},
    "fixed-floor 10": {"9": fixed(9, np.floor), "11": fixed(11, np.floor), "truncated": fixed(10, np.trunc)},
    "fixed-truncated 10": {"9": fixed(9, np.trunc), "11": fixed(11, np.trunc), "nearest": fixed(10)},
}
"""Roundings to the next coarser or finer numbers, or in another direction, by the claimed word."""


@pytest.mark.table(2)
@pytest.mark.parametrize("word", RIGHT)
def test_each_precision_conforms_if_it_is_the_claimed_one(word: str) -> None:
    result = judged(Server((word,), each(RIGHT[word])))
    assert result.verdict == "conforms", result.first_deviation


@pytest.mark.table(4)
@pytest.mark.parametrize(("word", "other"), [(w, o) for w in WRONG for o in ("none", "plain-mean", *WRONG[w])])
def test_no_precision_hides_another_rounding_or_mean(word: str, other: str) -> None:
    if other == "plain-mean":
        assert deviates(Plain((word,), each(RIGHT[word])))
    else:
        assert deviates(Server((word,), each(WRONG[word].get(other, none))))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Server(BF16), "messages are not rounded to bfloat16"),
        (Server(BF16, each(float16)), "messages are rounded to float16, not bfloat16"),
        (Server(BF16, each(upper_half)), "messages are truncated to bfloat16, not rounded to bfloat16"),
        (Server(FIXED16, each(fixed(15))), "messages are rounded to multiples of 2^-15, not multiples of 2^-16"),
        (Server(FIXED16, each(fixed(16, np.floor))), "messages are rounded down to multiples of 2^-16"),
        (Server(FIXED16, each(fixed(16, np.trunc))), "messages are truncated to multiples of 2^-16"),
        (Server(FIXED16, each(fixed(16, np.ceil))), "a message is 2^16 Delta rounded up, and read by / 2^16"),
        (Server(FIXED16, each(fixed(16, lambda v: np.trunc(v + 0.5)))), "2^16 Delta + 1/2 cut off towards zero"),
        (Server(FIXED16, each(levels(2**16 - 1, 2**16 - 1))), "(2^16 - 1) Delta rounded to the nearest whole number"),
        (Server(FIXED16, each(levels(2**16, 2**16 - 1))), "whole number, and read by / (2^16 - 1)"),
        (Server(FIXED16, mean=fixed(16)), "the mean is rounded to multiples of 2^-16, not each message"),
        (Server(BF16, each(bfloat16), mean=bfloat16), "the mean is rounded to bfloat16, too"),
        (Server(FIXED16, weighed=fixed(16)), "messages are rounded to multiples of 2^-16 after they are weighed"),
        (Server(FIXED16, each(fixed(16)), summed=fixed(16)), "the sum is rounded to multiples of 2^-16 with each"),
        (Server(BF16, model=bfloat16), "each client's model is rounded to bfloat16, not its change"),
        (Narrow(("float16",)), "the weights, products and sums of the mean are rounded to float16, too"),
        (Sized(BF16), "messages are rounded to bfloat16 after they are multiplied by n_i, not before"),
        (Feedback(("fixed 10",), own=True), "what rounding takes from a client's change is added to its next change"),
        (
            Feedback(("fixed 10",), own=False),
            "what rounding takes from a change is added to the next message, of whatever client",
        ),
        (Server(CLIPPED, shortened(0.5)), "messages are not rounded to bfloat16"),
        (Server(CLIPPED, each(bfloat16)), "messages are not passed through clip-norm 0.5"),
        (Server(CLIPPED, each(bfloat16), shortened(0.5)), "passed through clip-norm 0.5 after they are rounded"),
        (Server(("clip-norm 0.5",), shared_out(0.5)), "each block is clipped to 0.5 / sqrt(number of blocks)"),
        (Server(CLIPPED, shortened(0.25), each(bfloat16)), "passed through clip-norm 0.25, not clip-norm 0.5"),
    ],
)
def test_another_loss_gets_a_name(subject: Server, words: str) -> None:
    said = named(subject)
    assert words in said, said


CLIP = ("clip-norm 0.5",)


@pytest.mark.parametrize(
    ("claimed", "routes", "yours", "links"),
    [
        (CLIP, (), "Delta_i", ()),
        (CLIP, (shortened(0.25),), "Delta_i min(1, 0.25 / ||Delta_i||)", ("clip-norm 0.25",)),
        (CLIPPED, (), "Delta_i", ()),
    ],
)
def test_another_word_is_said_as_a_formula_and_as_a_claim(
    claimed: tuple[str, ...], routes: tuple[OfBlocks, ...], yours: str, links: tuple[str, ...]
) -> None:
    (one,) = as_data(diagnosed(Server(claimed, *routes)))
    assert one["claim"] == {"messages": links}
    if claimed == CLIP:
        (d,) = one["differences"]
        assert (d["yours"], d["wanted"]) == (yours, "Delta_i min(1, 0.5 / ||Delta_i||)")
    # The claim that is proposed is true.
    assert judged(Server(links, *routes)).verdict == "conforms"


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [
        Server(("masks 1000",), masks=1000, lost=1, **DOUBLE),
        Server(("masks 1000",), masks=1000, lost=0.5, **DOUBLE),
        Server(("masks 1",), masks=1000, **DOUBLE),
        Server((), masks=1000, **DOUBLE),
        Server((), each(bfloat16)),
    ],
)
def test_masks_that_stay_or_are_not_claimed_deviate(subject: Server) -> None:
    laws = judge_offer(subject, with_reading(subject.info.offers[0]), profile="quick", law="*")
    assert any(o.status is Status.FAIL for o in laws)


def test_the_changes_of_a_round_are_rounded_too() -> None:
    assert not deviates(rounds(np.inf, (), FIXED16, fixed(16)), "follows-*")
    assert deviates(rounds(np.inf, (), FIXED16, fixed(16, np.floor)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cases_of_messages_have_changes_of_more_bits(dtype: str) -> None:
    plain = setting_of(Claim("fedavg", "server", "mcmahan-2017"), dtype)
    for setting, few in ((plain, True), (replace(plain, messages=BF16), False)):
        cases = draw_cases(scenarios(setting), 20, seed=0)
        changes = np.concatenate([flatten(m.delta) for s in cases for e in s.events for m in e.messages])
        moved = changes[changes != 0]
        assert (fixed(10)(moved) == moved).all() == few and (fixed(10)(moved) == moved).any() == few


@pytest.mark.parametrize("said", ["bfloat16 3", "fixed", "fixed 0", "masks -1", "decay 1", "float8"])
def test_what_is_no_link_of_messages_is_refused(said: str) -> None:
    with pytest.raises(ContractError, match="positive number"):
        passage([said])


@pytest.mark.parametrize(
    "offer", [Claim("momentum", "client", messages=BF16), Claim("fedasync", "trace", messages=BF16)]
)
def test_other_levels_have_no_messages(offer: Claim) -> None:
    with pytest.raises(ContractError, match="no change of a client reaches a server"):
        check_offer(offer, find(offer.algorithm))
