"""Judge a mixer (a function that aggregates adapters): the laws that it breaks, and the known mistake that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from fedspec.errors import ShapeError
from fedspec.mixing.adapters import Layer, check_fits
from fedspec_suite.lora.exact import Rows, rows
from fedspec_suite.lora.laws import Law, asked_of
from fedspec_suite.lora.rounds import Claim, Mixer, Round, copied, following, held, rounds, shown
from fedspec_suite.lora.variants import candidates, mutants, spoilt

APART = 1e-3
"""Tolerance: numbers that differ by more are different; those of the rounds are multiples of 1/64."""


@dataclass(frozen=True)
class Broken:
    """Broken law, with the first round in which it is broken."""

    law: Law
    said: str


@dataclass(frozen=True)
class Finding:
    """The result of judging a mixer.

    Attributes:
        claim: the judged claim.
        asked: number of laws.
        rounds: in how many rounds each; those of shapes that the mixer cannot mix are not among them.
        broken: the broken laws.
        refused: the mixer's exceptions, by the shapes of layers that it cannot mix.
        names: names of the known variants whose answers are the mixer's in all rounds.
    """

    claim: Claim
    asked: int
    rounds: int
    broken: tuple[Broken, ...]
    refused: Mapping[str, str]
    names: tuple[str, ...]

    @property
    def conforms(self) -> bool:
        """True if the mixer mixed every layer and broke no law."""
        return not self.broken and not self.refused

    def record(self) -> dict[str, Any]:
        """Convert the finding to JSON data."""
        return {
            **asdict(self.claim),
            "conforms": self.conforms,
            "laws": self.asked,
            "rounds": self.rounds,
            "broken": [{"law": b.law.id, "words": b.law.words, "said": b.said} for b in self.broken],
            "cannot_mix": dict(self.refused),
            "known_as": list(self.names),
        }

    def __str__(self) -> str:
        holds = f"{len(self.broken)} do not hold" if self.broken else "all hold" if self.rounds else "none was asked"
        lines = [f"{self.claim}: {self.asked} laws in {self.rounds} rounds, {holds}"]
        lines += [f"  cannot mix {shape}\n      {said}" for shape, said in self.refused.items()]
        lines += [f"  {b.law.id}: {b.law.words}\n      {b.said}" for b in self.broken]
        if self.broken:
            lines += [f"known as: {name}" for name in self.names or ("no mistake that is known here",)]
        return "\n".join(lines)


def layer_of(mixed: object, s: Round) -> Layer:
    """Return the mixer's answer as a layer of the round's shapes.

    Raises:
        ShapeError: it is not three matrices, or one has another shape.
    """
    if not isinstance(mixed, Layer):
        if not isinstance(mixed, tuple | list) or len(mixed) != 3:
            raise ShapeError(f"the mixer returned a {type(mixed).__name__}; return W, B and A, or a Layer")
        exact = s.layer.W.dtype == object
        mixed = Layer(*(M if exact else np.asarray(M, dtype=float) for M in mixed))
    check_fits(s.layer.W, mixed, "returned", s.r)
    if tuple(mixed.W.shape) != tuple(s.layer.W.shape):
        raise ShapeError(f"returned.W: shape {tuple(mixed.W.shape)}, expected {tuple(s.layer.W.shape)}")
    return mixed


def asking(mixer: Mixer) -> Callable[[Round], Layer]:
    """Wrap a mixer so that its answers are validated; the mixer gets copies of the round, which it may overwrite."""
    return lambda s: layer_of(mixer(copied(s)), s)


def first_difference(got: Rows, want: Rows, most: float) -> tuple[int, int] | None:
    """Return the first index at which two matrices differ by more than ``most``, or None; NaN differs from all."""
    for i, j in product(range(len(want)), range(len(want[0]))):
        if not abs(got[i][j] - want[i][j]) <= most:
            return i, j
    return None


def raised(error: Exception) -> str:
    """Format an error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def broken(law: Law, mixer: Mixer, c: Claim, s: Round, most: float = APART) -> str:
    """Describe the first place where a round breaks a law; empty if the law holds."""
    try:
        for what, got, want in law.check(asking(mixer), held(c, s), c):
            if (at := first_difference(got, want, most)) is not None:
                g, w = float(got[at[0]][at[1]]), float(want[at[0]][at[1]])
                return f"{s}: {what}: [{at[0]}, {at[1]}] is {g:g}, not {w:g}"
    except Exception as error:  # Whatever a mixer raises is an answer: it could not mix this round.
        return f"{s}: {raised(error)}"
    return ""


def refusing(mixer: Mixer, c: Claim, played: Sequence[Round]) -> dict[str, str]:
    """Return the errors that the mixer raises, by the shape of the layer."""
    found: dict[str, str] = {}
    for s in played:
        try:
            asking(mixer)(held(c, s))
        except Exception as error:  # As above.
            found.setdefault(s.shape, raised(error))
    return found


def judge(mixer: Mixer, claim: Claim, *, seed: int = 0, kind: Any = float, most: float = APART) -> Finding:
    """Check all laws of a claim on all rounds, and diagnose the mixer if it breaks one."""
    every, laws = list(rounds(seed, kind, claim.own_ranks)), asked_of(claim)
    refused = refusing(mixer, claim, every)
    played = [s for s in every if s.shape not in refused]
    found = []
    for law in laws:
        if said := next(filter(None, (broken(law, mixer, claim, s, most) for s in played)), ""):
            found.append(Broken(law, said))
    names = tuple(_names(mixer, claim, every)) if found else ()
    return Finding(claim, len(laws), len(played), tuple(found), refused, names)


def answer(mixer: Mixer, c: Claim, s: Round) -> tuple[Rows, ...] | None:
    """Return the matrices that a mixer computes for a round; None if it raises."""
    try:
        after = asking(mixer)(held(c, s))
        return tuple(rows(getattr(after, n)) for n in shown(c))
    except Exception:  # As in the laws.
        return None


def _names(mixer: Mixer, c: Claim, played: Sequence[Round]) -> Iterator[str]:
    """The first candidates that answer every round as the mixer does, if it answers any."""
    seen = [answer(mixer, c, s) for s in played]
    if not any(seen):
        return
    said = False
    for some in candidates(c):
        for words, candidate in some.items():
            answers = (answer(candidate, c, s) for s in played)
            if all(_alike(a, b) for a, b in zip(seen, answers, strict=True)):
                said = True
                yield words
        if said:
            return


def _alike(a: tuple[Rows, ...] | None, b: tuple[Rows, ...] | None) -> bool:
    if a is None or b is None:
        return a is b
    return all(first_difference(x, y, APART) is None for x, y in zip(a, b, strict=True))


def matrix_as_json(X: Rows) -> list[list[float]]:
    """Convert a matrix to exact JSON numbers: its entries are small integers over powers of two."""
    floats = [[float(x) for x in row] for row in X]
    assert all(Fraction(y) == x for u, v in zip(floats, X, strict=True) for y, x in zip(u, v, strict=True))
    return floats


def _of(s: Round, c: Claim) -> dict[str, Any]:
    want, factors = answer(following(c), c, s), held(c, s)
    assert want is not None
    others = ((m.id, answer(following(c, spoilt(m)), c, s)) for m in mutants() if m.rule == c.rule)
    return {
        **{name: matrix_as_json(rows(getattr(s.layer, name))) for name in ("W", "B", "A")},
        "sent": [{name: matrix_as_json(rows(getattr(a, name))) for name in ("B", "A")} for a in factors.sent],
        "examples": list(s.examples),
        "alpha": float(s.alpha),
        "number": s.number,
        "next": {name: matrix_as_json(M) for name, M in zip(shown(c), want, strict=True)},
        "shows": [name for name, made in others if made != want],
    }


def cases(c: Claim, seed: int = 0) -> dict[str, Any]:
    """Return the rounds of a claim, each with the next layer and the mistakes that give a different one."""
    return {
        "rule": c.rule,
        "weights": str(c.weights),
        **({"first": str(c.first)} if c.rule == "rolora" else {}),
        "mistakes": {m.id: m.words for m in mutants() if m.rule == c.rule},
        "cases": [_of(s, c) for s in rounds(seed, Fraction, c.own_ranks)],
    }
