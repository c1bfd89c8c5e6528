"""The mirror prints the equations of the specification, rule by rule, and takes the same arguments."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.rules import equations

RULES = sorted({r for a in CATALOGUE.values() for r in a.rules}, key=lambda r: f"{r.__module__}.{r.__name__}")


def name(rule: Callable[..., Any]) -> str:
    return f"{rule.__module__}.{rule.__name__}"


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_the_same_rule(rule: Callable[..., Any]) -> None:
    module = importlib.import_module(rule.__module__.replace("fedspec.", "fedspec_torch.", 1))
    mirror = getattr(module, rule.__name__)
    assert [(e.id, e.text) for e in equations(mirror)] == [(e.id, e.text) for e in equations(rule)]
    ours, theirs = inspect.signature(mirror).parameters, inspect.signature(rule).parameters
    assert [n for n in ours if n not in ("active", "out")] == list(theirs)
    assert all(ours[n].default == p.default and ours[n].kind == p.kind for n, p in theirs.items())
