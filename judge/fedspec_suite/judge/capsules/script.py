"""Script of a capsule: one failing case as a readable program, which needs only NumPy and the adapter."""

from __future__ import annotations

import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.wire import decode_case, decode_event
from fedspec_suite.judge.capsules.recorder import Number
from fedspec_suite.subjects.environments import python_reference

WIDE = 110
"""Width of a line in characters."""

HEAD = '''\
"""Exits 1 while {law} fails like this; run it where the check ran."""

'''

# Without fedspec, an adapter's `from fedspec.contract import ...` gives classes that take what they are given.
ADAPTER = """\
import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, {folder!r})


class Records(ModuleType):  # stands for fedspec.contract if fedspec is not installed
    def __getattr__(self, name):
        made = {{"__init__": lambda self, *_, **fields: vars(self).update(fields)}}
        return vars(self).setdefault(name, type(name, (), made))


if not find_spec("fedspec"):
    sys.modules |= {{name: Records(name) for name in ("fedspec", "fedspec.contract")}}
from fedspec.contract import {records}
{adapter}
adapter = adapter() if callable(adapter) else adapter

"""

NAMED = "adapter = importlib.import_module({module!r}).{attribute}"
ALONE = """\
names = vars(importlib.import_module({module!r})).values()
adapter = next(v for v in names if hasattr(v, "info") and hasattr(v, "start"))"""
"""The adapter by its name, and the only adapter of a file."""

PROGRAM = """\
import json
import subprocess
import sys

import numpy as np

program = subprocess.Popen({words!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(cmd, **request):
    print(json.dumps({{"cmd": cmd, **request}}), file=program.stdin, flush=True)
    return json.loads(program.stdout.readline())


ask("hello", protocol=1)
"""

SEEN = """\

# {wanted}
got, wanted = float({got}), {want!r}
print(f"{name}[{component}]: got {{got!r}}, want {{wanted!r}}")
sys.exit(not abs(got - wanted) <= {allowed!r})  # what rounding may change
"""


def script(
    implementation: str, law: str, wanted: str, number: Number, calls: Sequence[Mapping[str, Any]]
) -> tuple[str, str]:
    """Return the text of the script and an empty reason; or an empty text and the reason why there is no script.

    Args:
        implementation: the subject, as it was typed.
        law: the id of the failed check.
        wanted: the equation that gives the number, or the law in words.
        number: the wrong number, which the script shows.
        calls: the calls of the subject, up to the answer that holds the number.
    """
    kind, _, rest = implementation.partition(":")
    seen = SEEN.format(wanted=wanted, got=_read(number, calls[-1]["answer"][number.name]), **vars(number))
    head = HEAD.format(law=law)
    if kind == "cmd":
        return (
            f"{head}{PROGRAM.format(words=shlex.split(rest))}{''.join(_requests(calls))}program.kill()\n{seen}",
            "",
        )
    rest = python_reference(implementation)
    where, _, attribute = (rest, "", "") if rest.endswith(".py") else rest.rpartition(":")
    if not rest or not (attribute.isidentifier() or where == rest):
        return "", f"{implementation} runs in an environment of its own"
    module = Path(where).stem if where.endswith(".py") else where
    if module in sys.stdlib_module_names:
        return "", f"a module called {module} is one of Python's own"
    folder = str(Path(where).parent) if where.endswith(".py") else "."
    used: set[str] = set()
    played = "".join(_steps(calls, used))
    records = ", ".join(sorted(used))
    adapter = (NAMED if attribute else ALONE).format(module=module, attribute=attribute)
    begun = ADAPTER.format(folder=folder, adapter=adapter, records=records)
    return f"{head}{begun}{played}{seen}", ""


def _steps(calls: Sequence[Mapping[str, Any]], used: set[str]) -> Iterator[str]:
    """The calls of an adapter, a statement each; the names of their records go into ``used``."""
    many = len({c["session"] for c in calls}) > 1
    dtype = ""
    for call in calls:
        session = f"session_{call['session']}" if many else "session"
        if "case" in call:
            dtype = call["case"]["dtype"]
            yield _statement(f"{session} = adapter.start(", _shown(decode_case(call["case"]), used), ")")
        else:
            yield _statement(f"answer = {session}.step(", _shown(decode_event(call["event"], dtype), used), ")")


def _requests(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The requests to a program, a statement each."""
    for call in calls:
        n = call["session"]
        if "case" in call:
            yield _statement(f'ask("start", session={n}, case=', call["case"], ")")
        else:
            yield _statement(f'answer = ask("step", session={n}, event=', call["event"], ')["answer"]')


def _shown(value: Any, used: set[str]) -> Any:
    """A record without the fields that have their default, in the form that is printed as it is made."""
    if is_dataclass(value):
        used.add(name := type(value).__name__)
        given = {f.name: getattr(value, f.name) for f in fields(value)}
        kept = {f.name: _shown(given[f.name], used) for f in fields(value) if not _is_default(f, given[f.name])}
        return type(name, (SimpleNamespace,), {})(**kept)
    if isinstance(value, tuple):
        return tuple(_shown(v, used) for v in value)
    return value


def _is_default(field: Field[Any], value: Any) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is not MISSING and type(value) is type(default) and bool(value == default)


def _statement(start: str, value: Any, end: str) -> str:
    """A statement that hands on a value, in lines that end between its items."""
    with np.printoptions(threshold=sys.maxsize, linewidth=sys.maxsize):
        text = re.sub(r"\b(array|nan|inf|float32)\b(?!')", r"np.\1", repr(value))
    # No name and no string of a case has a space; a key stays beside its value.
    text = f"{start}{text}{end}".replace("': ", "':~")
    lines = textwrap.wrap(text, WIDE - 4, break_long_words=False, break_on_hyphens=False)
    return "\n    ".join(lines).replace("':~", "': ") + "\n"


def _read(n: Number, answer: Any) -> str:
    """The expression of a number in an answer."""
    at, j = f"answer[{n.name!r}]", n.component
    for name, block in answer.items() if isinstance(answer, Mapping) else ():
        if j < np.size(block):
            return f"np.ravel({at}[{name!r}])[{j}]"
        j -= np.size(block)
    return (
        f"np.concatenate([np.ravel(block) for block in {at}])[{j}]"
        if isinstance(answer, list)
        else f"np.ravel({at})[{j}]"
    )
