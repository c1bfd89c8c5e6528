"""Hyper-parameters and readings of an algorithm as one frozen record, checked when it is made."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from typing import ClassVar

from fedspec.domains import DOMAINS, require
from fedspec.errors import ParameterError
from fedspec.readings import choice
from fedspec.records import enlist, introduce

NOT_GIVEN: typing.Any = None
"""Default of a hyper-parameter that is required under some options only."""


@cache
def keywords(rule: Callable[..., typing.Any]) -> tuple[str, ...]:
    """Names of a rule's keyword-only parameters."""
    parameters = inspect.signature(rule).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


@cache
def _types(cls: typing.Any) -> dict[str, typing.Any]:
    return typing.get_type_hints(cls)


class _Asking(type):
    """Error for a record without a required value, as a complete sentence."""

    def __call__(cls, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            there: typing.Any = fields(cls)  # type: ignore[arg-type]
            given = {**dict(zip((f.name for f in there), args, strict=False)), **kwargs}
            if any(f.default is MISSING and f.name not in given for f in there):
                options = {f.name: str(given.get(f.name, f.default)) for f in there}
                _refuse_missing(cls, given, options)
            raise


def _refuse_missing(cls: typing.Any, given: Mapping[str, typing.Any], options: Mapping[str, str]) -> None:
    """Refuse a record without what plays a part under these options and has no default: all of it at once.

    Raises:
        ParameterError: a hyper-parameter without a default is missing; the message lists all of them.
    """
    free = [f.name for f in fields(cls) if f.default in (MISSING, NOT_GIVEN) and f.name not in given]
    if missing := [name for name in free if plays_part(cls.plays, name, options)]:
        them = "it" if len(missing) == 1 else "them"
        under = _under(cls.plays, missing, options)
        raise ParameterError(f"{', '.join(missing)}: not given; {cls.__name__} needs {them}{under}") from None


@dataclass(frozen=True)
class Hyper(metaclass=_Asking):
    """Base class of hyper-parameter records: checks the domains of numbers and converts option strings to enums.

    Attributes:
        plays: conditions, as ``option=value``, under which a hyper-parameter has an effect. If no condition holds,
            fedspec rejects a value other than the default.

    Raises:
        ParameterError: a number is outside its domain, is given without effect under the options, or is required and
            missing.
        UnknownNameError: an option has no such value.
    """

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init_subclass__(cls) -> None:
        enlist(cls)

    def __post_init__(self) -> None:
        introduce()
        cls: typing.Any = type(self)
        for f in fields(self):
            kind = _types(cls)[f.name]
            if isinstance(kind, type) and issubclass(kind, StrEnum):
                object.__setattr__(self, f.name, choice(kind, f.name, getattr(self, f.name)))
            elif f.name in DOMAINS and getattr(self, f.name) is not NOT_GIVEN:
                require(f.name, getattr(self, f.name))
        chosen = {n: str(v) for n, v in vars(self).items() if isinstance(v, StrEnum)}
        _refuse_missing(cls, {n: v for n, v in vars(self).items() if v is not NOT_GIVEN}, chosen)
        for f in fields(self):
            self._check_part(f.name, f.default, chosen)

    def _check_part(self, name: str, default: typing.Any, chosen: Mapping[str, str]) -> None:
        value = getattr(self, name)
        if plays_part(self.plays, name, chosen):
            return
        if value is not NOT_GIVEN if default is NOT_GIVEN else value != default:
            raise ParameterError(
                f"{name}: got {value}, which plays no part{_under(self.plays, [name], chosen)}; "
                f"leave it out, or choose {' or '.join(self.plays[name])}"
            )

    def of(self, rule: Callable[..., typing.Any]) -> dict[str, typing.Any]:
        """Keyword arguments of a rule, taken from the fields of this record with the same names."""
        # What is wrapped around a rule takes what the rule takes, which is looked up once.
        while (inner := getattr(rule, "__wrapped__", None)) is not None:
            rule = inner
        return {n: v for n in keywords(rule) if (v := getattr(self, n, NOT_GIVEN)) is not NOT_GIVEN}


def plays_part(plays: Mapping[str, tuple[str, ...]], name: str, options: Mapping[str, str]) -> bool:
    """True if a hyper-parameter or option has an effect under the options."""
    return name not in plays or any(options[n] == v for n, _, v in (said.partition("=") for said in plays[name]))


def _under(plays: Mapping[str, tuple[str, ...]], names: Sequence[str], options: Mapping[str, str]) -> str:
    about = dict.fromkeys(said.partition("=")[0] for name in names for said in plays.get(name, ()))
    return " under " + ", ".join(f"{n}={options[n]}" for n in about) if about else ""
