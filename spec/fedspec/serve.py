"""Serve a Python adapter as JSON lines: ``python -m fedspec.serve module:attribute`` (or ``file.py:attribute``).

The judge runs every adapter in a process of its own, so that it can stop one that hangs or crashes. The adapter's
printed output goes to standard error; standard output carries only answers.
"""

from __future__ import annotations

import base64
import functools
import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from fedspec.contract import Case, Event, Subject
from fedspec.errors import ContractError
from fedspec.wire import PROTOCOL, decode_case, decode_event, decode_request, encode


def load(reference: str) -> Subject:
    """Load an adapter from ``module:attribute``, ``file.py:attribute``, or ``file.py`` if the file has only one.

    A class or function is called without arguments.

    Raises:
        ContractError: the adapter can't be imported, or lacks an adapter's methods.
    """
    alone = reference.endswith(".py")
    where, _, name = (reference, "", "") if alone else reference.rpartition(":")
    if not where or not (name or alone):
        raise ContractError(f"adapter: {reference!r} is not of the form module:attribute or file.py:attribute")
    try:
        if where.endswith(".py"):
            path = Path(where).resolve()
            if not path.is_file():
                raise ContractError(f"adapter: there is no file {where}; give the path of the adapter")
            module = _run(path)
        else:
            _search(os.getcwd())
            module = importlib.import_module(where)
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(
            f"adapter: cannot import {where}: {type(error).__name__}: {error}; "
            f"check the path and that its packages are installed for {sys.executable}"
        ) from error
    there = [n for n, s in vars(module).items() if hasattr(s, "info") and callable(getattr(s, "start", None))]
    said = ", ".join(there) or "none has `info` and `start`"
    if alone:
        # A class beside its instance is the same subject.
        kinds = {type(vars(module)[n]) for n in there}
        own = [n for n in there if vars(module)[n] not in kinds]
        if not own:
            raise ContractError(
                f"adapter: {where} holds no adapter, an object with `info` and `start`; "
                "`fedspec adapter ALGORITHM` writes one"
            )
        if len(own) != 1:
            raise ContractError(f"adapter: {where} has several; choose one, as in {where}:NAME; its adapters: {said}")
        (name,) = own
    if not hasattr(module, name):
        raise ContractError(f"adapter: {where} has no attribute {name!r}; its adapters: {said}")
    subject = getattr(module, name)
    if not hasattr(subject, "start") or isinstance(subject, type):
        subject = subject()
    if not hasattr(subject, "info") or not callable(getattr(subject, "start", None)):
        raise ContractError(f"adapter: {reference} needs an attribute `info` and a method `start(case)`")
    return subject  # type: ignore[no-any-return]


def _search(folder: str) -> None:
    """Import from a folder before installed packages, but after the standard library: it may contain a json.py."""
    installed = [i for i, p in enumerate(sys.path) if Path(p).name in {"site-packages", "dist-packages"}]
    sys.path.insert(min(installed, default=len(sys.path)), folder)


class _AsWritten(importlib.machinery.SourceFileLoader):
    """Loader that always recompiles a file, since a cached file of equal size and second would count as equal."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _run(path: Path) -> Any:
    """The module in a file, under its own name unless that is taken."""
    _search(str(path.parent))
    taken = path.stem in sys.stdlib_module_names or path.stem in sys.modules
    name = f"subject_{path.stem}" if taken else path.stem
    found = importlib.util.spec_from_file_location(name, path, loader=_AsWritten(name, str(path)))
    if found is None or found.loader is None:
        raise ContractError(f"adapter: {path} cannot be imported; give the path of a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


class _Server:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.sessions: dict[int, Observed] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        key = int(request.get("session", 0))
        match request["cmd"]:
            case "hello":
                return {"protocol": PROTOCOL, "info": encode(self.subject.info)}
            case "start":
                self.sessions[key] = Observed(self.subject, decode_case(request["case"]))
                return {}
            case "step":
                if key not in self.sessions:
                    raise ContractError(f"step: there is no session {key}; start it first")
                session = self.sessions[key]
                return {"answer": encode(session.step(decode_event(request["event"], session.case.dtype)))}
            case "save":
                return {"saved": base64.b64encode(self.sessions[key].save()).decode()}
            case "restore":
                self.sessions[key].restore(base64.b64decode(request["saved"]))
                return {}
        self.sessions.pop(key, None)
        return {}


_INSTALLED = (*(Path(sysconfig.get_path(n)) for n in ("stdlib", "purelib", "platlib")), Path(__file__).parent)
"""Folders of installed packages, of Python and of fedspec."""

KEPT = 16
"""Number of past events whose arrays are still checked for in-place changes; limited since a session may be long."""


class Observed:
    """Wrapper of an adapter's session that detects in-place changes of the arrays passed to it."""

    def __init__(self, subject: Subject, case: Case) -> None:
        self.case = case
        given: dict[str, object] = {"x0": case.x0, "problem": case.problem, "buffers": case.buffers}
        self.handed = {name: (value, _fingerprint(value)) for name, value in given.items()}
        self.session = subject.start(case)
        self.events = 0

    def step(self, event: Event) -> dict[str, Any]:
        """Take a step; add to the answer the dtype of ``x``, which JSON lacks, and the inputs changed in place.

        Raises:
            ContractError: the answer is not a mapping with the key ``x``.
        """
        self.events += 1
        self.handed[f"event {self.events}"] = event, _fingerprint(event)
        self.handed.pop(f"event {self.events - KEPT - 1}", None)
        answer: object = self.session.step(event)
        if not isinstance(answer, Mapping) or "x" not in answer:
            keys = f" with keys {', '.join(map(str, answer)) or 'none'}" if isinstance(answer, Mapping) else ""
            raise ContractError(
                f"step: returned {type(answer).__name__}{keys}; return a mapping with at least the key 'x', the model"
            )
        x = answer["x"]
        arrays = list(x.values()) if isinstance(x, Mapping) else list(x) if isinstance(x, list | tuple) else [x]
        dtypes = sorted({str(getattr(a, "dtype", "")) for a in arrays})
        changed = [name for name, (given, before) in self.handed.items() if _fingerprint(given) != before]
        return {
            **answer,
            "dtype": None if "" in dtypes else ", ".join(dtypes),
            "touched": f"arrays that were handed in were changed in place: {', '.join(changed)}" if changed else "",
        }

    def save(self) -> bytes:
        """Return the bytes that the session saves.

        Raises:
            ContractError: ``save`` doesn't return bytes, or the session has no ``save``.
        """
        saved: object = _method(self.session, "save")()
        if not isinstance(saved, bytes | bytearray):
            raise ContractError(f"save: returned {type(saved).__name__}; return bytes, such as those of pickle.dumps")
        return bytes(saved)

    def restore(self, saved: bytes) -> None:
        """Pass bytes that another session saved to the session's ``restore``."""
        _method(self.session, "restore")(saved)


def _method(session: Any, name: str) -> Any:
    """A method that a claim promises by ``resumes``.

    Raises:
        ContractError: the session has no method of that name.
    """
    if not callable(method := getattr(session, name, None)):
        raise ContractError(
            f"{name}: the claim has resumes=True, but its session has no method {name!r}; see docs/resume.md"
        )
    return method


def _fingerprint(value: Any) -> Any:
    """The bytes of every array in a record: what changes when one of them is written to."""
    # Asked of up to KEPT events at every step, so what a class is is looked up, not found out again.
    match _nature(value.__class__):
        case "array":
            return value.tobytes()
        case "mapping":
            return [_fingerprint(v) for v in value.values()]
        case "sequence":
            return [_fingerprint(v) for v in value]
        case "plain":
            return value
        case names:
            return [_fingerprint(getattr(value, name)) for name in names]


@functools.cache
def _nature(kind: type) -> str | tuple[str, ...]:
    """Kind of an instance of a class: array, mapping, sequence or plain; for a record, the names of its fields."""
    if issubclass(kind, np.ndarray):
        return "array"
    if issubclass(kind, Mapping):
        return "mapping"
    if issubclass(kind, list | tuple):
        return "sequence"
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else "plain"


def place_of(error: Exception) -> str:
    """File and line of the user's code that raised an exception, for a message; empty for fedspec's own errors."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, ContractError) or not frames:
        return ""
    # What NumPy raises deep inside itself was asked for by a line of the user's.
    own = [f for f in frames if not any(Path(f.filename).is_relative_to(folder) for folder in _INSTALLED)]
    last = (own or frames)[-1]
    return f" ({Path(last.filename).name}, line {last.lineno})"


def serve(subject: Subject, lines: Iterable[str | bytes], out: TextIO) -> None:
    """Answer requests until the input ends, that is, until the judge exits."""
    server = _Server(subject)
    for line in lines:
        if not line.strip():
            continue
        try:
            reply = json.dumps({"ok": True, **server.answer(decode_request(line))})
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}{place_of(error)}".split())
            reply = json.dumps({"ok": False, "error": said[:500], "detail": traceback.format_exc()[-4000:]})
        out.write(reply + "\n")
        out.flush()


def main(arguments: list[str] | None = None) -> int:
    """Load the adapter named on the command line and serve it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m fedspec.serve module:attribute | file.py:attribute\n")
        return 2
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # Whatever the subject or its libraries print, from Python or from C, must not mix with the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Nor may it read the requests.
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    try:
        subject = load(arguments[0])
    except Exception as error:
        said = str(error) if isinstance(error, ContractError) else f"{type(error).__name__}: {error}"
        out.write(json.dumps({"ok": False, "error": said, "detail": traceback.format_exc()[-4000:]}) + "\n")
        out.flush()
        return 2
    serve(subject, requests, out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
