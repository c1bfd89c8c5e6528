"""Mutants of a rule: its own code, with one of the functions that it calls replaced."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any


def mutate(rule: Callable[..., Any], **calls: Callable[..., Any]) -> Callable[..., Any]:
    """The rule with other functions behind some of the names that it calls, as in ``mutate(rule, least=greatest)``.

    Raises:
        KeyError: the rule calls nothing of that name.
    """
    body = inspect.unwrap(rule)
    assert isinstance(body, types.FunctionType)
    names = {n for code in _codes(body.__code__) for n in code.co_names}
    for name in calls:
        if name not in names:
            raise KeyError(f"{body.__name__} calls nothing named {name}")
    changed = {**body.__globals__, **calls}
    mutant = types.FunctionType(body.__code__, changed, body.__name__, body.__defaults__, body.__closure__)
    mutant.__kwdefaults__ = body.__kwdefaults__
    return mutant


def _codes(code: types.CodeType) -> list[types.CodeType]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code, *(found for c in inner for found in _codes(c))]
