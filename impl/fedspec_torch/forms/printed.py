"""Which text of an algorithm runs, the printed one or the form with options, and what runs in the place of either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method
from fedspec.entry import Program

Form = TypeVar("Form")


def run_under(row: Algorithm, h: Any) -> Method | Program:
    """The functions that run under a record of hyper-parameters and options, as ``Algorithm.run_under`` says it."""
    run = row.run_under({f.name: getattr(h, f.name) for f in fields(h)}, {})
    assert not isinstance(run, LocalSolver)
    return run


def form_of(forms: Mapping[Callable[..., Any], Form], text: Callable[..., Any]) -> Form | None:
    """What runs in the place of a text; a printed one has the form of the same row's text with options."""
    return forms.get(text) or forms.get(_with_options().get(text, text))


@cache
def _with_options() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The form with options of each printed text that runs whole rounds or servers."""
    of_rows = [a.run for a in CATALOGUE.values() if a.run.plain and not isinstance(a.run, LocalSolver)]
    return {run.plain: run.server if isinstance(run, Method) else run.step for run in of_rows if run.plain}
