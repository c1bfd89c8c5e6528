"""Hyper-parameters that an event overrides: which names it may override, and their validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from fedspec.domains import DOMAINS, require
from fedspec.errors import ParameterError, PlanError

VARYING = ("eta", "eta_l", "mu", "rho", "gamma")
"""Hyper-parameters that an event may override: the rates, and the proximal, momentum and decay numbers of local steps.

Decays of moments are not among them: corrections by 1 - beta^t know one beta for all t.
"""

Given: TypeAlias = Mapping[str, Any]
"""Hyper-parameters that an event overrides, by name: one number for all, or a tuple with one for each participant."""


def anew(hyper: Given, clients: int = 0) -> Given:
    """Validate the hyper-parameters that an event overrides; return them with lists as tuples.

    Args:
        hyper: by name, a number, or one number for each client.
        clients: number of participants, if each may have its own value; 0: all have the same value.

    Raises:
        PlanError: a hyper-parameter of that name can't vary, has values by client where only one is allowed, or doesn't
            have one value for each client.
        ParameterError: a number is outside the domain of its name.
    """
    out: dict[str, Any] = {}
    for name, said in hyper.items():
        if name not in VARYING:
            raise PlanError(
                f"hyper.{name}: an event may override only {', '.join(VARYING)}; give {name} once for the whole run"
            )
        listed = said.tolist() if getattr(said, "ndim", None) else said
        several = isinstance(listed, tuple | list)
        numbers = tuple(listed) if several else (listed,)
        if several and not clients:
            raise PlanError(
                f"hyper.{name}: got one for each client, but this event takes one for all; give a single number"
            )
        if several and not DOMAINS[name].of_clients:
            raise PlanError(
                f"hyper.{name}: got one for each client, but it is the {DOMAINS[name].meaning}; give a single number"
            )
        if several and len(numbers) != clients:
            raise PlanError(f"hyper.{name}: {len(numbers)} numbers for {clients} participants; give one for each")
        for at, number in enumerate(numbers):
            try:
                require(name, number)
            except ParameterError as error:
                raise ParameterError(f"hyper{f', participant {at}' if several else ''}: {error}") from error
        out[name] = numbers if several else said
    return out
