"""Laws of any server that aggregates adapters; they run no rule, and compute in fractions and scalar loops.

A law asks the mixer about a round, and about others made of it, and says what must be equal. None of them averages a
factor or multiplies two means: the residual stands as a sum over pairs of clients,

    sum_i p_i B_i A_i - B A = sum_(i < j) p_i p_j (B_i - B_j) (A_i - A_j)

which has neither mean. The gauge is a change of the basis within an adapter: B_i R^-1 and R A_i are the same layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np

from fedspec.mixing.adapters import Adapter, Layer
from fedspec.mixing.lora import Factor
from fedspec.readings import Weighting
from fedspec_suite.lora.exact import Rows, basis, plus, rank, rows, times
from fedspec_suite.lora.rounds import Claim, Round, held, shown

Ask: TypeAlias = Callable[[Round], Layer]
Equal: TypeAlias = tuple[str, Rows, Rows]
"""Required equality: name, actual matrix, expected matrix."""

FREE = ("fedit", "flora", "fedex-lora")
"""Rules whose clients train both factors."""
ALL = (*FREE, "ffa-lora", "rolora")


@dataclass(frozen=True)
class Law:
    """Law of adapter aggregation: its words, the rules to which it applies, and its check of a round."""

    id: str
    words: str
    of: tuple[str, ...]
    check: Callable[[Ask, Round, Claim], Iterator[Equal]]
    weights: Weighting | None = None
    """Weights to which the law is limited; None for all."""


def p_of(s: Round, c: Claim) -> list[Fraction]:
    """Return the clients' weights p_i, which sum to 1."""
    sizes = [1] * len(s.sent) if c.weights is Weighting.UNIFORM else s.examples
    return [Fraction(n, sum(sizes)) for n in sizes]


def weight(layer: Layer, s: Round) -> Rows:
    """Return W + sigma B A of a layer."""
    return plus(rows(layer.W), times(rows(layer.B), rows(layer.A)), Fraction(s.sigma))


def mean_of_layers(s: Round, c: Claim) -> Rows:
    """Return the weighted mean of the clients' layers W + sigma B_i A_i."""
    total = plus(rows(s.layer.W), rows(s.layer.W), -1)
    for p, a in zip(p_of(s, c), s.sent, strict=True):
        total = plus(total, weight(Layer(s.layer.W, a.B, a.A), s), p)
    return total


def by_pairs(s: Round, c: Claim) -> Rows:
    """Return sigma sum_(i < j) p_i p_j (B_i - B_j) (A_i - A_j)."""
    p, total = p_of(s, c), plus(rows(s.layer.W), rows(s.layer.W), -1)
    for i, j in combinations(range(len(p)), 2):
        (u, v) = s.sent[i], s.sent[j]
        apart = times(plus(rows(u.B), rows(v.B), -1), plus(rows(u.A), rows(v.A), -1))
        total = plus(total, apart, Fraction(s.sigma) * p[i] * p[j])
    return total


def rebased(s: Round, numbers: Sequence[int]) -> Round:
    """Change each client's basis to B_i R^-1 and R A_i, which leaves its layer the same."""
    like = s.layer.B
    kind = Fraction if like.dtype == object else float

    def moved(a: Adapter, i: int) -> Adapter:
        R, S = (np.array([[kind(x) for x in row] for row in M.tolist()], like.dtype) for M in basis(a.B.shape[1], i))
        return Adapter(a.B @ S, R @ a.A)

    return replace(s, sent=tuple(moved(a, i) for a, i in zip(s.sent, numbers, strict=True)))


def turned_over(s: Round) -> Round:
    """Transpose the layer: W', with A' and B' as its factors B and A."""
    layer = Layer(s.layer.W.T, s.layer.A.T, s.layer.B.T)
    return replace(s, layer=layer, sent=tuple(Adapter(a.A.T, a.B.T) for a in s.sent), fresh=s.layer.B.T)


def _ideal(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield "W + sigma B A", weight(ask(s), s), mean_of_layers(s, c)


def _covariance(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield "W + sigma B A", weight(ask(s), s), plus(mean_of_layers(s, c), by_pairs(s, c), -1)


def _residual(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield "the change of W", plus(rows(ask(s).W), rows(s.layer.W), -1), by_pairs(s, c)


def _agreed(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    for name in Factor:
        common = getattr(s.sent[0], name)
        t = replace(s, sent=tuple(replace(a, **{name.value: common}) for a in s.sent))
        after = ask(t)
        yield f"W + sigma B A, one {name} for all", weight(after, s), mean_of_layers(t, c)
        yield f"{name}, one for all", rows(getattr(after, name)), rows(common)
        yield f"W, one {name} for all", rows(after.W), rows(s.layer.W)


def _alone(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    t = replace(s, sent=s.sent[-1:], examples=s.examples[-1:])
    yield "W + sigma B A", weight(ask(t), s), weight(Layer(s.layer.W, t.sent[0].B, t.sent[0].A), s)


def _unmoved(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    t = replace(s, sent=tuple(Adapter(s.layer.B, s.layer.A) for _ in s.sent))
    yield "W + sigma B A", weight(ask(t), s), weight(s.layer, s)


def _gauge(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield "W + sigma B A", weight(ask(rebased(s, range(len(s.sent)))), s), weight(ask(s), s)


def _one_gauge(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    before, after = ask(s), ask(rebased(s, [2] * len(s.sent)))
    R, back = map(rows, basis(s.r, 2))
    yield "W + sigma B A", weight(after, s), weight(before, s)
    yield "A", rows(after.A), times(R, rows(before.A))
    yield "B", rows(after.B), times(rows(before.B), back)


def _rank(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    found = rank(plus(rows(ask(s).W), rows(s.layer.W), -1))
    most = s.r * (len(s.sent) - 1)
    yield f"the rank of the change of W, at most {most}", [[Fraction(found)]], [[Fraction(min(found, most))]]


def _same(after: Layer, want: Layer, c: Claim) -> Iterator[Equal]:
    """Yield an equality for everything that the claim decides."""
    for name in shown(c):
        yield name, rows(getattr(after, name)), rows(getattr(want, name))


def _order(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield from _same(ask(replace(s, sent=s.sent[::-1], examples=s.examples[::-1])), ask(s), c)


def _split(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    halves = (s.examples[0], *(2 * n for n in s.examples[1:]), s.examples[0])
    yield from _same(ask(replace(s, sent=(*s.sent, s.sent[0]), examples=halves)), ask(s), c)


def _idle(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    stranger = Adapter(s.sent[0].B * 3 + 1, s.sent[0].A * 3 + 1)
    yield from _same(ask(held(c, replace(s, sent=(*s.sent, stranger), examples=(*s.examples, 0)))), ask(s), c)


def _uncounted(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield from _same(ask(replace(s, examples=tuple(1 + i for i, _ in enumerate(s.sent)))), ask(s), c)


def _shifted(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    before, by = ask(s), s.fresh[:1] * 0 + 5
    after = ask(replace(s, layer=replace(s.layer, W=s.layer.W + by)))
    yield from _same(after, replace(before, W=before.W + by), c)


def _turned(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    before, after = ask(s), ask(turned_over(s))
    yield "W, turned over", rows(after.W), rows(before.W.T)
    if c.rule != "flora":
        yield "B, of the layer turned over", rows(after.B), rows(before.A.T)
        yield "A, of the layer turned over", rows(after.A), rows(before.B.T)


def _doubled(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    before, t = ask(s), replace(s, alpha=s.alpha * 2)
    after = ask(t)
    once, twice = plus(weight(before, s), rows(s.layer.W), -1), plus(weight(after, t), rows(s.layer.W), -1)
    yield "W + sigma B A, less W before", twice, plus(once, once)


def _frozen(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield "W", rows(ask(s).W), rows(s.layer.W)


def _kept(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    name = c.held(s.number)
    assert name is not None
    yield name.value, rows(getattr(ask(s), name)), rows(getattr(s.layer, name))


def _restart(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    yield "B", rows(ask(s).B), rows(s.layer.B * 0)


def _one_moves(ask: Ask, s: Round, c: Claim) -> Iterator[Equal]:
    before, last, p = ask(s), s.sent[-1], p_of(s, c)[-1]
    for name in {Factor.A, Factor.B} - {c.held(s.number)}:
        moved = replace(last, **{name.value: getattr(last, name) + 4})
        after = ask(replace(s, sent=(*s.sent[:-1], moved)))
        for what in Factor:
            want = rows(getattr(before, what))
            share = [[4 * p if what is name else Fraction(0) for _ in row] for row in want]
            yield f"{what}, {name} of the last client moved by 4", rows(getattr(after, what)), plus(want, share)


MEANS = ("fedit", "fedex-lora")

LAWS = (
    Law(
        "ideal",
        "W + sigma B A is the mean of the clients' layers",
        ("ffa-lora", "rolora", "flora", "fedex-lora"),
        _ideal,
    ),
    Law("covariance", "W + sigma B A is that mean, less the covariance of the factors", ("fedit",), _covariance),
    Law("residual", "W moves by sigma times the covariance of the factors", ("fedex-lora",), _residual),
    Law("agreed", "where clients have one A, or one B, the mean of layers is met, and W stays", MEANS, _agreed),
    Law("alone", "one client by itself gets the layer that it has trained", ALL, _alone),
    Law("unmoved", "clients that send what they were sent change no layer", ALL, _unmoved),
    Law(
        "gauge", "an adapter in another basis, one for each client, is the same layer", ("flora", "fedex-lora"), _gauge
    ),
    Law("one-gauge", "in another basis, one for all clients, the mean is in it too", MEANS, _one_gauge),
    Law("rank", "W moves by a matrix of rank r (n - 1) at most", ("fedex-lora",), _rank),
    Law("order", "the order of the clients does not matter", ALL, _order),
    Law("split", "a client that is cut in two halves is the same", ALL, _split, Weighting.EXAMPLES),
    Law("idle", "a client without examples changes nothing", ALL, _idle, Weighting.EXAMPLES),
    Law("uncounted", "numbers of examples do not matter", ALL, _uncounted, Weighting.UNIFORM),
    Law("shifted", "a constant that is added to W stays in it", ALL, _shifted),
    Law("turned", "a layer with its axes turned over is mixed as the layer is", FREE, _turned),
    Law("doubled", "twice alpha is twice the change", ALL, _doubled),
    Law("frozen", "W does not move", ("fedit", "ffa-lora", "rolora"), _frozen),
    Law("kept", "the factor that nobody trained is as it was", ("ffa-lora", "rolora"), _kept),
    Law("restart", "the next adapter begins with B = 0", ("flora",), _restart),
    Law(
        "one-moves",
        "a client moves a factor's mean by its weight",
        ("fedit", "ffa-lora", "rolora", "fedex-lora"),
        _one_moves,
    ),
)
"""All laws, the most telling first."""


def asked_of(c: Claim) -> tuple[Law, ...]:
    """Return the laws that apply to a claim."""
    return tuple(law for law in LAWS if c.rule in law.of and law.weights in (None, c.weights))
