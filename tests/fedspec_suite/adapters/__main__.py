"""``python -m fedspec_suite.adapters FILE:FUNCTION --rule fedit``: judge a function that mixes adapters."""

from __future__ import annotations

import argparse
import importlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError, UnknownNameError
from fedspec.mixing.lora import Factor
from fedspec.readings import Weighting
from fedspec_suite.adapters.cases import cases
from fedspec_suite.adapters.judging import judge
from fedspec_suite.adapters.laws import LAWS, asked_of
from fedspec_suite.adapters.rounds import FUNCTIONS, Claim, Mixer, following, named
from fedspec_suite.adapters.variants import mutants, spoilt


def found(name: str, claim: Claim) -> Mixer:
    """The function of that name: ``FILE.py:NAME``, ``MODULE:NAME``, ``spec``, or ``mutant:ID``.

    Raises:
        UnknownNameError: the file, module or list of mistakes has no such name.
    """
    where, _, what = name.rpartition(":")
    if name == "spec":
        return following(claim)
    if where == "mutant":
        if (mutant := next((m for m in mutants() if m.id == what), None)) is None:
            raise UnknownNameError(f"mutant: none is called {what!r}; --list names them")
        return following(claim, spoilt(mutant))
    if not where:
        raise UnknownNameError(f"mixer: got {name!r}; give FILE.py:FUNCTION or MODULE:FUNCTION")
    if where.endswith(".py"):
        # As for a script: a file finds those beside it.
        sys.path.insert(0, str(Path(where).parent))
    names: dict[str, Any] = runpy.run_path(where) if where.endswith(".py") else vars(importlib.import_module(where))
    if not callable(mixer := names.get(what)):
        raise UnknownNameError(f"mixer: {where} has no function {what!r}")
    return mixer  # type: ignore[no-any-return]


def listed() -> str:
    """The rules with their laws, and the mistakes that have a name."""
    lines = []
    for rule in FUNCTIONS:
        asked = {law.id: None for w in (Weighting.EXAMPLES, Weighting.UNIFORM) for law in asked_of(Claim(rule, w))}
        lines.append(f"{rule}: {', '.join(asked)}")
        lines += [f"  {m.id}: {m.words}" for m in mutants() if m.rule == rule]
    return "\n".join([*lines, "", *(f"{law.id}: {law.words}" for law in LAWS)])


def main(arguments: list[str] | None = None) -> int:
    """Judge; 0 if all laws hold, 1 if one does not, 2 if nothing could be judged."""
    parser = argparse.ArgumentParser(prog="python -m fedspec_suite.adapters", description=__doc__)
    parser.add_argument("mixer", nargs="?", help="FILE.py:FUNCTION, MODULE:FUNCTION, spec or mutant:ID")
    parser.add_argument("--rule", default="fedit", help=", ".join(FUNCTIONS))
    parser.add_argument("--weights", default="examples", choices=["examples", "uniform"])
    parser.add_argument("--first", default="B", choices=["A", "B"], help="of rolora: which factor is trained first")
    parser.add_argument("--own-ranks", action="store_true", help="of flora: clients have ranks of their own")
    parser.add_argument("--cases", action="store_true", help="print the rounds and the rule's answers as JSON")
    parser.add_argument("--seed", type=int, default=0, help="of the rounds that are drawn")
    parser.add_argument("--list", action="store_true", help="print rules, laws and mistakes")
    told = parser.parse_args(arguments)
    if told.list:
        print(listed())
        return 0
    try:
        claim = Claim(named(told.rule), Weighting(told.weights), Factor(told.first), told.own_ranks)
        if told.cases:
            print(json.dumps(cases(claim, told.seed), indent=1))
            return 0
        if told.mixer is None:
            raise UnknownNameError("mixer: none is given; give FILE.py:FUNCTION")
        finding = judge(found(told.mixer, claim), claim, seed=told.seed)
    except (FedspecError, OSError, ImportError) as error:
        print(error, file=sys.stderr)
        return 2
    print(finding)
    return 0 if finding.conforms else 1


if __name__ == "__main__":
    sys.exit(main())
