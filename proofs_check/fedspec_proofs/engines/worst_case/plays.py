"""The run of a rule as a value: it is run on linear forms, and can be run again on numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.classes import Function
from fedspec_proofs.engines.worst_case.forms import Form, vector

Start = Callable[[Form], Vector]
"""A form as the vector that a rule begins with."""

Run = Callable[[Start, Sequence[Oracle]], Sequence[Vector]]
"""Function from a rule's first vectors, named by their forms, and the clients' gradients to the rule's results."""


@dataclass(frozen=True)
class Play:
    """A rule's run on forms, which can be run again on numbers.

    Attributes:
        functions: the clients'.
        run: the run.
        ended: results of the run, as forms.
    """

    functions: tuple[Function, ...]
    run: Run
    ended: tuple[Form, ...]


def play(functions: Sequence[Function], run: Run) -> Play:
    """Run a rule on forms."""
    ended = run(vector, [f.oracle for f in functions])
    return Play(tuple(functions), run, tuple(x for out in ended for x in out.ravel()))
