"""The command ``fedspec adapter``: write a template of the file that connects an implementation to fedspec."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import fields, replace
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import find
from fedspec.contract import BESIDE, LEVELS, Arrival, Case, Exchange, Gradient, Messages, Offer, Quadratics, Round
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError, UnknownNameError
from fedspec.readings import meanings
from fedspec_suite.cli.usual_fields import PAGES, USUAL, claimed, fields_of, quoted, with_fields
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of, with_reading
from fedspec_suite.report.output import write_new
from fedspec_suite.report.terminal import console


class Language(StrEnum):
    """Programming language of an adapter."""

    PY = "py"
    JS = "js"
    CPP = "cpp"


ENDS = {Language.PY: ".py", Language.JS: ".mjs", Language.CPP: ".cpp"}
RUNS = {
    Language.PY: "fedspec check {}",
    Language.JS: "fedspec check 'cmd:node {}'",
    Language.CPP: "g++ -std=c++17 -O2 -o adapter {} && fedspec check cmd:./adapter",
}

OPTIONS = {
    Language.PY: ', options={{"weights": "{}"}}',
    Language.JS: ' options: {{ weights: "{}" }},',
    Language.CPP: ' {{"options", {{{{"weights", "{}"}}}}}},',
}
"""Text of the claim's option ``weights``, by language."""

SAVES = """
def save(self):
    \"\"\"Return the state as bytes.\"\"\"
    raise NotImplementedError("return all that the next step reads: model, moments, counters, random state")

def restore(self, saved):
    \"\"\"Continue from the bytes of `save`, in a new session.\"\"\"
    raise NotImplementedError("put what `save` returned into the objects that __init__ built")
"""
"""Methods of a session that can be saved and restored."""

WORDS = {
    Gradient: "If `event` is a `Begin` (in JSON `type` is `begin`), a round begins at the model `event.x`: return it.\n"
    "Else it has the gradient of one local step:",
    Messages: "`event.messages` has, for each participant,",
    Round: "`event` is a round: train its participants, then average. It has",
    Exchange: "`event` is a round among peers. It has",
    Arrival: "`event` is one update that reaches the server. It has",
}
"""Description of a session's first event, by its type."""


def adapter(
    algorithm: Annotated[str, typer.Argument(metavar="ALGORITHM", help="A name of `fedspec list`.")],
    level: Annotated[str, typer.Option(help="client, server, round or trace; default: its first.")] = "",
    lang: Annotated[Language, typer.Option(help="Python, JavaScript or C++.")] = Language.PY,
    folder: Annotated[Path, typer.Option(help="Folder for the file; created if missing.")] = Path(),
    more: Annotated[
        str, typer.Option("--with", metavar="FIELD,...", help=f"Fields of the claim: {', '.join(USUAL)}.")
    ] = "",
) -> None:
    """Write an adapter: the file that connects your implementation to fedspec, with a line to fill in."""
    row = find(algorithm)
    if level and level not in row.levels:
        known = f"{row.id} has {', '.join(row.levels)}" if level in LEVELS else f"known: {', '.join(LEVELS)}"
        raise UnknownNameError(f"level: got {level!r}; {known}")
    offer = with_reading(Offer(row.id, next(one for one in row.levels if one == (level or one))))
    # How clients weigh is the choice that is missed most: it is written out, unless the reading decides.
    free = {"weights"} - {*row.reading(offer.reading).fixes}
    offer = replace(offer, options={n: v for n, v in setting_of(offer).options.items() if n in free})
    names = fields_of(more)
    if names and lang is not Language.PY:
        raise FedspecError(f"with: writes Python alone, not --lang {lang}; add the field to the claim by hand")
    offer = with_fields(offer, names)
    path = folder / f"{row.id.replace('-', '_')}_{offer.level}{ENDS[lang]}"
    write_new(path, text_of(offer, lang, path), "adapter", "move it, or choose another --folder")
    out = console()
    out.print(f"{path} claims {row.id} at level {offer.level}. Call your code in its `step`, then:")
    out.print(f"  {RUNS[lang].format(path)}", soft_wrap=True)
    if offer.level == "server" and "round" in row.levels:
        out.print("This level judges the server alone; --level round judges the clients too.")


def text_of(offer: Offer, lang: Language, path: Path) -> str:
    """Return the text of an adapter."""
    s = plain_scenario(setting_of(offer))
    told = {"CASE": [*_case(s)], "EVENT": [*_event(s)], "WEIGHTS": [*_weights(offer)], "USUAL": [*_usual(offer)]}
    told["SAVES"] = SAVES.splitlines() if offer.resumes else []
    text = files("fedspec_suite.cli").joinpath(f"adapter_{lang}.txt").read_text(encoding="utf-8")
    # A mark ends its line, and each line in its place begins as that line does.
    lines = []
    for line in text.splitlines():
        mark = next((name for name in told if line.endswith(f"<{name}>")), "")
        start = line.removesuffix(f"<{mark}>")
        lines += [(start + said).rstrip() for said in told[mark]] if mark else [line]
    text = "\n".join(lines) + "\n"
    options = OPTIONS[lang].format(offer.options["weights"]) if offer.options else ""
    options += "".join(f",\n        {name}={quoted(getattr(offer, name))}" for name in claimed(offer))
    shown = "".join(f'"{name}", ' for name in find(offer.algorithm).shows_at(offer.level)).strip() or '"...",'
    marks = {"ALGORITHM": offer.algorithm, "LEVEL": offer.level, "FILE": str(path), "OPTIONS": options, "SHOWN": shown}
    for mark, said in marks.items():
        text = text.replace(f"<{mark}>", said)
    return text


def _usual(offer: Offer) -> Iterator[str]:
    """The fields with example values, each beside its page."""
    if found := claimed(offer):
        yield "The values of these fields are examples; put in what your code does:"
        yield from _rows([(name, PAGES[name]) for name in found])


def _weights(offer: Offer) -> Iterator[str]:
    """The weights that the claim may name, if it names some."""
    if offer.options:
        yield "`weights` may be"
        yield from _rows([*meanings(find(offer.algorithm).options["weights"]).items()])


def _case(s: Scenario) -> Iterator[str]:
    yield from _rows([("x0", "the initial model, arrays by name"), ("dtype", "their type")])
    yield from _rows([("hyper", "hyper-parameters by name:" if s.case.hyper else "hyper-parameters: none here")])
    yield from ("    " + line for line in _rows([(n, DOMAINS[n].meaning) for n in s.case.hyper]))
    more = [n for n in ("problem", "population") if getattr(s.case, n) is not None]
    yield from _rows([(n, said) for n, said in _documented(Case) if n in more])
    if s.case.problem:
        shown = {f.name for f in fields(Quadratics) if getattr(s.case.problem, f.name) is not None}
        yield from ("    " + line for line in _rows([(n, said) for n, said in _documented(Quadratics) if n in shown]))
    yield from _rows([(n, said) for n, said in _documented(Case) if n in BESIDE and getattr(s.case, n)])


def _event(s: Scenario) -> Iterator[str]:
    event: Any = s.events[0]
    yield from WORDS[type(event)].split("\n")
    record = event.messages[0] if isinstance(event, Messages) else event
    shown = {f.name for f in fields(record) if not _is_empty(getattr(record, f.name))}
    yield from _rows([(n, said) for n, said in _documented(type(record)) if n in shown])


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, tuple | dict) and not value)


def _documented(record: type) -> list[tuple[str, str]]:
    """The attributes of a record with what its docstring says of them."""
    _, _, after = (record.__doc__ or "").partition("Attributes:\n")
    found = re.findall(r"^ {8}(\w+): (.+(?:\n {12}.+)*)", after, re.MULTILINE)
    return [(name, " ".join(said.split()).replace("``", "`").removesuffix(".")) for name, said in found]


WIDE = 100


def _rows(found: list[tuple[str, str]]) -> Iterator[str]:
    """Names beside what they are, in columns."""
    wide = max((len(name) for name, _ in found), default=0) + 2
    for name, said in found:
        for k, line in enumerate(textwrap.wrap(said, WIDE - wide)):
            yield f"    {name if k == 0 else '':{wide}}{line}"
