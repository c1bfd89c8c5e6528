"""Output of ``fedspec replay``: one line for each failure; with ``--details``, the events of its case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from fedspec.contract import SubjectInfo
from fedspec_suite.judge.capsules.file_format import Capsule
from fedspec_suite.judge.capsules.replay import Outcome, ReplayResult
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.verdict import format_declaration
from fedspec_suite.report import sentences

COLOURS = {Outcome.SAME: "red", Outcome.OTHER: "red", Outcome.PASSES: "green"}

MOST = 12
"""Largest number of a vector's entries that are printed."""


def show(
    capsule: Capsule, replayed: Sequence[ReplayResult], info: SubjectInfo, console: Console, *, details: bool = False
) -> None:
    """Print the outcome of replaying each failure."""
    o = capsule.offer
    offer = f"{o.algorithm}/{o.level}/{format_declaration(o)}"
    was = f"{capsule.subject} {capsule.version}, {offer}, by fedspec {capsule.fedspec}"
    console.print(_line(f"{was}; now {info.name} {info.version}"), soft_wrap=True)
    for r in replayed:
        outcome = Text(r.outcome, COLOURS.get(r.outcome, "yellow"))
        console.print(Text.assemble("  ", _line(r.failure.id), ": ", outcome), soft_wrap=True)
        for what, said in (
            ("says", sentences.words(r.failure.law)),
            ("stored", str(r.failure.deviation or "")),
            ("now", str(r.deviation or "") if r.outcome is Outcome.OTHER else ""),
            ("why", r.reason),
        ):
            if said:
                console.print(Text.assemble("    ", (f"{what}: ", "dim"), _line(said)), soft_wrap=True)
        for line in describe_calls(r.failure.calls) if details else ():
            console.print(Text.assemble("      ", _line(line)), soft_wrap=True)


def _line(text: str) -> Text:
    return Text(escape_controls(text))


def describe_calls(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Describe requests and answers, a line each."""
    many, count = len({c["session"] for c in calls}) > 1, dict[int, int]()
    for call in calls:
        number = call["session"]
        before = f"session {number + 1}: " if many else ""
        if "case" in call:
            yield before + _case(call["case"])
            continue
        count[number] = count.get(number, 0) + 1
        yield f"{before}event {count[number]}: {_event(call['event'])}"
        if "answer" in call:
            shown = {n: v for n, v in call["answer"].items() if n not in {"dtype", "touched"} and v is not None}
            yield f"{before}  answer: {', '.join(f'{n} = {_vector(v)}' for n, v in shown.items())}"
        else:
            yield f"{before}  no answer: {call.get('error', 'it was not waited for')}"


def _case(case: Mapping[str, Any]) -> str:
    hyper = ", ".join(f"{n} = {v:g}" for n, v in case["hyper"].items())
    parts = [f"start at x = {_vector(case['x0'])} in {case['dtype']}", hyper]
    if case["problem"]:
        for i, (h, e) in enumerate(zip(case["problem"]["H"], case["problem"]["e"], strict=False)):
            n = case["problem"]["examples"]
            parts.append(f"client {i}: H = {_vector(h)}, e = {_vector(e)}, {n[i] if i < len(n) else '?':g} examples")
    return "; ".join(filter(None, parts))


def _event(event: Mapping[str, Any]) -> str:
    match event["type"]:
        case "gradient":
            rate = "" if event.get("eta_l") is None else f" at rate {event['eta_l']:g}"
            return f"a local step with the gradient {_vector(event['g'])}{rate}"
        case "begin":
            return f"a new round begins at {_vector(event['x'])}"
        case "messages":
            return "; ".join(map(_message, event["messages"]))
        case "round":
            pairs = zip(event["participants"], event["steps"], strict=False)
            more = "".join(f"; {n} {event[n]}" for n in ("strategies", "scales", "noise", "draws") if event.get(n))
            return "a round of " + ", ".join(f"client {i} with {k} steps" for i, k in pairs) + more
        case "arrival":
            return (
                f"client {event['client']}'s update of {event['steps']} steps arrives, {event['delay']} versions late"
            )
    sets = ", then ".join(f"clients {list(who)}" for who in event["computing"]) or "nobody"
    more = f"; clusters {event['clusters']}" if event.get("clusters") else ""
    return f"{sets} compute; senders {event['senders']}; mixing {_vector(event['mixing'])}{more}"


def _message(m: Mapping[str, Any]) -> str:
    who = f"client {m['client']} with {m['weight']:g} examples and {m['steps']} steps (||a||_1 = {m['a_norm']:g})"
    control = f", its control variate by {_vector(m['control'])}" if m.get("control") else ""
    return f"{who} moved by {_vector(m['delta'])}{control}"


def _vector(value: Any) -> str:
    """A model, an array or a number, shortened."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{n}: {_vector(v)}" for n, v in value.items()) + "}"
    if isinstance(value, list):
        rest = f", ... {len(value)} in all" if len(value) > MOST else ""
        return "[" + ", ".join(map(_vector, value[:MOST])) + rest + "]"
    return f"{value:.9g}" if isinstance(value, int | float) else str(value)
