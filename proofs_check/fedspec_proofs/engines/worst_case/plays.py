"""Recorded runs of a rule: the run on linear forms, and the function that repeats it on numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.classes import Function
from fedspec_proofs.engines.worst_case.forms import Form, vector

Start = Callable[[Form], Vector]
"""Converts a form to the vector that a rule starts from."""

Run = Callable[[Start, Sequence[Oracle]], Sequence[Vector]]
"""Runs a rule: maps a converter for its initial vectors and the clients' gradient functions to its results."""


@dataclass(frozen=True)
class Play:
    """A rule's run on forms, with the function that repeats it on numbers.

    Attributes:
        functions: the clients' functions.
        run: function that repeats the run on numbers.
        ended: the results of the run, as forms.
    """

    functions: tuple[Function, ...]
    run: Run
    ended: tuple[Form, ...]


def play(functions: Sequence[Function], run: Run) -> Play:
    """Run a rule on forms and record it."""
    ended = run(vector, [f.oracle for f in functions])
    return Play(tuple(functions), run, tuple(x for out in ended for x in out.ravel()))
