"""SARIF 2.1.0, which code hosts show beside the code: one result for each unmet obligation."""

from __future__ import annotations

import ast
import hashlib
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fedspec import __version__
from fedspec_suite.judge.expected_failures import Complaint
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.verdict import Obligation, Result, Status
from fedspec_suite.report import sentences
from fedspec_suite.subjects.environments import python_reference

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

EXPECTED = "expected-failures"
"""SARIF rule id for an entry in the file of expected failures that is out of date."""

_TOLD = (Status.FAIL, Status.ERROR, Status.INCONCLUSIVE, Status.XFAIL)


def sarif(results: Sequence[Result], complaints: Sequence[Complaint], ran: str) -> str:
    """Return the text of the SARIF file.

    Args:
        results: the offers.
        complaints: faults of the file of expected failures.
        ran: profile, seed and duration of the run, in words.
    """
    called = [*zip(results, sentences.names(results), sentences.labels(results), strict=True)]
    found = [_result(o, r, name, label) for r, name, label in called for o in r.obligations if o.status in _TOLD]
    found += [_unseen(r, name, label) for r, name, label in called if r.verdict in sentences.OPEN_IN]
    found += [_complaint(c) for c in complaints]
    words = {r["ruleId"]: sentences.words(r["ruleId"]) for r in found}
    words |= {EXPECTED: "what is expected to fail is asked, fails, and has not expired"} if complaints else {}
    # Code hosts ask for all three, and show the last.
    rules = [
        {
            "id": rule,
            **{key: {"text": escape_controls(said)} for key in ("shortDescription", "fullDescription", "help")},
        }
        for rule, said in words.items()
    ]
    driver = {"name": "fedspec", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": found, "properties": {"ran": ran, "reach": sentences.beyond(results)}}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(o: Obligation, r: Result, name: str, label: str) -> dict[str, Any]:
    about = escape_controls(f"{name}: {sentences.finding_alone(o)} ({o.id}: {sentences.words(o.law)})")
    if o.status in {Status.FAIL, Status.INCONCLUSIVE}:
        # A code host shows how the message begins.
        told = (sentences.in_equations(r), sentences.head(r), *sentences.remedies(r))
        about = "; ".join(filter(None, (*map(escape_controls, told), about, escape_controls(r.command))))
    out = {
        "ruleId": o.law,
        "kind": "open" if o.status is Status.INCONCLUSIVE else "fail",
        "level": {Status.INCONCLUSIVE: "none", Status.XFAIL: "note"}.get(o.status, "error"),
        "message": {"text": about},
        **_of_offer(r, label, o.id),
    }
    if o.status is Status.XFAIL:
        out["suppressions"] = [{"kind": "external", "status": "accepted", "justification": escape_controls(o.reason)}]
    return out


def _unseen(r: Result, name: str, label: str) -> dict[str, Any]:
    """Result for a claim with a part that was not seen, or not asked."""
    said = "; ".join(filter(None, (escape_controls(f"{name}: {sentences.head(r)}"), escape_controls(r.command))))
    open_in = sentences.OPEN_IN[r.verdict]
    rule = {"ruleId": open_in, "kind": "open", "level": "none", "message": {"text": said}}
    return {**rule, **_of_offer(r, label, f"{open_in}/any")}


def _of_offer(r: Result, label: str, what: str) -> dict[str, Any]:
    """Location of a result about an offer, and its fingerprint from run to run."""
    logical = {"fullyQualifiedName": escape_controls(f"{label}/{what}"), "kind": "function"}
    where: dict[str, Any] = {"logicalLocations": [logical]}
    if file := _file(r):
        where["physicalLocation"] = _physical(file, _step(file))
    return {"locations": [where], "partialFingerprints": {"obligation/v1": _digits(label, what)}}


def _complaint(c: Complaint) -> dict[str, Any]:
    return {
        "ruleId": EXPECTED,
        "level": "error",
        "message": {"text": escape_controls(str(c))},
        "locations": [{"physicalLocation": _physical(c.entry.file, max(1, c.entry.line))}],
        "partialFingerprints": {"obligation/v1": _digits(EXPECTED, c.entry.offer, c.entry.law, c.entry.dtype)},
    }


def _physical(file: str, line: int) -> dict[str, Any]:
    path = Path(file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}


def _file(r: Result) -> str:
    """The file of the adapter, where the subject was named by it."""
    words = shlex.split(r.command)[2:3] if r.command else []
    name = (words or [""])[0]
    kind, _, rest = name.partition(":")
    reference = python_reference(name)
    try:
        candidates = [reference.rpartition(":")[0] or reference] if reference else []
        candidates += shlex.split(rest) if kind == "cmd" else []
    except ValueError:
        return ""
    return next((c for c in candidates if Path(c).is_file()), "")


def _step(file: str) -> int:
    """The line of a Python adapter's first function ``step``; 1 if there is none."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return 1
    steps = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "step"]
    return min(steps, default=1)


def _digits(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
