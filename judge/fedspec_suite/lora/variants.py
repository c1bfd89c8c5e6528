"""Named mistakes in the rules of federated LoRA: edits of ``fedspec.mixing.lora``, run in copies of the module."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from fedspec.errors import UnknownNameError
from fedspec.mixing import lora
from fedspec.readings import Weighting
from fedspec_suite.lora.rounds import FUNCTIONS, Claim, Mixer, following

REACHED = {"turn": "rolora", "stacked": "flora"}
"""Rule that calls a helper function, by the helper's name."""


@dataclass(frozen=True)
class Mutant:
    """Edit of one function that makes a rule wrong.

    Attributes:
        function: the edited one, in ``fedspec.mixing.lora``.
        id: stable slug.
        words: description of the mistake.
        old: found exactly once in the function.
        new: its replacement.
    """

    function: str
    id: str
    words: str
    old: str
    new: str

    @property
    def rule(self) -> str:
        """Name of the rule that the edit makes wrong."""
        reached = REACHED.get(self.function, self.function)
        return next(name for name, function in FUNCTIONS.items() if function == reached)


@cache
def mutants() -> tuple[Mutant, ...]:
    """Read all mutants from ``mutants.toml``."""
    told = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))
    return tuple(Mutant(function=f, **edit) for f, edits in told.items() for edit in edits)


@cache
def spoilt(mutant: Mutant) -> dict[str, Any]:
    """Return the namespace of a copy of the module whose text has the edit.

    Raises:
        UnknownNameError: the edit's text is not found exactly once.
    """
    source = inspect.getsource(getattr(lora, mutant.function))
    if source.count(mutant.old) != 1:
        raise UnknownNameError(
            f"mutant: {mutant.id} edits {mutant.old!r}, found {source.count(mutant.old)} times in {mutant.function}"
        )
    made = ModuleType(lora.__name__)
    text = inspect.getsource(lora).replace(source, source.replace(mutant.old, mutant.new))
    exec(compile(text, f"<mutant {mutant.id}>", "exec"), vars(made))
    return vars(made)


def candidates(c: Claim) -> Iterator[dict[str, Mixer]]:
    """Yield groups of candidates that a mixer may be, by description: mistakes, other rules, their mistakes.

    A rule whose clients train one factor is no candidate for one whose clients train both, nor the other way round.
    """
    yield {f"{m.words} ({m.id})": following(c, spoilt(m)) for m in mutants() if m.rule == c.rule}
    weights, rules = (Weighting.EXAMPLES, Weighting.UNIFORM), (c.rule,) if c.own_ranks else tuple(FUNCTIONS)
    others = [replace(c, rule=rule, weights=w) for w in weights for rule in rules]
    near = [o for o in others if o != c and (o.rule == c.rule or o.held(1) is c.held(1) is None)]
    yield {f"it is {o}": following(o) for o in near}
    yield {
        f"it is {o}, and {m.words} ({m.id})": following(o, spoilt(m))
        for o in near
        for m in mutants()
        if m.rule == o.rule
    }
