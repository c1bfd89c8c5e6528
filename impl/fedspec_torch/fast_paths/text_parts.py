"""List of an algorithm's functions, each with the fast version that replaces it in a run, or None."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from fedspec.algorithms import (
    afga,
    diloco_muon,
    ef21,
    fedpaq,
    fedpd,
    fedsam,
    local,
    mime,
    mofedsam,
    streaming_diloco,
)
from fedspec.catalogue import ADDED, Algorithm, LocalSolver, Method
from fedspec.plan import Messages
from fedspec.usual import needed, usual
from fedspec_torch.fast_paths.registry import CLIENTS, RATES, UNDIVIDED, local_sgd
from fedspec_torch.fast_paths.servers import IN_PLACE
from fedspec_torch.sums.asking import sums_of

RUNS = "test_runs.py::test_a_run_on_a_module_is_the_specification_on_its_objectives"
"""Test that compares whole runs of every row with the specification in NumPy."""

STEPS = "test_in_place.py::test_on_layers_and_by_gradients_as_the_text_has_it"
SERVERS = "test_fast.py::test_servers_in_place_are_the_text"
GOSSIP = "test_fast.py::test_gossip_in_two_stacks_is_the_text"
AFGA = "test_fast.py::test_afga_in_two_stacks_is_the_text"

TEXTS = "test_recorded.py::test_a_run_of_a_text_is_the_specification"

ALONE = "where one process has all clients"
LATER = "from the second round on"

RECORDED = (
    "recorded, and computed in one pass a step (fedspec_torch.tracing.clients), on a CPU in blocks of 2^16 numbers or "
    "more, 2^13 where steps are unequal; else, and where it looks at numbers, on tensors"
)
"""Description of how a client's text without a fast version runs."""

TENSORS = "on tensors, a stack of clients at once"
"""Description of how a text that can't be traced runs."""

ELSEWHERE = f"{TENSORS}: its clients begin where they were, which no recording does"

UPHILL = f"{TENSORS}: it asks for two gradients at one step, the second where the length of the first leads"

UNRECORDED: dict[Callable[..., Any], str] = {
    diloco_muon.step: f"{TENSORS}: it multiplies matrices and takes a norm within a step, which no recording does",
    fedpaq.step: f"{TENSORS}: it reads draws of each client, which no recording does",
    fedsam.step: UPHILL,
    mofedsam.step: UPHILL,
    fedpd.step: ELSEWHERE,
    streaming_diloco.step: ELSEWHERE,
    mime.step: f"{TENSORS}: it asks for two gradients at one step, which are one in the first alone",
    ef21.step: f"{TENSORS}, except for first gradients that are sent whole: those are recorded where others are",
}
"""Why the client's text of these steps can't be traced and has no fast version."""

SUM = "the changes' weighted sum: those of a block are gone before the next is trained"
SUMS_IF = "the changes' weighted sum if its text takes no more of them, else every change at once"
STACK = "every change at once, a stack with a row for each participant"


@dataclass(frozen=True)
class Part:
    """Function of an algorithm's text, and the fast version, if any, that a run calls in its place.

    Attributes:
        what: name of the part of the algorithm.
        text: dotted name of the specification's function that the part is, or belongs to.
        by: dotted name of the fast version; empty: the specification's text runs, on stacks of clients.
        how: description of the fast version and of the options for which the text runs instead; for a client's text,
            how it runs.
        when: condition under which the fast version runs; otherwise the text runs; empty: the fast version always runs.
        held_by: the tests in ``impl/test_mirror`` that compare the fast version with the text; the last one compares
            whole runs, and covers no row of a plugin.
        holds: for a server, the part of the clients' changes that it keeps in memory while it runs.
    """

    what: str
    text: str
    by: str = ""
    how: str = ""
    when: str = ""
    held_by: tuple[str, ...] = (RUNS,)
    holds: str = ""


def parts(row: Algorithm) -> tuple[Part, ...]:
    """List the functions of a row's text in the order in which a round calls them; none for a local solver.

    How a federation finds gradients is no part of the text: ``Federation.choices`` says it.
    """
    found = _parts(row)
    if row.id in ADDED:
        # The tests of whole runs run the catalogue's own rows; those of forms hold whoever has the same text.
        return tuple(replace(p, held_by=tuple(t for t in p.held_by if t not in {RUNS, TEXTS})) for p in found)
    return tuple(found)


def _parts(row: Algorithm) -> Iterator[Part]:
    run = row.run
    if isinstance(run, LocalSolver):
        return
    if isinstance(run, Method):
        if run.local in RATES:
            when = "" if run.local is local.local_sgd else "if the solver is SGD; else the text is recorded"
            yield _part("local training", run.local, {run.local: local_sgd}, when, STEPS if when else "")
        else:
            yield Part("local training", _named(run.local), how=RECORDED)
        yield _part("||a_i||_1", run.norm, {}, "", "")
        yield replace(_part("server", run.server, IN_PLACE, LATER, SERVERS), holds=_held(row, run))
    elif run.step in UNDIVIDED:
        held_by = {afga.step: AFGA, afga.gossip_fedamsgrad: RUNS}.get(run.step, GOSSIP)
        yield _part("round", run.step, UNDIVIDED, ALONE, held_by)
    else:
        yield _part("round", run.step, {}, "", "")
        if run.step in CLIENTS:
            steps = "" if run.event == "arrival" else STEPS
            yield _part("what a client does", run.step, CLIENTS, "", steps)
        elif run.event != "exchange":
            how = UNRECORDED.get(run.step)
            texts = (RUNS,) if how else (TEXTS, RUNS)
            yield Part("what a client does", _named(run.step), how=how or RECORDED, held_by=texts)


def _held(row: Algorithm, run: Method) -> str:
    """Describe the part of the changes that a server holds; found by running its text on changes without numbers."""
    options, x = row.resolve(row.readings[0].name, {}), torch.zeros(3)
    numbers = usual(row)
    if not {*needed(row, options)} <= {*numbers}:
        return SUMS_IF
    h, two = run.hyper(**{**numbers, **options}), (1, 1)

    def text(state: Any, deltas: Any) -> tuple[Any, Any]:
        messages = Messages(deltas, two, two, (1.0, 1.0), losses=lambda: (1.0, 1.0))
        found: tuple[Any, Any] = run.server(h, state, messages)
        return found

    begun = run.init(h, x)
    return SUM if sums_of(text, begun, (0, 1), 0, x[None], looked_at=False) else STACK


def _part(what: str, text: Callable[..., Any], forms: Mapping[Any, Any], when: str, held_by: str) -> Part:
    other = forms.get(text)
    if not other:
        return Part(what, _named(text))
    how = " ".join(re.sub(r":\w+:`([^`]+)`", r"\1", inspect.getdoc(other) or "").split())
    return Part(what, _named(text), _named(other), how, when, tuple(dict.fromkeys([held_by or RUNS, RUNS])))


def _named(f: Callable[..., Any]) -> str:
    return f"{f.__module__}.{f.__qualname__}"
