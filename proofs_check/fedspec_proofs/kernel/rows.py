"""The tables of docs/worst-cases.md as theorems in Coq, proved by the multipliers of one_round.json.

What a theorem says is read off the page; the stored row has to prove it. Where the page has FedNova as FedAvg, it is
FedNova of which the theorem is, by FedAvg's multipliers. The table of a server's coefficients is in :mod:`weighed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.engines.worst_case.forms import Form, basis
from fedspec_proofs.engines.worst_case.plays import Play, Start, play
from fedspec_proofs.fednova.claims.round_numbers import by_round
from fedspec_proofs.kernel.text import checked_theorem, coq_list, identifier, naturals, number, numbers
from fedspec_proofs.worst_cases.one_round import HELD, MU, OTHERS, Round, clients_of, method_of

TABLE = re.compile(r"<!-- worst: (\w+) -->\n(.*?)\n<!-- end -->", re.DOTALL)
COLUMN = re.compile(r"`(\w+)`(?:, zeta\^2 = (\d+))?")
BEST = re.compile(r"([\d/]+): ([\d.]+)")
PAIR = re.compile(r"F(\d+) (\d+),(\d+)")
GRADIENT = re.compile(r"F(\d+)\.g(\d+)")


@dataclass(frozen=True)
class Cell:
    """A number of the page's tables.

    Attributes:
        algorithm: algorithm of the row.
        steps: steps of each client.
        eta_l: the clients' learning rate.
        zeta2: the mean square of the clients' gradients at x*; 0 for algorithms whose clients keep a vector.
        bound: the bound in the table.
        by: the algorithm whose stored row has the multipliers.
    """

    algorithm: str
    steps: tuple[int, ...]
    eta_l: str
    zeta2: Fraction
    bound: Fraction
    by: str

    @property
    def name(self) -> str:
        """Name of the cell's theorem in Coq."""
        last = "" if self.algorithm in HELD else f" zeta2 {self.zeta2}"
        return identifier(f"{self.algorithm} steps {' '.join(map(str, self.steps))} rate {self.eta_l}{last}")


def cells(page: str) -> list[Cell]:
    """Parse the tables of rounds on the page, each number once; :mod:`weighed` parses the table of server coefficients.

    Raises:
        FedspecError: the page has two different numbers for one round.
    """
    found: dict[str, Cell] = {}
    for table, text in TABLE.findall(page):
        if table == "coefficients":
            continue
        head, _, *lines = ([c.strip() for c in line.strip("|").split("|")] for line in text.splitlines())
        for c in chain.from_iterable((_best if table == "best" else _cells_of_row)(head, line) for line in lines):
            if found.setdefault(c.name, c) != c:
                raise FedspecError(
                    f"kernel: the page has {float(c.bound)} and another bound for {c.name}; they must be equal"
                )
    return [*found.values()]


def _cells_of_row(head: Sequence[str], line: Sequence[str]) -> Iterator[Cell]:
    """Cells of a row of algorithms."""
    columns = [(m[1], Fraction(m[2] or 0)) for m in map(COLUMN.fullmatch, head[2:]) if m]
    steps, said = tuple(map(int, line[0].split(","))), dict(zip(columns, line[2:], strict=True))
    for (algorithm, zeta2), words in said.items():
        other = re.fullmatch(r"as `(\w+)`", words)
        by = other[1] if other else algorithm
        yield Cell(algorithm, steps, line[1], zeta2, Fraction(said[by, zeta2]), by)


def _best(head: Sequence[str], line: Sequence[str]) -> Iterator[Cell]:
    """Cells of FedAvg and FedNova at their best rates."""
    steps = tuple(map(int, line[0].split(",")))
    by = method_of(steps)
    for column, words in zip(head[1:], line[1:], strict=True):
        if m := BEST.fullmatch(words):
            yield Cell(by, steps, m[1], Fraction(column.removeprefix("zeta^2 = ")), Fraction(m[2]), by)


def statement(cell: Cell, form: Sequence[Sequence[str]]) -> str:
    """Write the theorem's statement in Coq's syntax."""
    n, rate = len(cell.steps), number(cell.eta_l)
    rule = f"(fun V => {cell.algorithm} {n} (steps {naturals(cell.steps)}) {_numbers(cell, rate)})"
    kind = f"{number(cell.zeta2)}" if cell.algorithm not in HELD else coq_list(map(numbers, form))
    word = "falls" if cell.algorithm in HELD else "distance"
    return f"{word} {rule} {n} {number(MU)} 1 {kind} {number(cell.bound)}"


def proof(cell: Cell, row: Mapping[str, Any]) -> str:
    """Write a row's multipliers as the argument of the proof.

    Raises:
        FedspecError: a multiplier belongs to something else than an inequality between two points of a client.
    """
    return multipliers(cell.name, row["proof"], () if cell.algorithm in HELD else ("start", "zeta"))


def multipliers(name: str, proof: Mapping[str, str], ends: Sequence[str]) -> str:
    """Write multipliers in Coq's syntax: first those of the inequalities named in ``ends``, in order, then the rest.

    Raises:
        FedspecError: a multiplier belongs to something else than an inequality between two points of a client.
    """
    found, pairs = dict(proof), []
    first = [number(found.pop(end, 0)) for end in ends]
    for words, c in found.items():
        pair = PAIR.fullmatch(words)
        if not pair:
            raise FedspecError(f"kernel: {name}: {words!r} isn't an inequality between two points of a client")
        pairs.append(f"({pair[1]}%nat, {pair[2]}%nat, {pair[3]}%nat, {number(c)})")
    return " ".join([*first, coq_list(pairs)])


def argument(cell: Cell, row: Mapping[str, Any]) -> str:
    """Proof term of a row, complete except for the final evaluation of the check."""
    holes = " ".join("_" * (7 + len(OTHERS[cell.algorithm])))
    return f"{cell.algorithm}_row {holes} {proof(cell, row)}"


def _numbers(cell: Cell, rate: str) -> str:
    """Numbers of the rule, the local rate first."""
    return " ".join([rate, *(number(c) for c in OTHERS[cell.algorithm].values())])


def theorem(cell: Cell, row: Mapping[str, Any]) -> str:
    """Write a theorem, and a second one: its rule makes the same forms as the specification's rule."""
    n, rate = len(cell.steps), number(cell.eta_l)
    forms = f"{cell.algorithm}_forms {n} (steps {naturals(cell.steps)}) {_numbers(cell, rate)}"
    runs = f"alike ({forms})\n  {coq_list(map(numbers, run(cell)))} = true"
    proved = checked_theorem(cell.name, statement(cell, row["form"]), argument(cell, row))
    return proved + checked_theorem(f"{cell.name}_runs", runs)


def run(cell: Cell) -> list[list[Fraction]]:
    """Run a round of the specification's rule on forms; return points and end as coefficients over Coq's basis."""
    r = Round(cell.algorithm, cell.steps, cell.eta_l)
    n = len(cell.steps)
    each = [basis(f"c{i}") for i in range(n)]

    def after(start: Start, clients: Any) -> list[Any]:
        x = start(basis("x"))
        return r.kept(x, [start(c) for c in each], clients) if r.keeps else [r.after(x, clients)]

    return on_forms(n, after)


def on_forms(n: int, after: Callable[[Start, Any], Sequence[Any]]) -> list[list[Fraction]]:
    """Run a round on forms; return evaluated points, by client, and the end as coefficients over Coq's basis."""
    functions, _ = clients_of(n)
    played: Play = play(functions, after)
    # The first point of each client is x*, where nobody asks.
    points = [x for f in functions for x in [*f.points][1:]]
    return [coefficients(x, n) for x in (*points, *played.ended)]


def coefficients(x: Form, n: int) -> list[Fraction]:
    """Coefficients of a form over x - x* and, by client, gradient at x*, kept vector, gradients in steps 0, 1, ...

    Raises:
        FedspecError: the form contains another vector.
    """
    out: dict[int, Fraction] = {}
    for name, c in x.parts:
        gradient = GRADIENT.fullmatch(name)
        if name == "x":
            out[0], at = c, 1
        elif gradient:
            at = 2 + (1 + int(gradient[2])) * n + int(gradient[1])
        elif re.fullmatch(r"c\d+", name):
            at = 2 + n + int(name[1:])
        else:
            raise FedspecError(f"kernel: a rule's result contains {name}; it may read x, gradients and kept vectors")
        out[at] = c
    return [out.get(k, Fraction(0)) for k in range(max(out, default=-1) + 1)]


HEAD = """(* Written by fedspec_proofs.kernel from docs/worst-cases.md and one_round.json. *)

Require Import Vectors Classes Certificates Rounds Statements Soundness Rules.
Open Scope Q_scope.

"""


def coq_text(page: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Text of the Coq file, and the names of its theorems.

    Raises:
        FedspecError: the page has a number without a stored row, or a stored row has no number on the page.
    """
    stored, said = by_round(rows), cells(page)
    asked = {(c.by, c.steps, c.eta_l, c.zeta2) for c in said}
    if asked != {*stored} or len(stored) != len(rows):
        raise FedspecError(
            f"kernel: in the page or the stored rows, but not in both: {sorted(map(str, asked ^ {*stored}))}"
        )
    texts = [theorem(c, stored[c.by, c.steps, c.eta_l, c.zeta2]) for c in said]
    return HEAD + "\n".join(texts), [name for c in said for name in (c.name, f"{c.name}_runs")]
