"""Sentences on parts of a claim that no check saw, and on zeros that the subject refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedspec_suite.judge.refused_zeros import REFUSALS, TAKES_BLOCKS, TAKES_ZERO
from fedspec_suite.measure.verdict import Result, Status

LARGER = {"the schedule": "--rounds", "divisor-at-least": "--clients"}
"""Options that let cases reach a word, by its beginning."""


def refused_zeros(r: Result) -> dict[str, str]:
    """Return the quantities that the subject refuses at zero although its claim allows it, with its messages."""
    before = f"{TAKES_ZERO}-"
    return {o.law.removeprefix(before): o.reason for o in r.obligations if o.law.startswith(before)}


def refusal(zeros: Mapping[str, str]) -> str:
    """Sentence on refused zeros, with the declaration that excludes them."""
    names = [*zeros]
    said = one_line(zeros[names[0]]).removeprefix("adapter: ")[:120]
    what = " and ".join("a client without examples" if n == "weight" else f"{n} = 0" for n in names)
    declared = ", ".join(f'"{n}"' for n in names) + "," * (len(names) == 1)
    return f"refuses {what} ({said}), which nonzero=({declared}) declares"


def refuses(r: Result) -> str:
    """Describe the zeros and models that the subject refuses and the other checks; empty if it refuses none."""
    zeros = refused_zeros(r)
    blocks = [
        f'refuses several blocks ({one_line(o.reason).removeprefix("adapter: ")[:120]}), which blocks="one" declares'
        for o in r.obligations
        if o.law == TAKES_BLOCKS
    ]
    rest = [o for o in r.obligations if o.status is not Status.SKIP and not o.law.startswith(REFUSALS)]
    passed = sum(o.status is Status.PASS for o in rest)
    told = [*blocks, *([refusal(zeros)] if zeros else [])]
    return f"{'; '.join(told)}; without it {passed} of {len(rest)} pass" if told else ""


def to_be_seen(r: Result) -> str:
    """Explain why part of a claim was not seen, and which quantities to return so that it is seen."""
    if not r.seen:
        return "none of these checks compares with the rule; run follows-x too"
    equations = tuple(u for u in r.unseen if not u.is_word)
    named = ", ".join(u.equation for u in equations)
    fields = to_show(r)
    if words := [u.equation for u in r.unseen if u.is_word]:
        flags = [flag for start, flag in LARGER.items() if any(word.startswith(start) for word in words)]
        remedy = ", or ".join([*(f"raise {flag}" for flag in flags), "claim a number nearer to 1, which they reach"])
        reached = f"code without {' or '.join(words)} gives the same numbers in fedspec's cases; {remedy}"
        return "; ".join([reached, *([to_be_seen(replace(r, unseen=equations))] if equations else [])])
    if not fields:
        return f"nothing that an adapter can return at level {r.level} depends on {named}"
    return f"{', '.join(r.seen)} would be the same with another {named}; return {', '.join(fields)} too"


def to_show(r: Result) -> list[str]:
    """Choose a few quantities that together reveal all unseen equations, the most revealing first."""
    open_ = [{*u.shown_by} for u in r.unseen if u.shown_by]
    names = list(dict.fromkeys(name for u in r.unseen for name in u.shown_by))
    out = []
    while open_:
        out.append(max(names, key=lambda name: sum(name in shown for shown in open_)))
        open_ = [shown for shown in open_ if out[-1] not in shown]
    return out


def one_line(text: str) -> str:
    """Join the lines of a text into one."""
    return " ".join(text.split())
