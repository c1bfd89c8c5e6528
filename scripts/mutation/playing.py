"""Run of the bundled vectors on a mutated specification, in a forked process in which functions' code is replaced."""

from __future__ import annotations

import functools
import gc
import os
import resource
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
from mutation.edits import Edit, lines_of, modules, path_of, source

from fedspec.contract import Offer
from fedspec.reference import SUBJECT
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Status
from fedspec_suite.vectors.checker import fits, play
from fedspec_suite.vectors.rows import offers
from fedspec_suite.vectors.store import load
from fedspec_suite.vectors.vector import Vector

DTYPE = "float64"
"""Type in which vectors run: every vector supports it, and it has the smallest tolerance."""

PATIENCE, LEAST, MEMORY = 20, 5, 8 << 30
"""Limits of a child: CPU time as a multiple of the rule's, extra CPU seconds, and bytes of memory."""


class Fate(StrEnum):
    """Outcome of an edit."""

    OTHER = "gives other numbers"
    RAISES = "raises an exception"
    ENDLESS = "does not end"
    SURVIVES = "survives"
    IDLE = "runs at import alone"
    NO_EDIT = "is no Python"
    FAULT = "could not be played"


_FATES = list(Fate)
KILLED = (Fate.OTHER, Fate.RAISES, Fate.ENDLESS)


@dataclass(frozen=True, eq=False)
class Ready:
    """Vector that is ready to run, with the functions that it calls.

    Attributes:
        vector: the vector.
        bench: the specification, behind the offer that the vector is for.
        setting: setting of the offer.
        seconds: processor time of the rule, in seconds.
        runs: the functions of rule modules that it calls: their files and first lines.
    """

    vector: Vector
    bench: Bench
    setting: Setting
    seconds: float
    runs: frozenset[tuple[str, int]]


def ready(algorithms: Sequence[str] | None = None) -> list[Ready]:
    """Return every vector, after running it once on the unchanged specification.

    Raises:
        SystemExit: the specification itself fails one, so that nothing could be learnt from failures.
    """
    found, subject = [], InProcess(SUBJECT)
    by_id: dict[str, list[tuple[Offer, Setting]]] = defaultdict(list)
    for offer in offers():
        by_id[offer.algorithm].append((offer, setting_of(offer, DTYPE)))
    for stored in load(algorithms=algorithms):
        for vector in stored.vectors:
            offer, setting = next(pair for pair in by_id[stored.algorithm] if not fits(*pair, vector))
            found.append(_measured(vector, bench_of(subject, offer, setting), setting))
    # Once here instead of in every child.
    _living()
    return found


def _measured(vector: Vector, bench: Bench, setting: Setting) -> Ready:
    files, runs = {path_of(m) for m in modules()}, set[tuple[str, int]]()

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename in files:
            runs.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    if play(bench, setting, vector).obligation.status is not Status.PASS:
        raise SystemExit(f"mutate: the specification itself fails {vector['id']}; see `fedspec vectors check spec`")
    begun = time.process_time()
    sys.setprofile(watch)
    try:
        play(bench, setting, vector)
    finally:
        sys.setprofile(None)
    return Ready(vector, bench, setting, time.process_time() - begun, frozenset(runs))


def calling(module: str, function: str, vectors: Sequence[Ready]) -> list[Ready]:
    """Return the vectors that call a function."""
    path, lines = path_of(module), lines_of(module, function)
    return [r for r in vectors if any(file == path and line in lines for file, line in r.runs)]


def reaching(edit: Edit, vectors: Sequence[Ready]) -> list[Ready]:
    """Return the vectors that call the edited function: the fastest of each algorithm first, then the next of each."""
    found = calling(edit.module, edit.function, vectors)
    ranks = dict[str, int]()
    order = []
    for r in sorted(found, key=lambda r: r.seconds):
        name = r.vector["case"]["algorithm"]
        ranks[name] = ranks.get(name, 0) + 1
        order.append((ranks[name], len(order), r))
    return [r for *_, r in sorted(order, key=lambda item: item[:2])]


def fate(edit: Edit, vectors: Sequence[Ready]) -> Fate:
    """Run vectors on an edit until the first one fails, and return the outcome."""
    _compiled(edit.module)
    child = os.fork()
    if child == 0:
        status = _FATES.index(Fate.FAULT)
        try:
            status = _FATES.index(_child(edit, vectors))
        finally:
            # Whatever happened, nothing of the parent is run to its end here.
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return Fate.ENDLESS if os.WIFSIGNALED(status) else _FATES[os.WEXITSTATUS(status)]


def _child(edit: Edit, vectors: Sequence[Ready]) -> Fate:
    seconds = int(LEAST + PATIENCE * sum(r.seconds for r in vectors))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    gc.disable()
    try:
        if not _exchange(edit):
            return Fate.IDLE
    except SyntaxError:
        return Fate.NO_EDIT
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for r in vectors:
            try:
                status = play(r.bench, r.setting, r.vector).obligation.status
            except Exception:
                return Fate.RAISES
            if status in (Status.FAIL, Status.ERROR):
                return Fate.OTHER if status is Status.FAIL else Fate.RAISES
    return Fate.SURVIVES


def _exchange(edit: Edit) -> bool:
    """Give functions the code of the edited text, whoever holds them, and forget results; whether one was there."""
    old, new = _codes(_compiled(edit.module)), _codes(_code(edit.module, edit.applied()))
    # An edit may take a nested function away; those that stay are told by their names and their order.
    instead = {a: b for name in old for a, b in zip(old[name], new[name], strict=False) if a != b}
    functions, caches = _living()
    found = [f for code in instead for f in functions[code]]
    for f in found:
        f.__code__ = instead[f.__code__]
    for cache in caches:
        cache.cache_clear()
    return bool(found)


def _code(module: str, text: str) -> CodeType:
    return compile(text, path_of(module), "exec", dont_inherit=True)


@functools.cache
def _compiled(module: str) -> CodeType:
    return _code(module, source(module))


@functools.cache
def _living() -> tuple[Mapping[CodeType, Sequence[FunctionType]], Sequence[Any]]:
    """The functions of the rule modules, by their code, and everything in ``fedspec`` that remembers results."""
    files = {path_of(m) for m in modules()}
    functions: dict[CodeType, list[FunctionType]] = defaultdict(list)
    caches = []
    for thing in gc.get_objects():
        # What isinstance asks a proxy of something that is gone is an error.
        if type(thing) is FunctionType and thing.__code__.co_filename in files:
            functions[thing.__code__].append(thing)
        elif hasattr(type(thing), "cache_clear") and str(getattr(thing, "__module__", "")).startswith("fedspec."):
            caches.append(thing)
    return functions, caches


def _codes(code: CodeType) -> dict[str, list[CodeType]]:
    """A piece of code and all pieces in it, in their order, by name."""
    found: dict[str, list[CodeType]] = defaultdict(list)
    found[code.co_qualname].append(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            for name, codes in _codes(inner).items():
                found[name] += codes
    return found
