"""Capsules out of verdicts: failures are asked once more and written down, with a script that plays one of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedspec.contract import Offer, Subject
from fedspec.errors import ContractError, FedspecError
from fedspec_suite.judge.capsules.file_format import Failure, body, failure_as_data, stem
from fedspec_suite.judge.capsules.recorder import Number, RecordedSubject, of_the_law, off_the_rule
from fedspec_suite.judge.runner import first
from fedspec_suite.laws import law_named
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Beyond, Deviates, Deviation, NotOffered, Obligation, Undecided


@dataclass(frozen=True)
class CapsuleFiles:
    """The files to be written for an offer.

    Attributes:
        stem: what its files are called.
        body: the capsule.
        script: the script beside it.
        why_not: why there is none.
    """

    stem: str
    body: dict[str, Any]
    script: str
    why_not: str


def capsule(
    implementation: str,
    subject: Subject,
    number: int,
    among: Sequence[Offer],
    obligations: Sequence[Obligation],
) -> CapsuleFiles | None:
    """The failures of an offer, those to look at first in front; none where nothing failed.

    What a script plays is a number that the rule itself does not give, where there is one: what a law wants may come
    from another answer of the subject.
    """
    offer, failures, wrong = among[number], [], []
    for k, o in enumerate(first(obligations)):
        record, bench, found = _asked(subject, offer, o)
        try:
            failures.append(failure_as_data(Failure(o.law, o.dtype, o.deviation, o.case, tuple(record.calls))))
        except ContractError:
            # Its case holds what no capsule can: the failure is told, and cannot be played.
            failures.append(failure_as_data(Failure(o.law, o.dtype, o.deviation)))
            continue
        for shown in (off_the_rule(bench, record), of_the_law(bench, record, found)):
            if shown is not None:
                wrong.append((shown.law, k, shown, o))
    if not failures:
        return None
    text, why_not = "", "no single number shows what is wrong"
    if wrong:
        _, k, shown, o = min(wrong, key=lambda w: w[:2])
        text, why_not = script(implementation, o.id, o.dtype, k, shown)
    name = stem(implementation, subject.info, offer, among, number)
    return CapsuleFiles(name, body(implementation, subject.info, offer, failures), text, why_not)


def _asked(subject: Subject, offer: Offer, o: Obligation) -> tuple[RecordedSubject, Bench, Deviation | None]:
    """Ask a case once more; how it deviates now."""
    record = RecordedSubject(subject, offer)
    bench = bench_of(record, offer, setting_of(offer, "" if o.dtype == "any" else o.dtype))
    law = law_named(o.law)
    if law and o.case is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            try:
                law.check(bench, o.case)
            except Deviates as broken:
                return record, bench, broken.deviation
            except (Beyond, NotOffered, Undecided, FedspecError):
                pass
    return record, bench, None


# Without fedspec, an adapter's `from fedspec.contract import ...` gives classes that take what they are given.
PYTHON = """\
# Exits 1 while {law} fails like this; run it where the check ran, with the capsule beside it.
import importlib.util, json, pathlib, sys, types, numpy as np; sys.dont_write_bytecode = True; \
sys.path.insert(0, {folder!r})
run, kinds = {{}}, types.ModuleType("fedspec.contract"); kinds.__getattr__ = lambda n: vars(kinds).setdefault(n, \
type(n, (types.SimpleNamespace,), {{"__init__": lambda self, *given, **named: vars(self).update(named)}}))
if not importlib.util.find_spec("fedspec"): sys.modules |= {{"fedspec": types.SimpleNamespace(), kinds.__name__: kinds}}
it = importlib.import_module({module!r}).{attribute}; \
it = it() if isinstance(it, type) or not hasattr(it, "start") else it
def made(v, key, array=lambda v: np.array(v, {dtype!r})):
    if key in ("x0", "g", "x", "delta", "control") and v: return {{n: array(a) for n, a in v.items()}}
    if key in ("H", "e", "mixing", "examples"): return array(v) if key != "examples" else np.array(v, float)
    if key in ("options", "hyper") or type(v) != dict: return tuple(made(e, key) for e in v) if type(v) == list else v
    kind = {{"case": "Case", "problem": "Quadratics", "messages": "ClientMessage"}}.get(key) or v.pop("type").title()
    return getattr(sys.modules.get("fedspec.contract"), kind, types.SimpleNamespace)(**{{n: made(v[n], n) for n in v}})
for n, told, c in ((c["session"], "case" if "case" in c else "event", c) for c in {calls}):
    x = run[n].step(made(c[told], told))[{name!r}] if n in run else run.update({{n: it.start(made(c[told], told))}})
{seen}
"""

COMMAND = """\
# Exits 1 while {law} fails like this; run it where the check ran, with the capsule beside it.
import json, pathlib, subprocess, sys, numpy as np
process = subprocess.Popen({words!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(**request):
    print(json.dumps(request), file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())
ask(cmd="hello", protocol=1)
for call in {calls}:
    call.pop("answer", None)
    reply = ask(cmd="start" if "case" in call else "step", **call)
process.kill()
x = reply["answer"][{name!r}]
{seen}
"""

CALLS = 'json.loads(pathlib.Path(__file__).with_suffix(".json").read_text("utf-8"))["failures"][{k}]["calls"][:{n}]'

VALUES = "x.values() if isinstance(x, dict) else x if type(x) in (list, tuple) else [x]"

SEEN = """\
got = float(np.concatenate([np.ravel(a) for a in ({values})])[{component}])
print(f"{name}[{component}]: got {{got!r}}, want {want!r}"); sys.exit(not abs(got - {want!r}) <= {allowed!r})\
"""


def script(implementation: str, law: str, dtype: str, failure: int, number: Number) -> tuple[str, str]:
    """The text of a script that needs NumPy and the adapter alone, and the reason if there is none.

    Args:
        implementation: the subject, as it was typed.
        law: the failed obligation.
        dtype: its floating-point type.
        failure: its place in the capsule.
        number: what is wrong.
    """
    kind, _, rest = implementation.partition(":")
    seen = SEEN.format(
        values=VALUES, name=number.name, component=number.component, want=number.want, allowed=number.allowed
    )
    calls = CALLS.format(k=failure, n=number.calls)
    common = {"law": law, "dtype": dtype, "name": number.name, "seen": seen, "calls": calls}
    if kind == "cmd":
        return COMMAND.format(words=shlex.split(rest), **common), ""
    where, _, attribute = rest.rpartition(":")
    if kind != "py" or not attribute.isidentifier():
        return "", f"{implementation} runs in an environment of its own"
    module = Path(where).stem if where.endswith(".py") else where
    if module in sys.stdlib_module_names:
        return "", f"a module called {module} is one of Python's own"
    folder = str(Path(where).parent) if where.endswith(".py") else "."
    return PYTHON.format(folder=folder, module=module, attribute=attribute, **common), ""
