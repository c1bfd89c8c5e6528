"""Premises of a proof by linear forms, such as linearity of the rule, each tested on the rule itself.

The proof has the rule's rounds as forms in the model's distance from x* and in gradients, with one coefficient for all
coordinates. So it is true of a rule only if all of these premises are:

* it takes vectors whole and is linear in them (:mod:`fedspec_proofs.engines.worst_case.whole`); * it does not matter
where x* is: x* is a vector of its own, and moves along; * on arrays of one, two and three entries that have nothing in
common it does the same to each, and mixes none; * clients are alike: under other numbers, or named in another order,
they lead to the same model; * weights are equal, however many examples everybody has; * it draws no random numbers, and
does the same in every run; * in floating point it ends where the forms do, in several dimensions and at sizes that are
far apart.
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import fedspec
from fedspec.arith import Vector
from fedspec.errors import FedspecError, ParameterError, ShapeError
from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.classes import Function
from fedspec_proofs.engines.worst_case.entries import Made, Rounds, of_entries, of_whole, off
from fedspec_proofs.engines.worst_case.forms import Form, basis
from fedspec_proofs.engines.worst_case.plays import Play
from fedspec_proofs.engines.worst_case.strict import watching

R = TypeVar("R")

AGAIN = "if it is run again, the result differs"

STAR = "x*"

BLOCKS: dict[int, Mapping[str, tuple[int, ...]]] = {
    1: {"x": (1,)},
    2: {"layer.weight": (1,), "layer.bias": (1,)},
    3: {"layer.weight": (2, 1), "layer.bias": ()},
}
"""Shapes of a model's blocks, by the number of entries."""

DIMENSIONS, SIZES = (1, 4, 33, 100_003), (1e-9, 1.0, 1e9)

NEAR = 1e-9
"""Tolerance of floating-point runs, relative to the largest number that occurs in them."""

SPEC = Path(fedspec.__file__).parent
BENEATH = ("arith.py", "arrays.py", "rules.py", "scalars.py", "records.py", "functions.py", "params.py", "covers.py")
"""Files of the specification with arithmetic that rules call; error messages skip their lines."""


class NotLinearError(FedspecError):
    """A rule violates a premise of the proof by linear forms, such as linearity."""


@dataclass(frozen=True)
class Given:
    """Settings of a run of rounds.

    Attributes:
        places: the client at each number 0, 1, ...; empty: each client has its own number.
        backwards: True if the plan names the clients in reverse order.
        examples: number of each client's examples.
        floats: True if hyper-parameters are floating-point numbers.
        shapes: shapes of the model's blocks; empty: one block.
    """

    places: tuple[int, ...] = ()
    backwards: bool = False
    examples: int = 1
    floats: bool = False
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


Way = Callable[[Vector, Sequence[Oracle], Given], Sequence[Vector]]
"""Models after the rounds, from the model before them, the clients' gradients and the settings."""


def ask(name: str, way: Way, clients: Callable[[Form], Sequence[Function]], x: Form) -> Made:
    """Run a rule on forms under many settings; raise if it violates a premise, else return the forms of the first run.

    Args:
        name: the algorithm's id, for messages.
        way: function that runs the algorithm's rounds.
        clients: function that makes new clients whose mean has its minimiser at a given point.
        x: the model before the rounds, minus x*.

    Raises:
        NotLinearError: the rule violates a premise; the message has the premise, and the failing statement if there is
            one.
        ParameterError: a number is outside its domain, or the rule needs data that such rounds don't have.
    """
    star, begun = basis(STAR), _chance()

    def under(given: Given) -> Rounds:
        return lambda y, oracles: way(y, oracles, given)

    def whole(given: Given) -> Made:
        return of_whole(under(given), clients(star), x + star)

    def entries(d: int) -> Made:
        return of_entries(under(Given(shapes=BLOCKS[d])), clients(star), x + star, d)

    def floats(d: int, size: float) -> float:
        return off(under(Given(floats=True)), first, x + star, d, size)

    first = _tried(name, whole, Given())
    moved = [dict(y.parts).get(STAR, Fraction(0)) for y in first.models]
    if (other := next((c for c in moved if c != 1), None)) is not None:
        raise _wrong(name, f"it depends on where x* is, like weight decay: a model is {other} x* + ..., not x* + ...")
    everyone = range(len(first.points))
    elsewhere: tuple[tuple[str, Callable[..., Made], Any], ...] = (
        (AGAIN, whole, Given()),
        ("if the clients' numbers change, the result differs", whole, Given(places=(*everyone[::-1],))),
        ("if the clients' numbers change, the result differs", whole, Given((*everyone[1:], 0))),
        ("if the clients' order changes, the result differs", whole, Given(backwards=True)),
        ("the result depends on how many examples all clients have", whole, Given(examples=7)),
        *(
            (f"on arrays of {d} the result differs from that on forms; does it write into an array?", entries, d)
            for d in BLOCKS
        ),
    )
    for words, run, given in elsewhere:
        if _tried(name, run, given) != first:
            raise _wrong(name, words)
    for d, size in product(DIMENSIONS, SIZES):
        if not _tried(name, floats, d, size) <= NEAR:
            raise _wrong(
                name, f"in floating point, on {d} numbers of size {size:g}, the result differs from that on forms"
            )
    if _chance() != begun:
        raise _wrong(name, "it draws random numbers; all randomness of a round must come from its plan")
    return first


def check_same(name: str, made: Made, played: Play) -> None:
    """Raise if the run used by a proof differs from the run whose premises were tested.

    Raises:
        NotLinearError: the run ends at another point, or evaluates other gradients.
    """
    star = basis(STAR)
    ends = tuple(y - star for y in made.ends)
    points = [[y - star for y in some] for some in made.points]
    if played.ended != ends or [[*f.points] for f in played.functions] != points:
        raise _wrong(name, AGAIN)


def _wrong(name: str, words: str) -> NotLinearError:
    return NotLinearError(f"worst-case: {name}: {words}")


def _chance() -> tuple[Any, ...]:
    """The state of the sources of chance that a process has in common."""
    shared: Any = np.random.get_state()
    # beartype, where it checks types, draws which entry of a list it looks at.
    return bytes(shared[1]), shared[2], () if "beartype" in sys.modules else random.getstate()


def _tried(name: str, run: Callable[..., R], *given: Any) -> R:
    """Result of a run; a refusal that the rule has caught is a refusal all the same."""
    with watching() as caught:
        try:
            made = run(*given)
        except Exception as error:
            raise _refused(name, caught[0] if caught else error) from error
    if caught:
        raise _refused(name, caught[0]) from caught[0]
    return made


def _refused(name: str, error: Exception) -> FedspecError:
    """Error for a run that failed."""
    if isinstance(error, FedspecError) and not isinstance(error, ShapeError):
        # Numbers outside of their domain, and plans that lack something, say nothing of the rule.
        return ParameterError(f"worst-case: {name}: {error}")
    said = "its rounds are not linear in the model and the gradients"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "fedspec_proofs" not in f.filename]
    own = [f for f in frames if Path(f.filename).name not in BENEATH and "site-packages" not in f.filename]
    if not own:
        return _wrong(name, f"{said}: {error}")
    file = Path(own[-1].filename)
    place = file.relative_to(SPEC) if file.is_relative_to(SPEC) else file.name
    why = "it reads the shapes of blocks" if isinstance(error, ShapeError) else error
    return _wrong(name, f"{said}; {place}, line {own[-1].lineno}: {own[-1].line} ({why})")
