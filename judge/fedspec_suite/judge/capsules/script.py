"""The script of a capsule: one failing case as a program that a person reads; it needs NumPy and the adapter alone."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedspec.wire import decode_case, decode_event
from fedspec_suite.judge.capsules.recorder import Number

WIDE = 110
"""Columns of a line, unless a number or name is longer."""

LITERAL = 24
"""Numbers of an array that are written out; a larger array is read from the capsule."""

HEAD = '''\
"""Exits 1 while {law} fails like this; run it where the check ran{beside}."""

{imports}

import numpy as np
'''

# Without fedspec, an adapter's `from fedspec.contract import ...` gives classes that take what they are given.
ADAPTER = """\
sys.dont_write_bytecode = True
sys.path.insert(0, "{folder}")


class Records(ModuleType):  # stands for fedspec.contract if fedspec is not installed
    def __getattr__(self, name):
        made = {{"__init__": lambda self, *_, **fields: vars(self).update(fields)}}
        return vars(self).setdefault(name, type(name, (), made))


if not find_spec("fedspec"):
    sys.modules |= {{name: Records(name) for name in ("fedspec", "fedspec.contract")}}
from fedspec.contract import {records}
{adapter}
"""

PROGRAM = """\
program = subprocess.Popen({words}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(**request):
    print(json.dumps(request), file=program.stdin, flush=True)
    return json.loads(program.stdout.readline())


ask(cmd="hello", protocol=1)
"""

STORED = 'calls = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))["failures"][{failure}]["calls"]\n'

SEEN = """\
got, wanted = float({got}), {want!r}
print(f"{name}[{component}]: got {{got!r}}, want {{wanted!r}}")
sys.exit(not abs(got - wanted) <= {allowed!r})  # what rounding may change
"""


@dataclass(frozen=True)
class Wrong:
    """The number that a script shows.

    Attributes:
        law: the id of the failed check.
        wanted: the equation that gives the number, or the law in words.
        number: the number.
        failure: the place of its failure in the capsule.
        calls: what was asked, up to the answer that holds the number.
    """

    law: str
    wanted: str
    number: Number
    failure: int
    calls: Sequence[Mapping[str, Any]]


def script(implementation: str, wrong: Wrong) -> tuple[str, str]:
    """The text of a script, and the reason if there is none.

    Args:
        implementation: the subject, as it was typed.
        wrong: what it shows.
    """
    kind, _, rest = implementation.partition(":")
    if kind == "cmd":
        return _of_program(shlex.split(rest), wrong), ""
    where, _, attribute = rest.rpartition(":")
    if kind != "py" or not attribute.isidentifier():
        return "", f"{implementation} runs in an environment of its own"
    module = Path(where).stem if where.endswith(".py") else where
    if module in sys.stdlib_module_names:
        return "", f"a module called {module} is one of Python's own"
    return _of_adapter(str(Path(where).parent) if where.endswith(".py") else ".", module, attribute, wrong), ""


def _of_adapter(folder: str, module: str, attribute: str, wrong: Wrong) -> str:
    dtype = next(c["case"]["dtype"] for c in wrong.calls if "case" in c)
    used: set[str] = set()
    lines = []
    for k, (session, said, call) in enumerate(_told(wrong)):
        made = decode_case(call["case"]) if "case" in call else decode_event(call["event"], dtype)
        start = f"{session} = adapter.start(" if "case" in call else f"answer = {session}.step("
        text = _text(made, f'calls[{k}]["{said}"]', used, taken=len(start))
        lines.append(f"{start}{text})")
    imported = f"from {module} import {attribute}"
    if not all(part.isidentifier() for part in module.split(".")):
        imported = f"{attribute} = import_module({module!r}).{attribute}"
    got = f"adapter = {attribute}() if callable({attribute}) else {attribute}"
    text = ADAPTER.format(
        folder=json.dumps(folder)[1:-1], records=", ".join(sorted(used - {"calls"})), adapter=f"{imported}\n\n{got}"
    )
    names = ["import sys", "from importlib.util import find_spec", "from types import ModuleType"]
    names += ["from importlib import import_module"] * ("import_module" in imported)
    return _whole(text, names, lines, "calls" in used, wrong)


def _of_program(words: Sequence[str], wrong: Wrong) -> str:
    used: set[str] = set()
    lines = []
    for k, (_, said, call) in enumerate(_told(wrong)):
        text = _text(call[said], f'calls[{k}]["{said}"]', used)
        cmd = "start" if said == "case" else "step"
        asked = f'ask(cmd="{cmd}", session={call["session"]}, {said}={text})'
        lines.append(asked if cmd == "start" else f'answer = {asked}["answer"]')
    names = ["import json", "import subprocess", "import sys"]
    return _whole(
        PROGRAM.format(words=_text([*words], "", used)), names, [*lines, "program.kill()"], "calls" in used, wrong
    )


def _told(wrong: Wrong) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    many = len({c["session"] for c in wrong.calls}) > 1
    for call in wrong.calls:
        yield f"session_{call['session']}" if many else "session", "case" if "case" in call else "event", call


def _whole(before: str, imports: list[str], lines: Sequence[str], stored: bool, wrong: Wrong) -> str:
    n = wrong.number
    if stored:
        imports = [*imports, "import json", "from pathlib import Path"]
        before = f"{before}\n{STORED.format(failure=wrong.failure)}"
    names = "\n".join(sorted(dict.fromkeys(imports), key=lambda line: (line.startswith("from"), line)))
    head = HEAD.format(law=wrong.law, beside=", with the capsule beside it" * stored, imports=names)
    seen = SEEN.format(got=_read(wrong), name=n.name, component=n.component, want=n.want, allowed=n.allowed)
    return "\n".join([head, before, *lines, "", f"# {wrong.wanted}", seen])


def _read(wrong: Wrong) -> str:
    """The expression of the number in the last answer."""
    n, answer = wrong.number, wrong.calls[-1]["answer"][wrong.number.name]
    at = f'answer["{n.name}"]'
    if isinstance(answer, Mapping):
        j = n.component
        for name, block in answer.items():
            if j < np.size(block):
                return f"np.ravel({at}[{json.dumps(name)}])[{j}]"
            j -= np.size(block)
    if isinstance(answer, list):
        return f"np.concatenate([np.ravel(block) for block in {at}])[{n.component}]"
    return f"np.ravel({at})[{n.component}]"


def _text(value: Any, where: str, used: set[str], indent: int = 0, taken: int = 0) -> str:
    """A value as Python text, over several lines if it is long.

    Args:
        value: a record of the contract, or JSON values.
        where: the expression that reads it from the capsule.
        used: receives the names of records, and ``calls`` if something is read from the capsule.
        indent: the columns before the line.
        taken: the columns of the line before the value.
    """
    if isinstance(value, np.ndarray) or (isinstance(value, list) and value and not isinstance(value[0], dict | str)):
        numbers = np.asarray(value)
        of = f", np.{numbers.dtype}" if isinstance(value, np.ndarray) and numbers.dtype != float else ""
        used |= {"calls"} if (large := numbers.size > LITERAL) else set()
        text = where if large else repr(numbers.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text}{of})" if isinstance(value, np.ndarray) else text
    if is_dataclass(value):
        name = type(value).__name__
        used.add(name)
        given = [(f.name, getattr(value, f.name)) for f in fields(value) if not _usual(f, getattr(value, f.name))]
        ends, items = (f"{name}(", ")"), [(f"{n}=", v, f"{where}[{json.dumps(n)}]") for n, v in given]
    elif isinstance(value, Mapping):
        ends, items = ("{", "}"), [(f"{json.dumps(n)}: ", v, f"{where}[{json.dumps(n)}]") for n, v in value.items()]
    elif isinstance(value, tuple | list) and value:
        ends = ("(", ",)" if len(value) == 1 else ")") if isinstance(value, tuple) else ("[", "]")
        items = [("", v, f"{where}[{k}]") for k, v in enumerate(value)]
    else:
        if isinstance(value, str):
            return json.dumps(value)
        return f"float({str(value)!r})" if isinstance(value, float) and not np.isfinite(value) else repr(value)
    flat = f"{ends[0]}{', '.join(head + _text(v, at, used) for head, v, at in items)}{ends[1]}"
    if "\n" not in flat and len(flat) + indent + taken <= WIDE:
        return flat
    rows = [""]
    for head, v, at in items:
        item = f"{head}{_text(v, at, used, indent + 4, len(head))}, "
        # Short items share a line.
        if "\n" in item + rows[-1] or len(rows[-1]) + len(item) + indent + 4 > WIDE:
            rows.append("")
        rows[-1] += item
    inner = "".join(f"{' ' * (indent + 4)}{row.rstrip()}\n" for row in rows if row)
    return f"{ends[0]}\n{inner}{' ' * indent}{ends[1].lstrip(',')}"


def _usual(field: Any, value: Any) -> bool:
    """True if a field of a record has its default."""
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return default is not MISSING and type(value) is type(default) and bool(value == default)
