"""Usual values of the fields of a claim that ``fedspec adapter --with`` adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedspec.contract import Claim
from fedspec.errors import ContractError, UnknownNameError
from fedspec_suite.measure.setting import setting_of

COSINE = "cosine/{} period=100 floor=0.1"
RATES = (("eta", "round"), ("eta_l", "step"), ("eta_l", "round"), ("mu", "round"))

USUAL: Mapping[str, tuple[Any, ...]] = {
    "resumes": (True,),
    "faults": ({"nan": "skips"},),
    "schedules": tuple({name: COSINE.format(every)} for name, every in RATES),
    "gradients": (("clip-norm 1",),),
    "messages": (("clip-norm 1",),),
    "parts": ({"head": "local"}, {"head": "frozen"}),
    "steps": (("decoupled-decay 0.01",),),
}
"""Values by field, the most usual first: algorithms and levels differ in what they take."""

PAGES = {
    "resumes": "docs/resume.md",
    "faults": "docs/faults.md",
    "schedules": "docs/schedules.md",
    "gradients": "docs/local-training.md",
    "messages": "docs/messages.md",
    "parts": "docs/parts.md",
    "steps": "docs/local-training.md",
}


def claimed(claim: Claim) -> list[str]:
    """Return the names of the fields of this module that a claim sets."""
    return [name for name in USUAL if getattr(claim, name)]


def quoted(value: Any) -> str:
    """Return a field's value as Python text with double quotes."""
    return repr(value).replace("'", '"')


def fields_of(said: str) -> tuple[str, ...]:
    """Return the fields that a comma-separated list names, in the order of a claim.

    Raises:
        UnknownNameError: a field is unknown.
    """
    asked = [word.strip() for word in said.split(",") if word.strip()]
    for word in asked:
        if word not in USUAL:
            raise UnknownNameError(f"with: unknown field {word!r}; known: {', '.join(USUAL)}")
    return tuple(name for name in USUAL if name in asked)


def with_fields(claim: Claim, names: tuple[str, ...]) -> Claim:
    """Return a claim with a usual value of each named field.

    Raises:
        ContractError: the algorithm or level takes no value of a field.
    """
    for name in names:
        claim = _with_field(claim, name)
    return claim


def _with_field(claim: Claim, name: str) -> Claim:
    """A claim with the first value of a field that its algorithm and level take."""
    refused: list[ContractError] = []
    for value in USUAL[name]:
        changed: Claim = replace(claim, **{name: value})
        try:
            setting_of(changed)
        except ContractError as error:
            refused.append(error)
        else:
            return changed
    raise refused[0]
