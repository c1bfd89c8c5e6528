"""File format of a capsule: one JSON object with the failures of an offer, sealed by a digest of the other fields."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from fedspec import __version__
from fedspec.contract import Offer, SubjectInfo
from fedspec.errors import ContractError
from fedspec.parsing import TooDeep, parse_json
from fedspec.schema import check, said
from fedspec.wire import encode
from fedspec_suite.judge.capsules.codec import DTYPES, decoded, encoded
from fedspec_suite.measure.verdict import Deviation, format_declaration

VERSION = 1

LARGEST = 64 << 20
"""Largest file size that is read, in bytes."""

AGAIN = "make it again with `fedspec check ADAPTER --capsules FOLDER`"


_NONE = type(None)


@dataclass(frozen=True)
class Failure:
    """Failed obligation, with its case and the calls that show the failure.

    Attributes:
        law: its id.
        dtype: the floating-point type, or ``any``.
        deviation: the deviation that was found.
        case: the case of the law that shows it; none where the law has none.
        calls: the calls of the subject in that case, with its answers, in the wire's form.
    """

    law: str
    dtype: str
    deviation: Deviation | None
    case: Any = None
    calls: tuple[dict[str, Any], ...] = ()

    @property
    def id(self) -> str:
        """Identifier: law and floating-point type."""
        return f"{self.law}/{self.dtype}"


@dataclass(frozen=True)
class Capsule:
    """Failures of one offer, with the subject and the version of fedspec.

    Attributes:
        fedspec: the version that wrote it.
        implementation: the subject, as it was typed.
        subject: its name.
        version: its version.
        offer: the judged offer.
        failures: the failed obligations.
    """

    fedspec: str
    implementation: str
    subject: str
    version: str
    offer: Offer
    failures: tuple[Failure, ...]


def failure_as_data(failure: Failure) -> dict[str, Any]:
    """Return a failure as JSON values.

    Raises:
        ContractError: its case holds a value of a kind that no capsule can.
    """
    deviation = None if failure.deviation is None else {n: encoded(v) for n, v in asdict(failure.deviation).items()}
    return {
        "law": failure.law,
        "dtype": failure.dtype,
        "deviation": deviation,
        "case": encoded(failure.case),
        "calls": list(failure.calls),
    }


def body(implementation: str, info: SubjectInfo, offer: Offer, failures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a whole capsule as JSON values, with its digest."""
    whole = {
        "capsule": VERSION,
        "fedspec": __version__,
        "implementation": implementation,
        "subject": info.name,
        "version": info.version,
        "offer": encode(offer),
        "failures": list(failures),
    }
    return {**whole, "digest": digest(whole)}


def digest(whole: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON text of all fields except the digest.

    Raises:
        ValueError: it holds a number that JSON does not have.
    """
    rest = {name: value for name, value in whole.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def stem(implementation: str, info: SubjectInfo, offer: Offer, among: Sequence[Offer], number: int) -> str:
    """Return the file name of an offer's capsule; the same offer always gets the same name."""
    twin = sum(o == offer for o in among[:number])
    who = json.dumps([implementation, offer.variant, offer.algorithm, offer.level, format_declaration(offer), twin])
    words = "-".join(filter(None, (info.name, offer.variant, offer.algorithm, offer.level, offer.reading)))
    safe = re.sub(r"[^a-z0-9._]+", "-", words.lower()).strip("-.")
    return f"{safe[:80]}-{hashlib.sha256(who.encode()).hexdigest()[:8]}"


def read(path: Path) -> Capsule:
    """Read a capsule; reading imports, looks up and runs nothing that the file names.

    Raises:
        ContractError: it cannot be read, is cut off, of another version, edited, or holds what no capsule does.
    """
    try:
        with path.open("rb") as file:
            # The size that the system tells is not asked: that of a device or a pipe is zero.
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ContractError(f"is larger than {LARGEST >> 20} MB")
        return _capsule(_parsed(data))
    except OSError as error:
        raise ContractError(f"capsule: cannot read {path} ({error.strerror}); give a file that exists") from error
    except ContractError as error:
        raise ContractError(f"capsule: {path}: {error}{'' if str(error).endswith(', or') else ';'} {AGAIN}") from error


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        whole = parse_json(data, parse_constant=_constant, object_pairs_hook=_once)
    except TooDeep as error:
        raise ContractError(str(error)) from error
    except ValueError as error:
        raise ContractError(f"it is cut off or no JSON in UTF-8 ({' '.join(str(error).split())[:120]})") from error
    if not isinstance(whole, dict) or "capsule" not in whole:
        raise ContractError("it is no capsule, which is an object with the field 'capsule'")
    if whole["capsule"] != VERSION or isinstance(whole["capsule"], bool):
        raise ContractError(
            f"it is of version {said(whole['capsule'])}, and fedspec {__version__} reads version {VERSION}; "
            f"play it with the fedspec that wrote it, or"
        )
    try:
        found = digest(whole)
    except ValueError as error:
        raise ContractError("it holds a number that JSON does not have") from error
    if whole.get("digest") != found:
        raise ContractError("its digest doesn't match its content: it was edited or damaged")
    return whole


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a name twice")
    return found


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _fields(value: Any, where: str, kinds: Mapping[str, type | tuple[type, ...]]) -> list[Any]:
    """The fields of an object, which has these, each of its kind, and no others."""
    if not isinstance(value, dict) or sorted(value) != sorted(kinds):
        held = ", ".join(map(said, value)) if isinstance(value, dict) else said(value)
        raise ContractError(f"{where}: got {held}; want an object with {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(value[name], kind) or (isinstance(value[name], bool) and kind is int):
            words = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
            raise ContractError(f"{where}.{name}: got {said(value[name])}; want {words}")
    return [value[name] for name in kinds]


def _capsule(whole: dict[str, Any]) -> Capsule:
    text = dict.fromkeys(("fedspec", "implementation", "subject", "version", "digest"), str)
    kinds = {"capsule": int, **text, "offer": dict, "failures": list}
    _fields(whole, "the capsule", kinds)
    check(whole["offer"], "claim", "offer")
    names = ("nonzero", "intermediates", "dtypes")
    offer = Offer(**{**whole["offer"], **{n: tuple(whole["offer"][n]) for n in names if n in whole["offer"]}})
    if not whole["failures"]:
        raise ContractError("failures: got an empty list; a capsule has at least one")
    failures = tuple(_failure(value, f"failures[{i}]") for i, value in enumerate(whole["failures"]))
    return Capsule(whole["fedspec"], whole["implementation"], whole["subject"], whole["version"], offer, failures)


def _failure(value: Any, where: str) -> Failure:
    kinds: dict[str, Any] = {
        "law": str,
        "dtype": str,
        "deviation": (dict, _NONE),
        "case": (dict, list, _NONE),
        "calls": list,
    }
    law, dtype, deviation, case, calls = _fields(value, where, kinds)
    if dtype not in {"any", *DTYPES} - {"int64"}:
        raise ContractError(f"{where}.dtype: got {said(dtype)}; want float64, float32 or any")
    for i, call in enumerate(calls):
        _call(call, f"{where}.calls[{i}]")
    found = None if deviation is None else _deviation(deviation, f"{where}.deviation")
    return Failure(law, dtype, found, decoded(case, f"{where}.case"), tuple(calls))


def _deviation(value: dict[str, Any], where: str) -> Deviation:
    number = (int, float, dict, _NONE)
    kinds = dict.fromkeys(("got", "want", "ratio"), number)
    words = dict.fromkeys(("equation", "where", "note", "shown"), str)
    _fields(value, where, {**words, **kinds, "component": (int, _NONE)})
    numbers = {n: decoded(value[n], f"{where}.{n}") for n in kinds}
    for name, x in numbers.items():
        if x is not None and (isinstance(x, bool) or not isinstance(x, int | float)):
            raise ContractError(f"{where}.{name}: got {said(value[name])}; want a number")
    whole = decoded(value["component"], f"{where}.component")
    return Deviation(
        **{**value, **{n: None if x is None else float(x) for n, x in numbers.items()}, "component": whole}
    )


def _call(value: Any, where: str) -> None:
    """Refuse what is no call: a session with a case, or with an event and what came of it."""
    if not isinstance(value, dict):
        raise ContractError(f"{where}: got {said(value)}; want an object")
    kinds: dict[str, Any] = {"session": int}
    for name, kind in (("case", dict), ("event", dict), ("answer", dict), ("error", str)):
        if name in value and not (name == "case" and "event" in value):
            kinds[name] = kind
    _fields(value, where, kinds)
    if "case" not in kinds and "event" not in kinds:
        raise ContractError(f"{where}: has neither a case nor an event")
    for name in kinds.keys() & {"case", "event", "answer"}:
        check(value[name], name, f"{where}.{name}")
