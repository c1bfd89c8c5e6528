"""The command ``fedspec lora``: check whether a server aggregates low-rank adapters by the rule that it claims."""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.errors import ContractError, ParameterError, UnknownNameError
from fedspec.mixing.lora import Factor
from fedspec.readings import Weighting
from fedspec_suite.lora.judging import cases, judge, raised
from fedspec_suite.lora.laws import LAWS, asked_of
from fedspec_suite.lora.rounds import FUNCTIONS, Claim, Mixer, following, named
from fedspec_suite.lora.variants import mutants, spoilt
from fedspec_suite.report.terminal import Json, emit

EPILOG = "Exit code: 0 all laws hold, 1 one does not, 2 usage error, or nothing could be judged."

KINDS = "FILE.py:FUNCTION, MODULE:FUNCTION, spec or mutant:ID"


def found(name: str, claim: Claim) -> Mixer:
    """Return the aggregation function named ``FILE.py:NAME``, ``MODULE:NAME``, ``spec`` or ``mutant:ID``.

    Raises:
        UnknownNameError: there is no such file or module, or it or the list of mistakes has no such name.
        ContractError: the file or module cannot be run.
    """
    where, _, what = name.rpartition(":")
    if name == "spec":
        return following(claim)
    if where == "mutant":
        if (mutant := next((m for m in mutants() if m.id == what), None)) is None:
            raise UnknownNameError(f"mutant: none is called {what!r}; fedspec lora --list prints all")
        return following(claim, spoilt(mutant))
    file = Path(where)
    if not where or (file.suffix == ".py" and not file.is_file()):
        raise UnknownNameError(f"mixer: {f'no file {where}' if where else f'got {name!r}'}; give {KINDS}")
    try:
        if file.suffix == ".py":
            # As for a script: a file finds those beside it.
            sys.path.insert(0, str(file.parent))
            names: dict[str, Any] = runpy.run_path(where)
        else:
            names = vars(importlib.import_module(where))
    except Exception as error:  # Whatever the caller's own file raises.
        raise ContractError(f"mixer: {where} cannot be run: {raised(error)}") from error
    if not callable(mixer := names.get(what)):
        raise UnknownNameError(f"mixer: {where} has no function {what!r}")
    return mixer  # type: ignore[no-any-return]


def listed() -> str:
    """Return the text of ``--list``: the rules with their laws, and the named mistakes."""
    lines = []
    for rule in FUNCTIONS:
        asked = {law.id: None for w in (Weighting.EXAMPLES, Weighting.UNIFORM) for law in asked_of(Claim(rule, w))}
        lines.append(f"{rule}: {', '.join(asked)}")
        lines += [f"  {m.id}: {m.words}" for m in mutants() if m.rule == rule]
    return "\n".join([*lines, "", *(f"{law.id}: {law.words}" for law in LAWS)])


def lora_(
    mixer: Annotated[str | None, typer.Argument(metavar="MIXER", help=KINDS)] = None,
    rule: Annotated[str, typer.Option(help=f"What it claims: {', '.join(FUNCTIONS)}.")] = "fedit",
    weights: Annotated[
        Weighting, typer.Option(help="How it weighs clients: examples or uniform.")
    ] = Weighting.EXAMPLES,
    first: Annotated[Factor, typer.Option(help="Of rolora: which factor is trained first.")] = Factor.B,
    own_ranks: Annotated[bool, typer.Option("--own-ranks", help="Of flora: clients have own ranks.")] = False,
    rounds: Annotated[bool, typer.Option("--cases", help="Print rounds and the rule's answers as JSON.")] = False,
    seed: Annotated[int, typer.Option(help="Of the rounds that are drawn.")] = 0,
    names: Annotated[bool, typer.Option("--list", help="Print rules, laws and mistakes.")] = False,
    as_json: Json = False,
) -> None:
    """Judge a function that averages the low-rank matrices (LoRA) of clients: FedIT, FFA-LoRA, RoLoRA, FLoRA, FedEx.

    Nothing is trained: a dozen rounds of small whole numbers are mixed. docs/lora.md has a first function.
    """
    if names:
        typer.echo(listed())
        return
    if weights is Weighting.STEPS:
        raise ParameterError("--weights: got steps, which a round doesn't state; give examples or uniform")
    claim = Claim(named(rule), weights, first, own_ranks)
    if rounds:
        typer.echo(json.dumps(cases(claim, seed), indent=1))
        return
    if mixer is None:
        raise UnknownNameError(f"mixer: got none; give {KINDS}")
    finding = judge(found(mixer, claim), claim, seed=seed)
    if as_json:
        emit([finding.record()])
    else:
        typer.echo(str(finding))
    raise typer.Exit(0 if finding.conforms else 1)
