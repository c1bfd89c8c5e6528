"""Copies of the specification's functions for one session, over their own namespaces, in which edits can be placed.

A function finds what it calls in the names of its module. So a session has copies of the functions that reach an edit,
over copies of those names, and what is put there is known to nobody else: sessions of different editions may take turns
or run at once, and the modules stay what they are. How to copy is found once; to do it takes microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from fedspec_suite.measure.call_graph import (
    Names,
    Part,
    Reach,
    Spaces,
    is_part,
    is_specified,
    is_table,
    methods_of,
    stands_behind,
)

Around: TypeAlias = Mapping[FunctionType, Callable[[Callable[..., Any]], Callable[..., Any]]]
"""Wrappers by function of the specification: each takes the current function and returns its replacement."""

Edits: TypeAlias = Mapping[FunctionType, Callable[[Spaces], Callable[..., Any]]]
"""Factories of replacements, by the function that is replaced: each takes the namespaces and returns a function."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """Instructions to copy one function: its code, its namespace, and its closure with the copied functions in it."""

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
    """Instructions to copy a set of functions with their namespaces.

    Attributes:
        origins: the specification's function behind each reached function.
        at: the number of each that is copied.
        recipes: instructions for each copied function, in that order.
        spaces: the names that they look up, by module, and in ``number`` that of each module by its name.
        copies: places of copied functions among these names; ``tables`` and ``modules``: places of containers of such
            functions.
        places: by function of the specification, where it is known and under which name; ``entries``: in which tables.
    """

    def __init__(self, reach: Reach, kept: Collection[Part], spaces: Spaces) -> None:
        self.origins = origins = reach.origins
        functions = [f for f in kept if isinstance(f, FunctionType)]
        kinds = [kind for kind in kept if isinstance(kind, type)]
        parts: list[Part] = [*functions, *kinds]
        self.at = {f: k for k, f in enumerate(parts)}
        self.spaces, self.number = [*spaces.values()], {name: k for k, name in enumerate(spaces)}
        self.recipes = [self._recipe(f, origins[f]) for f in functions]
        self.kinds = [(kind, {n: self.at[f] for n, f in methods_of(kind).items() if f in self.at}) for kind in kinds]
        self.copies: list[tuple[int, str, int]] = []
        self.tables: list[tuple[int, str, dict[Any, Any], dict[Any, int]]] = []
        self.modules: list[tuple[int, str, int]] = []
        self.places: dict[Part, list[tuple[int, str]]] = {}
        self.entries: dict[Part, list[tuple[int, str, Any]]] = {}
        for k, names in enumerate(self.spaces):
            for name, v in names.items():
                if isinstance(v, FunctionType) and is_specified(names.get("__name__")):
                    self.places.setdefault(origins.get(v, v), []).append((k, name))
                if is_part(v) and v in self.at:
                    self.copies.append((k, name, self.at[v]))
                elif is_table(v, names):
                    for key, f in v.items():
                        if isinstance(f, FunctionType) and is_specified(f.__module__):
                            self.entries.setdefault(origins.get(f, f), []).append((k, name, key))
                    if of := self._numbers(v):
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


@cache
def plan_of(reach: Reach, edited: frozenset[FunctionType], everything: bool) -> Plan:
    """Return the plan to copy the functions that reach edited ones (or also any that may be wrapped), cached."""
    return Plan(reach, *reach.into(edited, everything))


class _Quiet:
    """Base class that swallows ``__init_subclass__``, so that a copied class triggers no hook."""

    def __init_subclass__(cls) -> None:
        pass


class Copy:
    """Copied functions of the specification, over copied namespaces.

    Attributes:
        plan: the plan of the copies.
        spaces: the names, by module.
        session: names that the session of the copies keeps.
        parts: the copies.
        edited: replacements of edited functions.
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
            # The copy of a copy is quiet already.
            bases = (kind,) if issubclass(kind, _Quiet) else (_Quiet, kind)
            made.append(type(kind)(kind.__name__, bases, {**own, "__module__": kind.__module__}))
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
            for at, name, key in plan.entries.get(one, ()):
                spaces[at][name] = {**spaces[at][name], key: other}

    @property
    def origins(self) -> dict[Part, Part]:
        """Mapping from each copy to the function of the specification."""
        return {self.parts[k]: self.plan.origins[f] for f, k in self.plan.at.items()}

    def of(self, part: Part) -> Any:
        """Return the copy of a function or class; the function itself if it isn't copied."""
        k = self.plan.at.get(part)
        return part if k is None else self.parts[k]

    def give_up(self) -> None:
        """Clear the namespaces after the session, so that functions, namespaces and session form no reference cycle."""
        for names in (*self.spaces, self.session):
            names.clear()

    @contextmanager
    def behind(self, around: Around) -> Iterator[None]:
        """Wrap functions in every namespace that holds them, until the block ends.

        Args:
            around: by the function as the specification has it, what makes the other one from what stands there, which
                may be an edit already.
        """
        for one in around:
            assert stands_behind(one), f"{one.__module__}.{one.__name__} is not copied: name it in GROUND"
        places = [(wrap, self.spaces[at], n) for f, wrap in around.items() for at, n in self.plan.places.get(f, ())]
        before = [names[n] for _, names, n in places]
        try:
            for (wrap, names, n), there in zip(places, before, strict=True):
                names[n] = wrap(there)
            yield
        finally:
            for (_, names, n), there in zip(places, before, strict=True):
                names[n] = there


def copy_parts(
    parts: Sequence[Part],
    change: Callable[[Spaces], None],
    origins: Mapping[Part, Part] | None = None,
) -> Copy:
    """Copy all that the given parts reach, over namespaces that ``change`` edits first (a mapping for each module)."""
    reach = Reach(parts, origins or {})
    copy = Copy(Plan(reach, *reach.whole()), {})
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
    """Substitute for a module, with names as attributes."""


def _module(names: Names) -> _Module:
    module = _Module()
    module.__dict__ = names
    return module
