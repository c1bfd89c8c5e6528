"""The kill matrix on disk: one line for each mutant, and the reasons for what it leaves open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError
from fedspec.parsing import parse_json
from fedspec_suite.kills.asking import offers_of
from fedspec_suite.kills.fingerprints import of_law, of_mutant, offers
from fedspec_suite.kills.matrix import Matrix
from fedspec_suite.laws import LAWS
from fedspec_suite.mutants import MUTANTS

PATH = Path(__file__).with_name("matrix.json")

COMMAND = "fedspec mutants run {} --store"
"""What renews the lines of some mutants; without any, of all; with ``--law``, what a law says of all."""

RENEW = COMMAND.format("--stale")
"""What renews whatever rests on functions that have changed."""

_TWO_OPTIONS = "the specification offers no reading with both of its options turned; a subject may declare them"

_SCHEDULED = "the specification offers one rate for all steps; subjects with schedules are in tests/test_judge/subjects"

_CARRIED = (
    "the specification's offers carry no buffers; edits of fedspec.buffers are in tests/test_judge/test_buffers.py"
)

KEPT: dict[str, str] = {
    "buffers-alike": _CARRIED,
    "buffers-apart": _CARRIED,
    "buffers-follow": _CARRIED,
    "buffers-left-out": _CARRIED,
    "buffers-of-one": _CARRIED,
    "buffers-order": _CARRIED,
    "buffers-split": _CARRIED,
    "buffers-unweighted": _CARRIED,
    "buffers-variance": _CARRIED,
    "buffers-whole": _CARRIED,
    "dtype": "no edit of a rule changes the type; subjects that answer in another are in tests/test_judge/subjects",
    "fedada2-is-fedadaadam": _TWO_OPTIONS,
    "fednova-implied-is-fedprox": _TWO_OPTIONS,
    "schedule-constant": _SCHEDULED,
    "schedule-follows": _SCHEDULED,
    "schedule-step": _SCHEDULED,
    "inputs": "a rule gets copies of what is handed in; subjects that change it are in tests/test_judge/subjects",
}
"""Why a law stays that kills no mutant."""

SURVIVORS: dict[str, str] = {}
"""Why a mutant is kept that no law kills without reading the rule."""


@dataclass(frozen=True)
class Line:
    """What became of one mutant.

    Attributes:
        edit: the fingerprint of the edit that was run.
        offers: on how many offers it was asked.
        killed: the laws that kill it on some offer.
    """

    edit: str
    offers: int
    killed: tuple[str, ...]

    @property
    def independent(self) -> tuple[str, ...]:
        """The laws that kill it and do not read the rule."""
        return tuple(law for law in self.killed if law in LAWS and not LAWS[law].reads_rule)

    @property
    def reading(self) -> tuple[str, ...]:
        """The laws that kill it and read the rule."""
        return tuple(law for law in self.killed if law in LAWS and LAWS[law].reads_rule)


@dataclass(frozen=True)
class Stored:
    """The lines by mutant, the laws that were asked, with their fingerprints, and how the cases were drawn.

    A fingerprint says whom its law asks among the offers that there were, so that a new algorithm makes no law stale:
    its mutants have no line yet, and are asked by all.
    """

    seed: int
    cases: int
    laws: Mapping[str, str]
    lines: Mapping[str, Line]
    offers: tuple[str, ...] = ()

    def stale_mutants(self) -> list[str]:
        """The mutants that have no line, or one of another edit, another function or not as many offers."""
        asked = {name: (line.edit, line.offers) for name, line in self.lines.items()}
        return [name for name, m in MUTANTS.items() if asked.get(name) != (of_mutant(m), len(offers_of(m)))]

    def stale_laws(self) -> list[str]:
        """The laws that were not asked about all mutants as they are now."""
        return [name for name, law in LAWS.items() if self.laws.get(name) != of_law(law, self.offers)]


def lines(matrix: Matrix) -> dict[str, Line]:
    """The lines of a fresh matrix."""
    return {row.mutant: Line(row.edit, len(row.offers), row.killed) for row in matrix.rows}


def load(path: Path | None = None) -> Stored:
    """The stored matrix; an empty one where there is none yet.

    Raises:
        FedspecError: the file is no kill matrix.
    """
    path = path or PATH
    if not path.exists():
        return Stored(0, 0, {}, {})
    try:
        body: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        found = {n: Line(**{**line, "killed": tuple(line["killed"])}) for n, line in body["mutants"].items()}
        return Stored(body["seed"], body["cases"], {**body["laws"]}, found, tuple(body["offers"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FedspecError(f"mutants: {path} is no kill matrix ({error}); renew it: {COMMAND.format('')}") from error


def merged(old: Stored, matrix: Matrix, mutants: Iterable[str], laws: Iterable[str]) -> Stored:
    """The stored matrix with what a fresh one found in place of its own, cut to the mutants and laws that there are.

    A law that was asked about some of the mutants only is not yet one of its laws, or is what it was before.
    """
    new, mutants, laws = lines(matrix), set(mutants), set(laws)
    out = {name: line for name, line in old.lines.items() if name in mutants and name not in new}
    for name, line in new.items():
        before = old.lines[name].killed if name in old.lines and set(matrix.laws) < laws else ()
        killed = {law for law in before if law in laws and law not in matrix.laws} | set(line.killed)
        out[name] = replace(line, killed=tuple(sorted(killed)))
    # What is known of a law stays known: of the offers that are new, its mutants are asked by all laws.
    current = {law for law, digits in old.laws.items() if law in LAWS and digits == of_law(LAWS[law], old.offers)}
    asked = {law: of_law(LAWS[law]) for law in {*current, *(matrix.laws if mutants <= set(new) else ())}}
    known = {law: digits for law, digits in sorted({**old.laws, **asked}.items()) if law in laws}
    return Stored(matrix.seed, matrix.cases, known, dict(sorted(out.items())), tuple(offers()))


def text(stored: Stored) -> str:
    """The file: JSON, one line for each mutant."""
    head = {"seed": stored.seed, "cases": stored.cases, "laws": dict(stored.laws), "offers": stored.offers}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(asdict(line))}" for name, line in stored.lines.items())
    return f'{json.dumps(head)[:-1]}, "mutants": {{\n{rows}\n}}}}\n'


def save(stored: Stored, path: Path | None = None) -> None:
    """Write the file.

    Raises:
        FedspecError: it cannot be written.
    """
    path = path or PATH
    try:
        path.write_text(text(stored), encoding="utf-8")
    except OSError as error:
        raise FedspecError(f"mutants: cannot write {path} ({error}); run from a source tree") from error
