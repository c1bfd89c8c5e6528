"""Text of an algorithm's files: its box, the prose around it, and the code of its step, trimmed for reading."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from fedspec.catalogue import Algorithm, LocalSolver, Method, Program
from fedspec.folding import Folding, folding_of
from fedspec.rules import equations
from fedspec.source_text import source_of, stored

Source: TypeAlias = Callable[[Callable[..., Any]], str]
"""Function that returns the source text of a function: as in its file, or specialised to a reading."""


@dataclass(frozen=True)
class Text:
    """Parts of an algorithm's source text.

    Attributes:
        box: the indented lines of its docstring.
        prose: the other lines, one string a paragraph.
        code: its functions without their docstrings, under one reading.
        options: the same for every reading, with all that looks at an option; empty if nothing does.
        served: the code of a program's server by itself, with what it calls.
    """

    box: str
    prose: tuple[str, ...]
    code: str
    options: str = ""
    served: str = ""


def text_of(a: Algorithm) -> Text:
    """Return an algorithm's box and prose, its code under the canonical reading, and its code with all options."""
    box, prose = described(a)
    alone: list[Callable[..., Any]] = (
        [a.served.init, a.served.server] if isinstance(a.run, Program) and a.served else []
    )
    served = _joined(_with_helpers(alone, source_of, {*a.options}), source_of)
    whole = _joined(_with_helpers([*_deciding(a), _runs(a)], source_of, {*a.options}), source_of)
    folding = _folded(a)
    return Text(box, prose, _shown(a, folding), whole if folding.texts else "", served)


def code_of(a: Algorithm, reading: str = "", options: Mapping[str, str] | None = None) -> str:
    """Return the code of an algorithm under a reading (the canonical one by default) and declared options."""
    return _shown(a, _folded(a, reading, options))


def _folded(a: Algorithm, reading: str = "", options: Mapping[str, str] | None = None) -> Folding:
    folding = folding_of(a, reading, options)
    folding.add(*_halves(a))
    return folding


def _halves(a: Algorithm) -> list[Callable[..., Any]]:
    """The function that runs, after the clients' half if that stands in the same file."""
    runs = _runs(a)
    if isinstance(a.run, Method) and inspect.getmodule(a.run.local) is inspect.getmodule(runs):
        return [a.run.local, runs]
    return [runs]


def _shown(a: Algorithm, folding: Folding) -> str:
    """The step first, then what it calls, its own aggregate too, and last the rule that moves the model."""

    def folded(f: Callable[..., Any]) -> str:
        return folding.texts.get(inspect.unwrap(f)) or source_of(f)

    functions = _halves(a)
    # What the reading decides is shown, wherever it stands.
    helpers = _with_helpers(functions, folded, also=folding.texts)
    called = {name for f in helpers for name in _called(f, folded)}
    more = [r for r in a.rules if (_aggregates(a, r) or _moves(a, r)) and r.__name__ in called]
    return _joined((*functions, *helpers, *_with_helpers(more, folded)), folded)


def described(a: Algorithm) -> tuple[str, tuple[str, ...]]:
    """Return the box in an algorithm's docstring and the prose around it."""
    runs = _runs(a)
    of = runs if isinstance(a.run, LocalSolver) else inspect.getmodule(runs)
    return _divided(inspect.getdoc(of) or "")


def _joined(functions: Iterable[Callable[..., Any]], source: Source) -> str:
    """Code of functions, each once, under the name by which the other functions call it."""
    once = dict.fromkeys(functions)
    spaces = {f: inspect.unwrap(f).__globals__ for f in once}
    found = [(name, spaces[f].get(name)) for f in once for name in _called(f, source)]
    names: dict[Any, str] = {f: name for name, f in found if inspect.isfunction(f)}
    return "\n\n".join(_code(source(f), names.get(f, f.__name__)) for f in once)


def _runs(a: Algorithm) -> Callable[..., Any]:
    """Function that runs under any options: the rule of a local solver, else the server's half or the whole step."""
    match a.run:
        case LocalSolver(rule=rule):
            return rule
        case Method(server=server):
            return server
    return a.run.step


def _deciding(a: Algorithm) -> list[Callable[..., Any]]:
    """Functions outside the step in which options decide: the initial state, and the clients' half of a method."""
    beside = (getattr(a.run, name, None) for name in ("init", "local", "norm"))
    return [f for f in beside if f is not None and _reads(f, {*a.options})]


def _reads(f: Callable[..., Any], options: Set[str]) -> bool:
    return not options.isdisjoint(inspect.unwrap(f).__code__.co_names)


def _moves(a: Algorithm, rule: Callable[..., Any]) -> bool:
    """True for the rules of a server, and for rules that move the model, unless the algorithm is a local solver."""
    moving = a.equation("step") in {e.id for e in equations(rule)}
    return not isinstance(a.run, LocalSolver) and (_of_server(rule) or moving)


def _divided(docstring: str) -> tuple[str, tuple[str, ...]]:
    """The indented lines, and the paragraphs of the others; what it raises is neither."""
    docstring = re.sub(r"^Raises:\n(?:    .*\n?)+", "", docstring, flags=re.MULTILINE)
    box: list[str] = []
    prose: list[list[str]] = [[]]
    for line in docstring.splitlines():
        if line.startswith("    "):
            box.append(line)
        elif not line:
            prose.append([])
            if box and box[-1]:
                box.append("")
        else:
            prose[-1].append(line)
    kept = [" ".join(lines) for lines in prose if lines]
    return textwrap.dedent("\n".join(box)).strip("\n"), tuple(kept)


def _with_helpers(
    functions: list[Callable[..., Any]],
    source: Source,
    options: Set[str] | None = None,
    also: Collection[Callable[..., Any]] = (),
) -> list[Callable[..., Any]]:
    """The functions after those of the algorithms' files that they call, each once, callees first.

    Where options are asked: with all that reads one, the rules of the server and those that make something of messages,
    but not the mean that all share.
    """
    out: list[Callable[..., Any]] = []

    def visit(f: Callable[..., Any]) -> None:
        if f in out:
            return
        plain = inspect.unwrap(f)
        for name in _called(f, source):
            other = plain.__globals__.get(name)
            if not inspect.isfunction(other) or other in functions:
                continue
            asked = options is not None and not _checks(other)
            own = other.__module__.startswith(("fedspec.client.", "fedspec.algorithms.", "fedspec.mixing."))
            if (
                _telling(other, plain)
                or inspect.unwrap(other) in also
                or (asked and (own or _serves(other) or _reads(other, options or set())))
            ):
                visit(other)
        out.append(f)

    for f in functions:
        visit(f)
    return out


COMMON = {"fedspec.algorithms.synchronous", "fedspec.algorithms.local", "fedspec.hyper"}
"""Modules that all algorithms share, whose functions are not part of an algorithm's text."""


def _telling(other: Callable[..., Any], caller: Callable[..., Any]) -> bool:
    """True if a called function belongs to the algorithm's text: refusing bad plans does not."""
    if _checks(other):
        return False
    if other.__module__ == caller.__module__ or _of_clients(other):
        return True
    if other.__module__.startswith("fedspec.client.") and caller.__module__.startswith("fedspec.client."):
        return True
    return other.__module__.startswith("fedspec.algorithms.") and other.__module__ not in COMMON


def _checks(f: Callable[..., Any]) -> bool:
    return f.__name__.startswith("check_")


def _of_clients(f: Callable[..., Any]) -> bool:
    """True for a rule of the clients: the printed box contains it, although the code calls it by name."""
    return f.__module__.startswith("fedspec.client.") and bool(equations(f))


def _aggregates(a: Algorithm, rule: Callable[..., Any]) -> bool:
    """True if a rule makes Delta of a server's messages by an equation of its own, not by the shared mean."""
    return isinstance(a.run, Method) and f"{a.id}.delta" in {e.id for e in equations(rule)}


def _of_server(f: Callable[..., Any]) -> bool:
    return f.__module__.startswith("fedspec.server.")


def _serves(f: Callable[..., Any]) -> bool:
    """True for a function of the server, an own equation on messages, or a root of a reading."""
    if f.__module__ == "fedspec.preconditioner" or _of_server(f):
        return True
    return (
        f.__module__.startswith("fedspec.mixing.") and f.__module__ != "fedspec.mixing.weighted" and bool(equations(f))
    )


def _called(f: Callable[..., Any], source: Source) -> Iterator[str]:
    (definition,) = ast.parse(source(f)).body
    assert isinstance(definition, ast.FunctionDef)
    given = {argument.arg for argument in (*definition.args.args, *definition.args.kwonlyargs)}
    given |= stored(definition)
    names = (node.id for line in definition.body for node in ast.walk(line) if isinstance(node, ast.Name))
    yield from (name for name in names if name not in given)


def _code(source: str, name: str) -> str:
    """The function without decorators, types and docstring, under a name."""
    lines = source.splitlines()
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    node.name = name
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    instead: dict[int, str] = {}
    left_out: set[int] = set()
    for inner in ast.walk(ast.Module(body, [])):
        if isinstance(inner, ast.FunctionDef):
            instead[inner.lineno] = textwrap.indent(_signature(inner), " " * inner.col_offset)
            left_out.update(range(inner.lineno + 1, inner.body[0].lineno))
    shown = (instead.get(n, line) for n, line in enumerate(lines, 1) if n >= body[0].lineno and n not in left_out)
    return "\n".join([_signature(node), *shown])


WIDTH = 88
"""Largest width of a signature on one line."""


def _signature(node: ast.FunctionDef) -> str:
    """``def name(arguments):`` without types, on as many lines as it takes."""
    many = [node.args.vararg] if node.args.vararg else []
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *many):
        argument.annotation = None
    arguments = ast.unparse(node.args)
    line = f"def {node.name}({arguments}):"
    if len(line) <= WIDTH:
        return line
    wrapped = textwrap.wrap(arguments, WIDTH - 4, break_long_words=False)
    return "\n".join([f"def {node.name}(", *(f"    {part}" for part in wrapped), "):"])
