"""Call graph of the specification's functions: what they reach by names, closures, tables, modules and methods.

A copy of a function is worth making where it reaches something that is edited, or behind which something else stands.
Reach is found once; whoever asks for the same edits again has the same answer.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeGuard

from fedspec.catalogue import Algorithm, LocalSolver, Method, Program
from fedspec.contract import Level
from fedspec.deciding import WHERE
from fedspec.plugins import is_own

Names: TypeAlias = dict[str, Any]
"""Namespace of a module, in which its functions look up names."""

Spaces: TypeAlias = Mapping[str, Names]
"""Namespaces of several modules, by module name."""

EDITED = (*WHERE, *(f"fedspec.{name}" for name in ("averaging", "chain", "rounding", "schedules", "steps")))
"""Name prefixes of the modules whose functions may be edited: the algorithms', and those of a claim's words."""

GROUND = {
    *("fedspec.arith.maximum", "fedspec.arrays.put", "fedspec.arith.where_shorter", "fedspec.arith.ascending"),
    *("fedspec.population.each", "fedspec.population.each_arrival", "fedspec.population.downloaded"),
    "fedspec.population.weigh",
}
"""Functions outside the rule modules that tests may wrap."""

Part: TypeAlias = FunctionType | type
"""Part that can be copied: a function, or a class together with its methods."""


def looked_up(code: CodeType) -> list[str]:
    """List the names that a code object and its nested code objects look up in their module."""
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in looked_up(c)]
    return list(dict.fromkeys([*code.co_names, *inner]))


@cache
def _globals(code: CodeType) -> list[str]:
    """Names that code looks up as globals; attributes, which may share names with functions, are left out."""
    own = [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"]
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _globals(c)]
    return list(dict.fromkeys([*own, *inner]))


def stands_behind(f: Part) -> bool:
    """True if a function may be wrapped: a rule, a function of an own algorithm or one of ``GROUND``."""
    name = f"{f.__module__}.{f.__qualname__}"
    known = name in GROUND or name.startswith(EDITED) or is_own(str(f.__module__))
    return known and f.__qualname__ == f.__name__ and isinstance(f, FunctionType)


def is_table(value: Any, names: Names) -> TypeGuard[dict[Any, Any]]:
    """True if a value is a table in which functions are looked up, but no registry of rules or records."""
    return isinstance(value, dict) and names.get("__name__") not in ("fedspec.rules", "fedspec.records")


def is_specified(module: str | None) -> bool:
    """True if a module belongs to the specification or to an own algorithm, so that its functions may be edited."""
    return str(module).partition(".")[0] == "fedspec" or is_own(str(module))


def _is_known(names: Names, module: str) -> bool:
    """True if names are the specification's, or those of the module that a function says it is of."""
    return is_specified(names.get("__name__")) or names.get("__name__") == module


def _around(part: Part) -> Iterator[FunctionType]:
    """The functions around the text of one: of a rule its text."""
    cells = part.__closure__ or () if isinstance(part, FunctionType) else ()
    yield from (c.cell_contents for c in cells if isinstance(c.cell_contents, FunctionType))


def _is_around(part: Part) -> bool:
    """True if something of another module holds a function of the specification."""
    return any(is_specified(f.__module__) for f in _around(part))


def _within(part: Part) -> list[FunctionType]:
    """A function and those around its text, however deep."""
    found, waiting = list[FunctionType](), [part]
    while waiting:
        f = waiting.pop()
        if isinstance(f, FunctionType) and f not in found:
            found.append(f)
            waiting += _around(f)
    return found


def is_part(value: Any) -> TypeGuard[Part]:
    """True if a value is a function or a class of the specification, which can be copied."""
    return isinstance(value, FunctionType) or (isinstance(value, type) and is_specified(value.__module__))


def _names(part: Part) -> Names:
    """The names that a function looks up, or those of the module that a class is of."""
    return part.__globals__ if isinstance(part, FunctionType) else vars(sys.modules[part.__module__])


def methods_of(kind: type) -> dict[str, FunctionType]:
    """Return the methods of a class, without other dunder methods than initialisers and without ``step``."""
    of = (vars(k) for k in reversed(kind.__mro__) if k.__module__ == kind.__module__)
    own = {n: f for names in of for n, f in names.items() if isinstance(f, FunctionType)}
    return {n: f for n, f in own.items() if n in ("__init__", "__post_init__") or not (n[:2] == "__" or n == "step")}


def _read(part: Part) -> Iterator[Part]:
    """Yield the parts that a function looks up and those around it; of a class its methods."""
    if isinstance(part, type):
        yield from methods_of(part).values()
        return
    yield from _around(part)
    if not _is_known(part.__globals__, part.__module__):
        return
    names = looked_up(part.__code__)
    for value in map(part.__globals__.get, _globals(part.__code__)):
        if isinstance(value, ModuleType):
            yield from (v for n in names if isinstance(v := vars(value).get(n), FunctionType))
        elif is_table(value, part.__globals__):
            yield from (v for v in value.values() if isinstance(v, FunctionType))
        elif is_part(value):
            yield value


class Reach:
    """Call graph from some functions and classes of the specification, and from the functions in their modules.

    Attributes:
        roots: the functions and classes to start from.
        origins: the specification's part behind each reached part.
        read: the parts that each part reads.
    """

    def __init__(self, roots: Sequence[Part], origins: Mapping[Part, Part]) -> None:
        self.roots = roots
        self.origins: dict[Part, Part] = {}
        self.read: dict[Part, list[Part]] = {}
        self.own = {f.__module__ for f in roots}
        around, waiting = set[Part](), [*roots]
        while waiting:
            f = waiting.pop()
            # What checks a function, and what widens an entry of a table, stands around it, wherever it comes from.
            known = is_specified(f.__module__) or f.__module__ in self.own or f in around or _is_around(f)
            if f not in self.origins and known:
                self.origins[f], self.read[f] = origins.get(f, f), [*dict.fromkeys(_read(f))]
                waiting += [*self.read[f], *self._beside(f)]
                around.update(_around(f))

    def into(self, edited: Collection[FunctionType], everything: bool) -> tuple[list[Part], Spaces]:
        """Return the parts that call edited functions (or any function that may be wrapped), and their namespaces."""
        running = self._running(edited)
        found = [f for f, of in self.origins.items() if of in edited]
        kept = self._reaching(found, running)
        if everything:
            behind = [f for f, of in self.origins.items() if stands_behind(of)]
            # What classes do stands behind nothing.
            kept |= {f: None for f in self._reaching(behind, running) if isinstance(f, FunctionType)}
        return [*kept], self._spaces([*kept, *(t for f in found for t in _within(f))])

    def whole(self) -> tuple[list[Part], Spaces]:
        """Return all functions, the classes that call rules, and the namespaces of both."""
        rules = {f for f in self.origins if isinstance(f, FunctionType) and self._is_edited(f)}
        kept = [f for f in self.origins if isinstance(f, FunctionType) or self._reads(f, rules)]
        return kept, self._spaces(self.origins)

    def _running(self, edited: Collection[FunctionType]) -> dict[Part, None]:
        """Parts that may run: those that the roots reach; an edited text may also call those beside it."""
        found, waiting = dict[Part, None](), [*self.roots]
        while waiting:
            f = waiting.pop()
            if f in self.origins and f not in found:
                found[f] = None
                waiting += self.read[f]
                for t in _within(f) if self.origins[f] in edited else ():
                    waiting += self._beside(t)
        return found

    def _reaching(self, found: Sequence[Part], running: Collection[Part]) -> dict[Part, None]:
        """Parts that read some functions, and parts that read those, as far as they run."""
        readers: dict[Part, list[Part]] = {}
        for f in running:
            for v in self.read[f]:
                readers.setdefault(v, []).append(f)
        kept, waiting = dict[Part, None](), [*found]
        while waiting:
            new = [f for f in readers.get(waiting.pop(), ()) if f not in kept]
            kept |= dict.fromkeys(new)
            waiting += new
        return kept

    def _is_edited(self, part: Part) -> bool:
        name = _names(part).get("__name__", "")
        return name.startswith(EDITED) or is_own(name) or (name in self.own and not is_specified(name))

    def _beside(self, part: Part) -> list[FunctionType]:
        """Functions in the module of a part that may be edited: another text may call them."""
        return [v for v in _names(part).values() if isinstance(v, FunctionType)] if self._is_edited(part) else []

    def _spaces(self, parts: Iterable[Part]) -> dict[str, Names]:
        """The names that some functions look up, by module; of a module that is there as it is and copied, the copy."""
        found: dict[str, Names] = {}
        for names in map(_names, parts):
            name = names.get("__name__", "")
            known = is_specified(name) or name in self.own
            if known and (name not in found or found[name] is vars(sys.modules[name])):
                found[name] = names
        return found

    def _reads(self, kind: type, functions: Collection[Part]) -> bool:
        return any(f in functions for method in self.read[kind] for f in self.read.get(method, ()))


def functions(algorithm: Algorithm, level: Level) -> list[FunctionType]:
    """List the functions that an algorithm may call at a level, found from its row."""
    return called_by(held(algorithm, level))


def held(algorithm: Algorithm, level: Level) -> list[Any]:
    """List the functions that the row of an algorithm holds and runs at a level."""
    match algorithm.run:
        case LocalSolver(rule=rule):
            return [rule]
        case Method(server=server, local=local, norm=norm):
            return [server] if level == "server" else [server, local, norm]
        case Program(step=step, served=served):
            return [served.server] if served and level == "server" else [step]


def called_by(held: Sequence[Any]) -> list[FunctionType]:
    """List the given functions and the functions of the specification or an own algorithm that they may call."""
    found: list[FunctionType] = []
    waiting = [f for f in held if isinstance(f, FunctionType)]
    while waiting:
        function = waiting.pop(0)
        if function in found or not (function.__module__.startswith(EDITED) or is_own(function.__module__)):
            continue
        found.append(function)
        space = inspect.unwrap(function).__globals__
        named = (space.get(name) for name in names(function))
        waiting += [f for f in named if isinstance(f, FunctionType)]
    return found


def names(function: FunctionType) -> list[str]:
    """List the names that a function looks up in its module."""
    return looked_up(inspect.unwrap(function).__code__)
