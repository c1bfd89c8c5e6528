"""Rounds of low-rank adapters as JSON, with what a rule makes of them: for servers in any language."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec_suite.adapters.exact import Rows, rows
from fedspec_suite.adapters.judging import answer
from fedspec_suite.adapters.rounds import Claim, Round, following, held, rounds, shown
from fedspec_suite.adapters.variants import mutants, spoilt


def told(X: Rows) -> list[list[float]]:
    """A matrix as JSON numbers, which are exact: entries are small whole numbers over powers of two."""
    floats = [[float(x) for x in row] for row in X]
    assert all(Fraction(y) == x for u, v in zip(floats, X, strict=True) for y, x in zip(u, v, strict=True))
    return floats


def _of(s: Round, c: Claim) -> dict[str, Any]:
    want, factors = answer(following(c), c, s), held(c, s)
    assert want is not None
    others = ((m.id, answer(following(c, spoilt(m)), c, s)) for m in mutants() if m.rule == c.rule)
    return {
        **{name: told(rows(getattr(s.layer, name))) for name in ("W", "B", "A")},
        "sent": [{name: told(rows(getattr(a, name))) for name in ("B", "A")} for a in factors.sent],
        "examples": list(s.examples),
        "alpha": float(s.alpha),
        "number": s.number,
        "next": {name: told(M) for name, M in zip(shown(c), want, strict=True)},
        "shows": [name for name, made in others if made != want],
    }


def cases(c: Claim, seed: int = 0) -> dict[str, Any]:
    """The rounds of a claim, each with the next layer and the mistakes that give another one."""
    return {
        "rule": c.rule,
        "weights": str(c.weights),
        **({"first": str(c.first)} if c.rule == "rolora" else {}),
        "mistakes": {m.id: m.words for m in mutants() if m.rule == c.rule},
        "cases": [_of(s, c) for s in rounds(seed, Fraction, c.own_ranks)],
    }
