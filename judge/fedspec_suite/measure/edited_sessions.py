"""The functions that a row of the catalogue runs, and sessions that run edited copies of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType, MethodType
from typing import Any, TypeAlias, cast

from fedspec.catalogue import Algorithm
from fedspec.contract import Case, Level, Session
from fedspec.functions import Served
from fedspec.reference import session_of
from fedspec_suite.measure.call_graph import Part, Reach, Spaces
from fedspec_suite.measure.function_copies import Copy, Edits, copy_parts, plan_of

Begin: TypeAlias = Callable[[type[Any], Algorithm, Case], Session]
"""Constructor of a session from its class, row and case."""


@dataclass(frozen=True, eq=False)
class Form:
    """Row of the catalogue with the session class and the functions that run it at one level.

    Attributes:
        row: the row.
        kind: the class of its sessions.
        take: function by which a session takes an event, after the clock.
        origins: the specification's part behind each copied part.
    """

    row: Algorithm
    kind: type[Any]
    take: FunctionType
    origins: Mapping[Part, Part] = field(default_factory=dict)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Functions and classes that the row runs."""
        return (self.kind, self.take, *(f for _, f, _ in self._held), *self._deep)

    @cached_property
    def _deep(self) -> dict[Part, Part]:
        """Functions in records and tables that the row holds, mapped to the specification's."""
        found: list[Part] = []
        _deep(self.row.run, found.append)
        return {f: self.origins.get(f, f) for f in found}

    @cached_property
    def reach(self) -> Reach:
        """Call graph from the functions and classes of the row."""
        return Reach(self.parts, self.origins)

    @cached_property
    def _held(self) -> list[tuple[str, Part, Part]]:
        """The functions that the row holds itself and its record, by field, and those of the specification."""
        found = {n: f for n, f in vars(self.row.run).items() if isinstance(f, FunctionType | type)}
        return [(n, f, self.origins.get(f, f)) for n, f in found.items()]

    def of(self, copy: Copy) -> Algorithm:
        """Return the row with its functions replaced by those of a copy, edited functions included."""
        edited, at, made = copy.edited, copy.plan.at, copy.parts
        own = {n: edited.get(of) or made[at[f]] for n, f, of in self._held if of in edited or f in at}
        other = {f: g for f, of in self._deep.items() if (g := edited.get(of) or copy.of(f)) is not f}
        if other:
            own |= _deep(self.row.run, lambda f: other.get(f, f))
        # What is known of the row stays known: it does not hang on the text of its functions.
        return cast(Algorithm, _with(self.row, {"run": _with(self.row.run, own)}) if own else self.row)

    def changed(self, change: Callable[[Spaces], None]) -> Form:
        """Copy the form with changed namespaces, shared by all its sessions; ``change`` gets a mapping per module."""
        copy = copy_parts(self.parts, change, self.origins)
        return Form(self.of(copy), copy.of(self.kind), copy.of(self.take), copy.origins)

    def started(self, case: Case, edits: Edits, everything: bool, begin: Begin) -> Session:
        """Start a session on an edited copy of the functions; the session keeps the copy as ``spec``.

        Args:
            case: the case to run.
            edits: rules that are edited.
            everything: True: functions may be wrapped while it runs.
            begin: constructor of a session, from its class and row.
        """
        copy = Copy(plan_of(self.reach, frozenset(edits), everything), edits)
        session: Any = begin(copy.of(self.kind), self.of(copy), case)
        copy.session = vars(session)
        copy.session.update(spec=copy, take=MethodType(copy.of(self.take), session))
        return session  # type: ignore[no-any-return]


def form_of(row: Algorithm, level: Level) -> Form:
    """Return the form of a row at a level, cached."""
    key = id(row), session_of(row, level)
    if key not in _FORMS:
        kind: Any = key[1]
        # Looked up now, since copies of functions say no types.
        _ = row.parameters
        _FORMS[key] = Form(row, kind, kind.take)
    return _FORMS[key]


_FORMS: dict[tuple[int, type], Form] = {}


def _with(record: Any, changed: Mapping[str, Any]) -> Any:
    """A record with other fields, and with what is remembered of it."""
    new = object.__new__(type(record))
    vars(new).update({**vars(record), **changed})
    return new


def _deep(run: Any, of: Callable[[FunctionType], Any]) -> dict[str, Any]:
    """The records and tables of functions that a row holds, with others in them."""
    out: dict[str, Any] = {}
    for n, v in vars(run).items():
        if isinstance(v, Served):
            out[n] = _with(v, {name: of(f) for name, f in vars(v).items() if isinstance(f, FunctionType)})
        elif isinstance(v, dict):
            out[n] = {key: of(f) if isinstance(f, FunctionType) else f for key, f in v.items()}
    return out
