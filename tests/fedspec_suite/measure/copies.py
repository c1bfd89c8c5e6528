"""The specification once more, for one session: its functions over names of their own, where others may stand.

A function finds what it calls in the names of its module. So a session has copies of the functions that reach an edit,
over copies of those names, and what is put there is known to nobody else: sessions of different editions may take turns
or run at once, and the modules stay what they are. How to copy is found once; to do it takes microseconds.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeGuard

Names: TypeAlias = dict[str, Any]
"""What the functions of a module look up."""

Around: TypeAlias = Mapping[FunctionType, Callable[[Callable[..., Any]], Callable[..., Any]]]
"""What stands in the place of functions of the specification, from what stands there."""

Spaces: TypeAlias = Mapping[str, Names]
"""The names of some modules."""

Edits: TypeAlias = Mapping[FunctionType, Callable[[Spaces], Callable[..., Any]]]
"""By a function of the specification what makes the one in its place, from what it may look up."""

RULES = ("fedspec.client.", "fedspec.server.", "fedspec.mixing.", "fedspec.algorithms.", "fedspec.preconditioner")
"""Where the functions stand that an algorithm is made of; what lies below them (arithmetic, plans) is not edited."""

EDITED = (*RULES, "fedspec.plugins.")
"""The same with the files of other people's algorithms."""

GROUND = {
    *("fedspec.arith.maximum", "fedspec.arrays.put", "fedspec.arith.where_shorter"),
    *("fedspec.population.each", "fedspec.population.each_arrival", "fedspec.population.downloaded"),
}
"""What others may stand around beside the rules."""

Part: TypeAlias = FunctionType | type
"""What can be copied: a function, or a class for the sake of its methods."""


def looked_up(code: CodeType) -> list[str]:
    """What a function and those within it look up in their module."""
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in looked_up(c)]
    return list(dict.fromkeys([*code.co_names, *inner]))


@cache
def _globals(code: CodeType) -> list[str]:
    """The same without attributes, which have the names of functions now and then."""
    own = [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"]
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _globals(c)]
    return list(dict.fromkeys([*own, *inner]))


def _may_stand_behind(f: Part) -> bool:
    name = f"{f.__module__}.{f.__qualname__}"
    return (name in GROUND or name.startswith(EDITED)) and f.__qualname__ == f.__name__ and isinstance(f, FunctionType)


def _is_of_specification(module: str | None) -> bool:
    """Whether a module is one of the specification: what others know is not edited."""
    return str(module).partition(".")[0] == "fedspec"


def _is_known(names: Names, module: str) -> bool:
    """Whether names are the specification's, or those of the module that a function says it is of."""
    return _is_of_specification(names.get("__name__")) or names.get("__name__") == module


def _around(part: Part) -> Iterator[FunctionType]:
    """The functions around the text of one: of a rule its text."""
    cells = part.__closure__ or () if isinstance(part, FunctionType) else ()
    yield from (c.cell_contents for c in cells if isinstance(c.cell_contents, FunctionType))


def _within(part: Part) -> list[FunctionType]:
    """A function and those around its text, however deep."""
    found, waiting = list[FunctionType](), [part]
    while waiting:
        f = waiting.pop()
        if isinstance(f, FunctionType) and f not in found:
            found.append(f)
            waiting += _around(f)
    return found


def _is_part(value: Any) -> TypeGuard[Part]:
    return isinstance(value, FunctionType) or (isinstance(value, type) and value.__module__.startswith("fedspec."))


def _names(part: Part) -> Names:
    """What a function looks up, or those of the module that a class is of."""
    return part.__globals__ if isinstance(part, FunctionType) else vars(sys.modules[part.__module__])


def _methods(kind: type) -> dict[str, FunctionType]:
    """What a class does, but for what all records do, and for the step of a session, which is copied by itself."""
    own = {n: f for n, f in vars(kind).items() if isinstance(f, FunctionType) and f.__module__ == kind.__module__}
    return {n: f for n, f in own.items() if n in ("__init__", "__post_init__") or not (n[:2] == "__" or n == "step")}


def _read(part: Part) -> Iterator[Part]:
    """What a function looks up, by itself, in a table or in a module, and what is around it; of a class its methods."""
    if isinstance(part, type):
        yield from _methods(part).values()
        return
    yield from _around(part)
    if not _is_known(part.__globals__, part.__module__):
        return
    names = looked_up(part.__code__)
    for value in map(part.__globals__.get, _globals(part.__code__)):
        if isinstance(value, ModuleType) or (
            isinstance(value, dict) and not part.__module__.startswith("fedspec.rules")
        ):
            table = [vars(value).get(n) for n in names] if isinstance(value, ModuleType) else value.values()
            yield from (v for v in table if isinstance(v, FunctionType))
        elif _is_part(value):
            yield value


class Reach:
    """What some functions and classes of the specification reach, and what stands beside that.

    Attributes:
        roots: these.
        origins: all of it, and what of the specification each is a copy of, or itself.
        read: what each reads.
        plans: how to copy what reaches some of them, as far as that was asked.
    """

    def __init__(self, roots: Sequence[Part], origins: Mapping[Part, Part]) -> None:
        self.roots = roots
        self.origins: dict[Part, Part] = {}
        self.read: dict[Part, list[Part]] = {}
        self.plans: dict[tuple[frozenset[FunctionType], bool], Plan] = {}
        self.own = {f.__module__ for f in roots}
        around, waiting = set[Part](), [*roots]
        while waiting:
            f = waiting.pop()
            # What checks a function stands around it, wherever it comes from.
            if f not in self.origins and (
                _is_of_specification(f.__module__) or f.__module__ in self.own or f in around
            ):
                self.origins[f], self.read[f] = origins.get(f, f), [*dict.fromkeys(_read(f))]
                waiting += [*self.read[f], *self._beside(f)]
                around.update(_around(f))

    def plan(self, edited: frozenset[FunctionType], everything: bool) -> Plan:
        """How to copy what reaches edited functions, or any that others may stand around, too."""
        if (edited, everything) not in self.plans:
            running = self._running(edited)
            found = [f for f, of in self.origins.items() if of in edited]
            kept = self._reaching(found, running)
            if everything:
                behind = [f for f, of in self.origins.items() if _may_stand_behind(of)]
                # What classes do stands behind nothing.
                kept |= {f: None for f in self._reaching(behind, running) if isinstance(f, FunctionType)}
            homes = [t for f in found for t in _within(f)]
            self.plans[edited, everything] = Plan(self, kept, self._spaces([*kept, *homes]))
        return self.plans[edited, everything]

    def _running(self, edited: frozenset[FunctionType]) -> dict[Part, None]:
        """What may run: what the roots reach, where an edited text may call what stands beside it."""
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
        """What reads some functions, and what reads that, as far as it runs."""
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

    def whole(self) -> Plan:
        """How to copy all functions, and classes that read rules."""
        rules = {f for f in self.origins if isinstance(f, FunctionType) and self._is_edited(f)}
        kept = [f for f in self.origins if isinstance(f, FunctionType) or self._reads(f, rules)]
        return Plan(self, kept, self._spaces(self.origins))

    def _is_edited(self, part: Part) -> bool:
        name = _names(part).get("__name__", "")
        return name.startswith(EDITED) or (name in self.own and not _is_of_specification(name))

    def _beside(self, part: Part) -> list[FunctionType]:
        """What the module of something that may be edited knows: another text may call it."""
        return [v for v in _names(part).values() if isinstance(v, FunctionType)] if self._is_edited(part) else []

    def _spaces(self, parts: Iterable[Part]) -> dict[str, Names]:
        """What some functions look up, by module; of one that is there as it is and copied, the copy."""
        found: dict[str, Names] = {}
        for names in map(_names, parts):
            name = names.get("__name__", "")
            known = _is_of_specification(name) or name in self.own
            if known and (name not in found or found[name] is vars(sys.modules[name])):
                found[name] = names
        return found

    def _reads(self, kind: type, functions: Collection[Part]) -> bool:
        return any(f in functions for method in self.read[kind] for f in self.read.get(method, ()))


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to make a copy of a function: over which names, and which of those around its text are copies too."""

    code: CodeType
    names: Names
    space: int | None
    name: str
    module: str
    defaults: tuple[Any, ...] | None
    closure: tuple[CellType, ...] | None
    cells: tuple[tuple[int, int], ...]
    named: dict[str, Any] | None
    attributes: dict[str, Any]


class Plan:
    """How to copy some functions.

    Attributes:
        origins: of each function that is reached, that of the specification.
        at: the number of each that is copied.
        recipes: how, in that order.
        spaces: the names that they look up, by module, and in ``number`` that of each module by its name.
        copies: of these names those of copied functions; ``tables`` and ``modules``: those of what holds some.
        places: by function of the specification, where it is known and under which name.
    """

    def __init__(self, reach: Reach, kept: Collection[Part], spaces: Spaces) -> None:
        self.origins = origins = reach.origins
        functions = [f for f in kept if isinstance(f, FunctionType)]
        kinds = [kind for kind in kept if isinstance(kind, type)]
        parts: list[Part] = [*functions, *kinds]
        self.at = {f: k for k, f in enumerate(parts)}
        self.spaces, self.number = [*spaces.values()], {name: k for k, name in enumerate(spaces)}
        self.recipes = [self._recipe(f, origins[f]) for f in functions]
        self.kinds = [(kind, {n: self.at[f] for n, f in _methods(kind).items() if f in self.at}) for kind in kinds]
        self.copies: list[tuple[int, str, int]] = []
        self.tables: list[tuple[int, str, dict[Any, Any], dict[Any, int]]] = []
        self.modules: list[tuple[int, str, int]] = []
        self.places: dict[Part, list[tuple[int, str]]] = {}
        for k, names in enumerate(self.spaces):
            for name, v in names.items():
                if isinstance(v, FunctionType) and _is_of_specification(names.get("__name__")):
                    self.places.setdefault(origins.get(v, v), []).append((k, name))
                if _is_part(v) and v in self.at:
                    self.copies.append((k, name, self.at[v]))
                elif isinstance(v, dict) and (of := self._numbers(v)):
                    self.tables.append((k, name, v, of))
                elif isinstance(v, ModuleType) and v.__name__ in self.number:
                    self.modules.append((k, name, self.number[v.__name__]))

    def _numbers(self, table: dict[Any, Any]) -> dict[Any, int]:
        return {n: self.at[f] for n, f in table.items() if self._is_copied(f)}

    def _is_copied(self, value: Any) -> bool:
        return isinstance(value, FunctionType) and value in self.at

    def _recipe(self, f: FunctionType, origin: Part) -> Recipe:
        around = [c.cell_contents for c in f.__closure__ or ()]
        cells = tuple((j, self.at[v]) for j, v in enumerate(around) if self._is_copied(v))
        # By what it stands for, tables and caches know a copy.
        attributes = {**vars(origin), "__wrapped__": getattr(origin, "__wrapped__", origin)}
        space = self.number.get(f.__globals__.get("__name__", ""))
        return Recipe(
            f.__code__,
            f.__globals__,
            space,
            f.__name__,
            f.__module__,
            f.__defaults__,
            f.__closure__,
            cells,
            f.__kwdefaults__,
            attributes,
        )


class _Quiet:
    """What nobody is told of when a class is made of it."""

    def __init_subclass__(cls) -> None:
        pass


class Copy:
    """Functions of the specification over names of their own.

    Attributes:
        plan: how it was made.
        spaces: the names, by module.
        session: what the session that they are made for keeps.
        parts: the copies.
        edited: what stands in the place of others.
    """

    def __init__(self, plan: Plan, edits: Edits) -> None:
        self.plan = plan
        self.session: Names = {}
        self.spaces = spaces = [names.copy() for names in plan.spaces]
        functions = [_made(r, spaces) for r in plan.recipes]
        for r, f in zip(plan.recipes, functions, strict=True):
            for j, k in r.cells:
                (f.__closure__ or ())[j].cell_contents = functions[k]
        self.parts: list[Any] = [*functions]
        made = self.parts
        for kind, methods in plan.kinds:
            own = {n: functions[k] for n, k in methods.items()}
            made.append(type(kind)(kind.__name__, (_Quiet, kind), {**own, "__module__": kind.__module__}))
        for at, name, k in plan.copies:
            spaces[at][name] = made[k]
        for at, name, table, of in plan.tables:
            spaces[at][name] = {**table, **{n: made[k] for n, k in of.items()}}
        for at, name, k in plan.modules:
            spaces[at][name] = _module(spaces[k])
        known = {module: spaces[k] for module, k in plan.number.items()} if edits else {}
        self.edited: dict[Part, Any] = {f: make(known) for f, make in edits.items() if f.__module__ in known}
        for one, other in self.edited.items():
            for at, name in plan.places.get(one, ()):
                spaces[at][name] = other

    @property
    def origins(self) -> dict[Part, Part]:
        """By copy the function of the specification."""
        return {self.parts[k]: self.plan.origins[f] for f, k in self.plan.at.items()}

    def of(self, part: Part) -> Any:
        """The copy of a function or a class; itself where it has none."""
        k = self.plan.at.get(part)
        return part if k is None else self.parts[k]

    def give_up(self) -> None:
        """Its session is over: functions, names and the session no longer hold one another."""
        for names in (*self.spaces, self.session):
            names.clear()

    @contextmanager
    def behind(self, around: Around) -> Iterator[None]:
        """Functions stand behind others, wherever they are known, until the block ends.

        Args:
            around: by the function as the specification has it, what makes the other one from what stands there, which
                may be an edit already.
        """
        for one in around:
            assert _may_stand_behind(one), f"{one.__module__}.{one.__name__} is not copied: name it in GROUND"
        places = [(wrap, self.spaces[at], n) for f, wrap in around.items() for at, n in self.plan.places.get(f, ())]
        before = [names[n] for _, names, n in places]
        try:
            for (wrap, names, n), there in zip(places, before, strict=True):
                names[n] = wrap(there)
            yield
        finally:
            for (_, names, n), there in zip(places, before, strict=True):
                names[n] = there


def copied(
    parts: Sequence[Part],
    change: Callable[[Spaces], None],
    origins: Mapping[Part, Part] | None = None,
) -> Copy:
    """A copy of all that some parts reach, over names that are changed: a mapping for each module."""
    copy = Copy(Reach(parts, origins or {}).whole(), {})
    change({module: copy.spaces[k] for module, k in copy.plan.number.items()})
    return copy


def _made(r: Recipe, spaces: Sequence[Names]) -> FunctionType:
    closure = r.closure
    if r.cells and closure:
        own = [*closure]
        for j, _ in r.cells:
            own[j] = CellType()
        closure = tuple(own)
    names = r.names if r.space is None else spaces[r.space]
    f = FunctionType(r.code, names, r.name, r.defaults, closure)
    f.__kwdefaults__ = r.named
    f.__dict__, f.__module__ = r.attributes, r.module
    return f


class _Module:
    """What stands for a module: names as attributes."""


def _module(names: Names) -> _Module:
    module = _Module()
    module.__dict__ = names
    return module
