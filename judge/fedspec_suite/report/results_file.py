"""Results as JSON lines: written by ``fedspec check --report FILE``, read by ``fedspec report``.

A line is a JSON object about one offer: what ``--json`` prints. Fields may be added under the same number of the form;
a reader leaves alone what it does not know, and a field that an earlier line lacks is empty.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fedspec import __version__
from fedspec.errors import ContractError, FedspecError
from fedspec.parsing import TooDeep, parse_json
from fedspec.schema import refuse, said
from fedspec_suite.judge.equation_coverage import compared_quantities
from fedspec_suite.judge.request import Request
from fedspec_suite.judge.runner import conclude
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.verdict import Conformity, Course, Deviation, Obligation, Result, Status, Unseen

SCHEMA = 1
"""Version of the line format; it grows with each change that an older reader would misread."""

WANTED = "want what `fedspec check ADAPTER --report FILE.jsonl` writes"

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """Metadata of the run that a line comes from.

    Attributes:
        fedspec: the version of the judge.
        python: version of Python.
        numpy: likewise.
        date: the day, in ISO's form.
        profile: profile of the run, which decides the number of cases.
        seed: seed of the drawn cases.
        law: the patterns of the laws that were asked; ``*``: all.
    """

    fedspec: str = ""
    python: str = ""
    numpy: str = ""
    date: str = ""
    profile: str = ""
    seed: int | None = None
    law: str = "*"

    @property
    def said(self) -> str:
        """Description of the run on one line; fields that an older file lacks are left out."""
        judge = f"fedspec {self.fedspec}" if self.fedspec else ""
        beside = ", ".join(f"{n} {v}" for n, v in (("Python", self.python), ("NumPy", self.numpy)) if v)
        seed = "" if self.seed is None else f"seed {self.seed}"
        parts = (judge, beside, f"profile {self.profile}" if self.profile else "", seed, self.asked, self.date)
        return ", ".join(filter(None, parts)) or "nothing is told of the run"

    @property
    def asked(self) -> str:
        """Words for the laws to which the run was limited; empty if all laws ran."""
        return "" if self.law == "*" else f"only the checks {self.law}"


@dataclass(frozen=True)
class ResultsFile:
    """File of results, with the run of each result.

    Attributes:
        name: name of the file.
        results: its offers.
        runs: the run of each.
    """

    name: str
    results: tuple[Result, ...]
    runs: tuple[Run, ...]


def run_of(request: Request) -> Run:
    """Return the metadata of the run that a request starts."""
    return Run(
        fedspec=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        date="" if request.today is None else request.today.isoformat(),
        profile=request.profile,
        seed=request.seed,
        law=request.law,
    )


def line(result: Result, run: Run) -> dict[str, Any]:
    """Return the JSON object of a result's line."""
    told = {f.name: getattr(run, f.name) for f in fields(run)}
    return {"schema": SCHEMA, "run": told, **result.record()}


def read(path: Path) -> ResultsFile:
    """Read a file of results.

    Raises:
        FedspecError: it cannot be read, or a line is not what a line should be.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FedspecError(f"report: cannot read {path} ({error.strerror}); {WANTED}") from error
    except UnicodeDecodeError as error:
        raise FedspecError(f"report: {path}: it is no text in UTF-8; {WANTED}") from error
    numbered = [(k, one) for k, one in enumerate(_lines(text), 1) if one.strip()]
    if not numbered:
        raise FedspecError(f"report: {path}: it has no line; {WANTED}")
    found = [_line(one, f"report: {path}: line {k}") for k, one in numbered]
    return ResultsFile(str(path), tuple(result for result, _ in found), tuple(run for _, run in found))


def _lines(text: str) -> list[str]:
    """The lines of a file; the objects of a list, which is what ``fedspec check --json`` prints."""
    if text.lstrip().startswith("["):
        with suppress(ValueError):
            return [json.dumps(one) for one in parse_json(text)]
    return text.split("\n")


def _line(text: str, where: str) -> tuple[Result, Run]:
    try:
        # Reasons began with other words earlier.
        body = parse_json(text.replace('"not offered: ', '"skipped: ').replace('"subject: ', '"adapter: '))
    except TooDeep as error:
        raise FedspecError(f"{where}: {error}; {WANTED}") from error
    except ValueError as error:
        raise FedspecError(f"{where}: it is cut off or no JSON ({error}); {WANTED}") from error
    try:
        if not isinstance(body, dict):
            raise refuse("it", body, "an object about one claim")
        form = body.get("schema", 0)
        if not isinstance(form, int) or isinstance(form, bool) or form < 0:
            raise refuse("schema", form, f"a whole number up to {SCHEMA}")
        if form > SCHEMA:
            raise ContractError(
                f"its schema is {form}, and fedspec {__version__} reads schemas up to {SCHEMA}; "
                f"take the fedspec that wrote it, or"
            )
        if "obligations" not in body:
            raise ContractError("it has no obligations")
        result, run = _record(Result, body, ""), _record(Run, body.get("run", {}), "run")
        result = result if "unasked" in body else _restricted(result, run)
        _check_follows(result, told="seen" in body)
        return result, run
    except ContractError as error:
        raise FedspecError(f"{where}: {error}{'' if str(error).endswith(', or') else ';'} {WANTED}") from error


def _restricted(result: Result, run: Run) -> Result:
    """Result of an earlier fedspec, which reported that an offer conforms even if only some laws were asked."""
    if run.law == "*" or result.verdict not in {Conformity.CONFORMS, Conformity.IN_PART}:
        return result
    return replace(result, verdict=Conformity.ASKED_IN_PART, profile=run.profile)


def _check_follows(r: Result, told: bool) -> None:
    """Refuse a line whose verdict or counts do not follow from its obligations: it was edited, or is of a fault.

    Args:
        r: the line.
        told: True if the line lists the seen parts of the claim; lines of earlier versions do not.

    Raises:
        ContractError: the verdict or the counts do not follow.
    """
    verdict, *counts = conclude([*r.obligations])
    if verdict is Conformity.CONFORMS and (r.unasked or r.verdict is Conformity.ASKED_IN_PART):
        verdict = Conformity.ASKED_IN_PART
    elif verdict is Conformity.CONFORMS and r.verdict in {Conformity.CONFORMS, Conformity.IN_PART}:
        if told:
            verdict = Conformity.CONFORMS if r.seen and not r.unseen else Conformity.IN_PART
            known = all(o.law in LAWS for o in r.obligations if o.reads)
            if known and (beyond := {*r.seen} - {*compared_quantities(r.obligations)}):
                raise ContractError(f"seen: got {', '.join(sorted(beyond))}, which no passed check compares")
        else:
            verdict = r.verdict
    if r.verdict is not verdict:
        raise ContractError(f"verdict: got {r.verdict}; its checks give {verdict}")
    for name, count in zip(("passed", "exercised", "required"), counts, strict=True):
        if getattr(r, name) != count:
            raise ContractError(f"{name}: got {getattr(r, name)}; its checks give {count}")


def _record(kind: type[T], value: Any, where: str) -> T:
    """A record from its JSON, field by field as its annotations say."""
    if not isinstance(value, dict):
        raise refuse(where, value, "an object")
    given = {}
    for field in fields(kind):  # type: ignore[arg-type]
        at = f"{where}.{field.name}" if where else field.name
        if field.name in value and str(field.type) in _READ:
            given[field.name] = _READ[str(field.type)](value[field.name], at)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ContractError(f"it has no {at}")
    return kind(**given)


def _is(kind: type, words: str, value: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise refuse(where, value, words)
    return value


def _number(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise refuse(where, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise refuse(where, value, "a number that float64 can hold") from None


def _one_of(kind: type[Status] | type[Conformity], value: Any, where: str) -> Any:
    if value not in [*kind]:
        raise ContractError(f"{where}: got {said(value)}; want one of {', '.join(kind)}")
    return kind(value)


def _or_none(read: Callable[[Any, str], Any], value: Any, where: str) -> Any:
    return None if value is None else read(value, where)


def _each(read: Callable[[Any, str], Any], value: Any, where: str) -> tuple[Any, ...]:
    return tuple(read(v, f"{where}[{k}]") for k, v in enumerate(_is(list, "a list", value, where)))


def _named(read: Callable[[Any, str], Any], value: Any, where: str) -> dict[str, Any]:
    return {n: read(v, f"{where}.{n}") for n, v in _is(dict, "an object", value, where).items()}


def _span(value: Any, where: str) -> tuple[float, ...]:
    found = _each(_number, value, where)
    if len(found) != 2:
        raise refuse(where, value, "two numbers: the least and the greatest")
    return found


def _course(value: Any, where: str) -> Course:
    """A course that can be drawn: as many numbers as events, none of them negative or infinite."""
    c = _record(Course, value, where)
    if not len(c.where) == len(c.off) == len(c.allowed) > 0:
        raise ContractError(
            f"{where}: got {len(c.where)}, {len(c.off)} and {len(c.allowed)} events; want as many of each"
        )
    for name, numbers in (("off", c.off), ("allowed", c.allowed)):
        for k, number in enumerate(numbers):
            if not 0 <= number < math.inf:
                raise refuse(f"{where}.{name}[{k}]", number, "a finite number >= 0")
    return c


_TEXT: Callable[[Any, str], Any] = partial(_is, str, "a string")
_WHOLE: Callable[[Any, str], Any] = partial(_is, int, "a whole number")

_READ: Mapping[str, Callable[[Any, str], Any]] = {
    "str": _TEXT,
    "int": _WHOLE,
    "int | None": partial(_or_none, _WHOLE),
    "bool": partial(_is, bool, "true or false"),
    "float": _number,
    "float | None": partial(_or_none, _number),
    "Status": partial(_one_of, Status),
    "Conformity": partial(_one_of, Conformity),
    "Extent": partial(_named, _span),
    "dict[str, str]": partial(_named, _TEXT),
    "dict[str, float]": partial(_named, _number),
    "tuple[str, ...]": partial(_each, _TEXT),
    "tuple[int, ...]": partial(_each, _WHOLE),
    "tuple[float, ...]": partial(_each, _number),
    "tuple[dict[str, Any], ...]": partial(_each, partial(_is, dict, "an object")),
    "tuple[Obligation, ...]": lambda value, where: _each(partial(_record, Obligation), value, where),
    "tuple[Unseen, ...]": lambda value, where: _each(partial(_record, Unseen), value, where),
    "Deviation | None": lambda value, where: _or_none(partial(_record, Deviation), value, where),
    "Course | None": lambda value, where: _or_none(_course, value, where),
}
"""Parsers by annotation; types without an entry, such as the case of a law, are in no file."""


def differing(runs: Sequence[Run]) -> list[Run]:
    """Remove duplicate runs; the order stays."""
    return list(dict.fromkeys(runs))
