"""Fuzz both readers of the protocol with mutated lines: ``python scripts/fuzz_wire.py --count 10000 --seed 0``.

Valid requests and replies are spoiled in their bytes and in their values. The judge's reader gets the replies, the
subject's the requests. A line must be refused with an error of fedspec's own, or be accepted and keep the JSON schema;
anything else is a failure and is printed. Needs jsonschema, which only looks at what the readers have accepted.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema

from fedspec.contract import Offer
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec.serve import serve
from fedspec.wire import decode_case, decode_event, decode_info, decode_reply, decode_request, encode
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.escaping import escape_values
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates

FOLDER = Path(__file__).resolve().parents[1] / "spec/fedspec/schemas"

OFFERS = (
    Offer("fedadam", "server", "reddi-2021", intermediates=("delta", "m", "v"), notes="as printed"),
    Offer("adam", "client", "kingma-2015", fixed={"eps": 0.25}, nonzero=("beta1",), dtypes=("float64",)),
    Offer("fednova", "round", "fednova", {"solver": "momentum"}, intermediates=("tau_eff",)),
    Offer("fedblended", "round", "fedada2"),
    Offer("afga", "trace", "afga"),
    Offer("scaffold", "server", "karimireddy-2020", participation="all", blocks="matrices", variant="old"),
    Offer("momentum", "client", "fednova", rates="each"),
    Offer("fedbuff", "trace", next(o.reading for o in SUBJECT.info.offers if o.algorithm == "fedbuff")),
)
"""Claims that cover every kind of event and every field of a claim."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.0, 1.5, -0.0, 1e308, -1e-320, 2**53 + 1, 2**64, 2**1023, 10**309, -(10**400)),
    *(float("nan"), float("inf"), "nan", "inf", "-inf", "NaN", "Infinity", "", "x", "float64", "\x1b[2J", "\ud800"),
    *([], {}, [[]], [1.0], ["nan"], [None], [[1.0], [2.0, 3.0]], {"w": [1.0]}, {"w": {"b": 1.0}}, {"": 0}, "1e400"),
)
"""Values with which a mutation replaces a value."""

RAW = ("1e400", "-1e400", "NaN", "Infinity", "1" * 400, "9" * 5000, "[" * 200_000, '{"a":' * 3000, "[" * 90 + "]" * 90)
"""Texts with which a mutation replaces a value, which JSON's writer would never write."""

Line = tuple[str, bytes]
"""Command and line, where the line is the command's request or the reply to it."""


def dialogue() -> tuple[list[Line], list[Line]]:
    """Return valid requests, and the specification's replies to them."""
    requests: list[tuple[str, dict[str, Any]]] = [("hello", {"cmd": "hello", "protocol": 1})]
    for k, offer in enumerate(OFFERS):
        s = plain_scenario(setting_of(offer))
        requests.append(("start", {"cmd": "start", "session": k, "case": encode(s.case)}))
        requests += [("step", {"cmd": "step", "session": k, "event": encode(event)}) for event in s.events]
        requests.append(("stop", {"cmd": "stop", "session": k}))
    lines = [(command, json.dumps(body).encode()) for command, body in requests]
    out = io.StringIO()
    serve(SUBJECT, [line for _, line in lines], out)
    said = [(command, line.encode()) for (command, _), line in zip(lines, out.getvalue().splitlines(), strict=True)]
    info = {"name": "one", "version": "1", "variant": "x", "concurrent": False, "claims": [encode(o) for o in OFFERS]}
    failure = ("step", json.dumps({"ok": False, "error": "no", "detail": "it did not work"}).encode())
    hello = ("hello", json.dumps({"ok": True, "protocol": 1, "info": info}).encode())
    replies = [hello, *(line for line in said if line[0] != "hello"), failure]
    # What is said once in a dialogue counts as much as what is said at every step.
    return lines + lines[:1] * 4, replies + [hello] * 12 + [failure] * 3


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key in a JSON value."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def mutated(line: bytes, rng: random.Random) -> bytes:
    """Return a mutated copy of a line; a few copies are unchanged."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        line = rng.choice((flip, cut, repeat, swap, swap, swap, drop, add, rename, raw))(line, rng)
    return line.replace(b"\n", b" ")


def flip(line: bytes, rng: random.Random) -> bytes:
    out = bytearray(line)
    for _ in range(rng.randint(1, 4)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def cut(line: bytes, rng: random.Random) -> bytes:
    i = rng.randrange(len(line))
    return line[:i] + line[i + rng.randint(1, 12) :] or b"?"


def repeat(line: bytes, rng: random.Random) -> bytes:
    i = rng.randrange(len(line))
    return line[: i + rng.randint(1, 30)] + line[i:]


def changed(line: bytes, rng: random.Random, change: Callable[[Any, Any, random.Random], None]) -> bytes:
    """Change the line's JSON value at a random place; if it has none, flip bytes."""
    try:
        value = json.loads(line)
        change(*rng.choice(list(places(value))), rng)
        return json.dumps(value).encode()
    except (ValueError, IndexError, RecursionError):
        return flip(line, rng)


def swap(line: bytes, rng: random.Random) -> bytes:
    return changed(line, rng, lambda holder, key, rng: holder.__setitem__(key, copy.deepcopy(rng.choice(VALUES))))


def drop(line: bytes, rng: random.Random) -> bytes:
    return changed(line, rng, lambda holder, key, rng: holder.__delitem__(key))


def _add(holder: Any, key: Any, rng: random.Random) -> None:
    value = copy.deepcopy(rng.choice(VALUES))
    if isinstance(holder, dict):
        holder[rng.choice(("more", "ok", "cmd", "info", "answer", "dtype", "type", "x", "[/x]"))] = value
    else:
        holder.insert(key, value)


def add(line: bytes, rng: random.Random) -> bytes:
    return changed(line, rng, _add)


def _rename(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder.pop(key)
    if isinstance(holder, dict):
        holder[f"{key}{rng.choice(('_', 's', chr(0), ''))}"] = value


def rename(line: bytes, rng: random.Random) -> bytes:
    return changed(line, rng, _rename)


def raw(line: bytes, rng: random.Random) -> bytes:
    """Replace a value by text that JSON's writer would never write."""
    mark = "<here>"
    out = changed(line, rng, lambda holder, key, rng: holder.__setitem__(key, mark))
    return out.replace(json.dumps(mark).encode(), rng.choice(RAW).encode())


def keeps(schema: Any, line: bytes) -> bool:
    """True if the schema accepts a line."""
    try:
        return bool(schema.is_valid(json.loads(line)))
    except (ValueError, RecursionError):
        return False


def reply_reader() -> Callable[[str, bytes], None]:
    """Return the judge's reader of a reply, up to the numbers that it compares."""
    offer = OFFERS[0]
    setting = setting_of(offer)
    bench = bench_of(InProcess(SUBJECT), offer, setting)
    s = plain_scenario(setting)

    def read(command: str, line: bytes) -> None:
        reply = decode_reply(line, command)
        if "info" in reply:
            for one in decode_info(escape_values(reply["info"])).offers:
                try:
                    setting_of(one)
                except FedspecError:
                    continue
        if "answer" in reply:
            try:
                bench.read(reply["answer"], s, 0, "round")
            except (FedspecError, Deviates):
                return

    return read


def request_reader() -> Callable[[str, bytes], None]:
    """Return a served adapter's reader of a request, up to the adapter's own code."""

    def read(command: str, line: bytes) -> None:
        request = decode_request(line)
        if "case" in request:
            decode_case(request["case"])
        if "event" in request:
            for dtype in ("float64", "float32"):
                decode_event(request["event"], dtype)

    return read


class Echo:
    """Adapter that only returns the initial model, so that any failure is the server's."""

    info = SUBJECT.info

    def start(self, case: Any) -> Any:
        return EchoSession(case.x0)


class EchoSession:
    def __init__(self, x: Any) -> None:
        self.x = x

    def step(self, event: Any) -> Any:
        return {"x": self.x}


def tried(lines: list[Line], read: Callable[[str, bytes], None], schema: Any) -> tuple[Counter[str], list[str]]:
    """Read lines, and return their number by outcome, and the lines with a wrong outcome."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for command, line in lines:
        try:
            read(command, line)
        except FedspecError:
            counts["refused"] += 1
            continue
        except Exception as error:
            counts["crashed"] += 1
            wrong.append(f"{type(error).__name__}: {str(error)[:100]} on {line[:300]!r}")
            continue
        valid = keeps(schema, line)
        counts["accepted and valid" if valid else "accepted against the schema"] += 1
        if not valid:
            wrong.append(f"accepted against the schema: {line[:300]!r}")
    return counts, wrong


OWN = ("ContractError", "PlanError", "UnknownNameError", "ParameterError")
"""Error names with which a reply to a rejected line must begin."""


def served(lines: list[Line], schema: Any) -> tuple[Counter[str], list[str]]:
    """Serve lines in turn, and count wrong outcomes: each line needs one valid reply, and a rejection fedspec's own
    error.
    """
    out = io.StringIO()
    serve(Echo(), [line for _, line in lines], out)
    replies = out.getvalue().splitlines()
    asked = [line for _, line in lines if line.strip()]
    counts: Counter[str] = Counter({"unanswered": len(asked) - len(replies)})
    wrong = ["some lines have no answer"] if len(asked) != len(replies) else []
    for line, reply in zip(asked, replies, strict=False):
        said = json.loads(reply)
        good = keeps(schema, reply.encode()) and (said["ok"] or said["error"].startswith(OWN))
        counts["answered" if said["ok"] else "refused" if good else "crashed"] += 1
        if not good:
            wrong.append(f"{reply[:200]} to {line[:300]!r}")
    return counts, wrong


def run(count: int, seed: int) -> dict[str, tuple[Counter[str], list[str]]]:
    """Fuzz both readers and the server with ``count`` lines each."""
    rng = random.Random(seed)
    requests, replies = ([(c, mutated(line, rng)) for c, line in rng.choices(g, k=count)] for g in dialogue())
    schemas = {
        name: jsonschema.Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")))
        for name in ("request", "reply")
    }
    return {
        "replies, read by the judge": tried(replies, reply_reader(), schemas["reply"]),
        "requests, read by an adapter": tried(requests, request_reader(), schemas["request"]),
        "requests, served": served(requests, schemas["reply"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="lines for each side")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begun, failed = time.monotonic(), 0
    for what, (counts, wrong) in run(given.count, given.seed).items():
        print(f"{what}: {', '.join(f'{n} {outcome}' for outcome, n in sorted(counts.items()) if n)}")
        failed += len(wrong)
        for line in wrong[:10]:
            print(f"  {line}")
    print(f"{given.count} lines a side, seed {given.seed}, {time.monotonic() - begun:.0f} s: {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
