"""Training of a block of clients from a trace of the client's text.

A text is entered once a round for each number of steps, not once a block, and computes nothing then. What it asked for
becomes a local solver that writes over what it has (:mod:`fedspec_torch.tracing.stages`): clients of unequal numbers
of steps stand in one block, layers that are written out take all their steps, and whole runs of plain steps are taken
in the fastest way. A text that cannot be recorded runs on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from types import FunctionType
from typing import Any, TypeAlias

from torch import Tensor

from fedspec.population import Client
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import InPlace, Step
from fedspec_torch.plan import Oracle
from fedspec_torch.tracing.closures import UnknownPartError, key_of
from fedspec_torch.tracing.expressions import Expression, Functions
from fedspec_torch.tracing.outputs import Ending, Leaves, compute_outputs, ending
from fedspec_torch.tracing.passes import run
from fedspec_torch.tracing.programs import Number
from fedspec_torch.tracing.stages import Stages, rated, staged
from fedspec_torch.tracing.tape import FLOATS, Tape, UnrecordedError
from fedspec_torch.tracing.tracer import Text, expressions, parts_of, text_of

LOOPS = 6
"""Largest number of step programs to compile: a text with growing steps would need a program for each step."""

KEPT = 64
"""Largest number of cached traces and stages."""


@dataclass(frozen=True, eq=False)
class TracedClient:
    """Trace of a client's text for some numbers of steps, compiled to stages.

    Attributes:
        tape: the trace of the client's text.
        start: the node of the model from which the clients begin.
        texts: the trace for each number of steps.
        stages: the compiled stages of the longest trace.
        ending: the plan for computing the results after the last step.
    """

    tape: Tape
    start: int
    texts: Mapping[int, Text]
    stages: Stages
    ending: Ending


Recorder: TypeAlias = Callable[..., Client | None]
"""Function from numbers of steps and the text's other arguments to a function of a block of clients, or None."""

_seen: dict[Any, Any] = {}
_seeing = Lock()


def remember(key: Any, value: Any) -> None:
    """Cache a value by its key, and drop the oldest entries."""
    with _seeing:
        while len(_seen) >= KEPT:
            del _seen[next(iter(_seen))]
        _seen[key] = value


class Roles:
    """Numbering of the tensors that a text closes over: rounds with other tensors in equal roles match."""

    def __init__(self, start: Vector | None) -> None:
        self.tensors = [] if start is None else [start]

    def __call__(self, x: Tensor) -> Hashable:
        """Return a tensor's key: its number, shape, dtype and device, without its values."""
        if not any(x is known for known in self.tensors):
            self.tensors.append(x)
        return (self.of(x), tuple(x.shape), x.dtype, str(x.device), x.requires_grad)

    def of(self, x: Tensor) -> int:
        """Return the number of a tensor; -1 if it has none."""
        return next((j for j, known in enumerate(self.tensors) if known is x), -1)


def is_fedspecs(function: FunctionType) -> bool:
    """True if a function is defined in fedspec's own modules, which don't change while they run."""
    module = function.__globals__["__name__"]
    return module.partition(".")[0] in ("fedspec", "fedspec_torch") and not module.startswith("fedspec.plugins.")


def traced(client: Callable[..., Any], like: Vector, start: Vector | None, *more: Any) -> TracedClient | None:
    """Return the trace of a client's text, from the cache if possible; None: the text runs on tensors.

    If a text of fedspec's own closes over the same numbers as an earlier one, and over other tensors, it isn't run
    again, unless it read a tensor's numbers or computed others from them. All other texts are run: a function that they
    call may have been redefined, for example in a notebook.
    """
    roles = Roles(start)
    try:
        own = key_of(client, roles, is_fedspecs)
    except UnknownPartError:
        return trace_client(client, like, start, *more)
    key = (own, like.shape, like.dtype, str(like.device), start is None, *map(str, more))
    if before := _seen.get(key):
        known: TracedClient
        known, places = before
        return replace(known, tape=replace(known.tape, tensors=[roles.tensors[j] for j in places]))
    found = trace_client(client, like, start, *more)
    if found and not found.tape.looked and -1 not in (places := [*map(roles.of, found.tape.tensors)]):
        tape = replace(found.tape, tensors=[*found.tape.tensors])
        # What is returned has the tape of its time in it, which would keep a round's tensors.
        found.tape.tensors.clear()
        found.tape.computed.clear()
        remember(key, (found, places))
        return replace(found, tape=tape)
    return found


def recorder(client: Callable[..., Any], like: Vector, start: Vector | None) -> Recorder:
    """Make a function that traces a client's text for given numbers of steps.

    Args:
        client: the function that trains a client.
        like: a vector with the shape, type and device of the models.
        start: the model from which all clients begin; None: each client begins at a model of its own.
    """

    @cache
    def of(steps: tuple[int, ...], strategy: str, scaled: bool) -> Client | None:
        more = {**({"strategy": strategy} if strategy else {}), **({"Xi": None} if scaled else {})}
        found = traced(client, like, start, steps, more)
        if not found:
            return None

        def run(i: Any, x: Stack, gradient: Oracle, tau: int | tuple[int, ...], **more: Any) -> Any:
            return trained(found, i, x, gradient, (tau,) * len(x) if isinstance(tau, int) else tau, more)

        return run

    return lambda steps, *, strategy="", Xi=None: of(tuple(sorted({*steps})), strategy, Xi is not None)


def trace_client(
    client: Callable[..., Any], like: Vector, start: Vector | None, steps: Sequence[int], more: Mapping[str, Any]
) -> TracedClient | None:
    """Trace a client's text for these numbers of steps; None if it can't be traced, so it runs on tensors.

    Args:
        client: the function that trains a client.
        like: a vector with the shape, type and device of the models.
        start: the model from which all clients begin; None: each client begins at a model of its own.
        steps: the numbers of steps that occur in one block, in ascending order.
        more: further arguments of the text.
    """
    if like.dtype not in FLOATS:
        return None
    tape, most = Functions(like.shape[-1], like.dtype, like.device), steps[-1]
    begin = tape.node("x") if start is None else tape.leaf("vector", start)
    told = {name: Expression(tape, tape.node("column", name)) if name == "Xi" else said for name, said in more.items()}

    def text(tau: int) -> Text | None:
        # What goes wrong in a text goes wrong on tensors too, and is said there.
        try:
            return text_of(tape, client, begin, tau, told)
        except Exception:
            return None

    texts: dict[int, Text] = {}
    for tau in steps:
        found = text(tau)
        if not found or not is_known(found.made):
            return None
        texts[tau] = found
    made = {tau: (*expressions(text.made),) for tau, text in texts.items()}
    key = (tuple(tape.nodes), tuple((tau, text.asked, made[tau]) for tau, text in texts.items()))
    # What was recorded before has the same stages, whatever its vectors hold.
    if before := _seen.get(key):
        stages, end, tape.nodes = before
        return TracedClient(tape, begin, texts, stages, end)
    if any(tape.axes[node] == 1 for nodes in made.values() for node in nodes):
        return None
    known = len(tape.tensors)
    # A step more shows what the last one leaves, where it is as all others.
    for long in (text(most + 1), texts[most] if len(texts) == 1 else None):
        for make in (rated, staged):
            planned = long and tried(make, tape, long, most)
            if planned and long and all(follows(tape, planned, text, long) for text in texts.values()):
                after = {tau: planned.after[tau] for tau in texts}
                end = ending(tape, texts, after)
                if len(tape.tensors) == known:
                    remember(key, (planned, end, tape.nodes))
                return TracedClient(tape, begin, texts, planned, end)
    return None


def tried(make: Callable[[Tape, Text, int], Stages | None], tape: Tape, text: Text, steps: int) -> Stages | None:
    """Compile a text to stages; None if it can't be."""
    try:
        return make(tape, text, steps)
    except UnrecordedError:
        return None


def follows(tape: Tape, stages: Stages, text: Text, long: Text) -> bool:
    """True if a text takes its gradients at the longer text's models, and its results depend only on kept vectors."""
    tau = len(text.asked)
    rest = tape.cone(expressions(text.made), stages.after[tau])
    return text.asked == long.asked[:tau] and not any(tape.nodes[node][0] == "gradient" for node in rest)


def is_known(made: Any) -> bool:
    """True if a text returns only expressions and numbers, in tuples and records."""
    parts = parts_of(made)
    return isinstance(made, Expression | float | int) if parts is None else all(map(is_known, parts))


def trained(
    recording: TracedClient, who: Sequence[int], x: Stack, gradient: Oracle, tau: Sequence[int], more: Mapping[str, Any]
) -> Any:
    """Train the clients of a block, in descending order of steps, and return their results.

    Args:
        recording: the trace of the client's text.
        who: the clients' numbers.
        x: the models from which the clients begin.
        gradient: function that returns the gradients of the first few clients.
        tau: each client's number of local steps.
        more: further arguments of the text.
    """
    leaves, end = Leaves(recording.tape, who, x, more), recording.ending
    made = run_in_place(solver_of(recording, leaves), x, gradient, tau)
    return compute_outputs(end, recording.texts, leaves, tau, dict(zip(("y", *end.read), made, strict=True)))


def solver_of(recording: TracedClient, leaves: Leaves) -> InPlace:
    """Make an in-place solver of a traced client's stages.

    The key is made of the numbers, tensors and programs in its closure.
    """
    stages, kept = recording.stages, recording.ending.read
    steps = [stage for stage in (*stages.stages, *(first for _, first in stages.begins.values())) if stage]
    found = {node: alike(leaves, node) for node in sorted({node for stage in steps for node in stage.given})}
    own = tuple(stage and stage.known(found) for stage in stages.stages)
    loops = len({stage.program for stage in own if stage}) <= LOOPS
    names = sorted({*stages.begins} | {name for s in own if s for name in s.program.names} - {"y", "g"})

    def begun(node: int) -> Any:
        return None if node == recording.start else leaves.values([node], {}, slice(None))[0]

    first = tuple((slot, begun(node), then and then.known(found)) for slot, (node, then) in stages.begins.items())
    common, d = tuple(recording.tape.tensors), recording.tape.d

    def begin(block: Block, y: Tensor) -> Step:
        slots = {name: block.memory(name) for name in names}
        for slot, value, then in first:
            if value is None:
                slots[slot].copy_(y)
            elif isinstance(value, Tensor) and value.ndim:
                # A column is one number at every coordinate.
                block.put(slots[slot], value.expand(*value.shape[:-1], d))
            else:
                slots[slot].fill_(value)
            if then:
                run(then, block, {"y": y, **slots}, common)

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            stage = own[k]
            if stage:
                run(stage, block, {"y": y, "g": g, **slots}, common, loops=loops)

        return step

    rates = stages.rates
    # Where no gradient is written, another vector makes room when the steps are done.
    spare = next(iter(sorted({*stages.begins} - {*kept})), "g") if rates else "g"
    rate = (lambda k: rates[k]) if rates else None
    return InPlace(begin if any(own) or kept else None, rate, kept=kept, spare=spare)


def alike(leaves: Leaves, node: int) -> Number:
    """Return a node's value for each client; one number if all clients' values are equal."""
    (column,) = leaves.columns([node], slice(None))
    numbers = {*column.flatten().tolist()}
    return numbers.pop() if len(numbers) == 1 else column.to(leaves.x.dtype)
