"""The page's table of server coefficients as theorems in Coq, proved by the data of coefficients.json.

A round ends at x_+ = x + sum_i w_i (x_i - x). What a theorem says is read off the page: the rate, zeta, the w_i and the
number. The stored row has to prove it: a number of the w_i that are printed by multipliers, and one that no w_i are
below by functions in numbers. FedAvg's and FedNova's own coefficients are held to the specification's rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.engines.worst_case.certificates import attained_of
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.fednova.claims.best_coefficients import WAYS
from fedspec_proofs.kernel.rows import HEAD as ROWS_HEAD
from fedspec_proofs.kernel.rows import TABLE, multipliers, on_forms
from fedspec_proofs.kernel.text import checked_theorem, coq_list, identifier, naturals, number, numbers
from fedspec_proofs.worst_cases.coefficients import Weighed, across, plane_of
from fedspec_proofs.worst_cases.one_round import MU, Round

STEPS = (1, 1, 3, 3)
"""Steps of the clients: half take one step, half three. Four clients are the fewest that the page mentions."""

ALIKE = "1000000000"
"""Multiplier of zeta^2 <= 0, which may be arbitrarily large: stored rows for zeta = 0 have no gradients at x*."""

BEST = {"best tau_eff": "nova", "best two": "free"}
"""Columns whose cells contain the coefficients; for the other columns the headings contain them."""

ALLOWED = {"nova": "(nova {n})", "free": "any"}
"""Sets of coefficients in Coq, none of which gets below the lower bound."""

HEAD = ROWS_HEAD.replace("one_round.json", "coefficients.json").replace(" Rules.", " Rules Reached.")

OWN = ("Reached.weighed_is",)
"""Lemma in Coq: with rational coefficients, the lower bounds' round ``weighed_by`` is the upper bounds' ``weighed``."""


@dataclass(frozen=True)
class Weights:
    """A number of the table.

    Attributes:
        which: the algorithm whose coefficients the cell has: ``nova`` for the best tau_eff, ``free`` for the best two
            coefficients.
        eta_l: the clients' learning rate.
        zeta2: the mean square of the clients' gradients at x*.
        w: the factor of each client's change.
        bound: the bound in the table.
        least: the lower bound for all coefficients of the same kind, if the page has one.
        steps: numbers of local steps of the clients.
    """

    which: str
    eta_l: str
    zeta2: Fraction
    w: tuple[Fraction, ...]
    bound: Fraction
    least: Fraction | None
    steps: tuple[int, ...] = STEPS

    @property
    def name(self) -> str:
        """Name of its theorem in Coq."""
        return identifier(f"coefficients {self.which} rate {self.eta_l} zeta2 {self.zeta2}")

    @property
    def round(self) -> str:
        """Clients, steps and rate in Coq's syntax."""
        return f"{len(self.steps)} (steps {naturals(self.steps)}) {number(self.eta_l)}"

    @property
    def rule(self) -> str:
        """The rule with its coefficients in Coq's syntax."""
        return f"{self.round} (weights {numbers(self.w)})"

    @property
    def weighed(self) -> Weighed:
        """This round as a record of the ledger, with one coefficient per number of steps."""
        of = dict(zip(self.steps, self.w, strict=True))
        return Weighed(self.steps, Fraction(self.eta_l), self.zeta2, (*of.values(),))


def weights(page: str) -> list[Weights]:
    """Parse the numbers of the page's table."""
    text = next(text for table, text in TABLE.findall(page) if table == "coefficients")
    head, _, *lines = ([c.strip() for c in line.strip("|").split("|")] for line in text.splitlines())
    return [*chain.from_iterable(_said(head, line) for line in lines)]


def _said(head: Sequence[str], line: Sequence[str]) -> list[Weights]:
    zeta2, eta_l, found = Fraction(line[0]), line[1], list[Weights]()
    for k, (column, words) in enumerate(zip(head, line, strict=True)):
        name, _, own = column.partition(": ")
        if k < 2 or name == "at least":
            continue
        said, bound = (own, words) if own else words.split(": ")
        which = name.strip("`") if own else BEST[name]
        least = None if own else Fraction(line[k + 1])
        found.append(Weights(which, eta_l, zeta2, _each(which, said), Fraction(bound), least))
    return found


def _each(which: str, said: str) -> tuple[Fraction, ...]:
    """tau_eff / (n tau_i), or the coefficients of one and of three steps over n."""
    n, numbers_ = len(STEPS), [*map(Fraction, said.split("; "))]
    if which == "nova":
        (tau_eff,) = numbers_
        return tuple(tau_eff / (n * tau) for tau in STEPS)
    of = dict(zip(dict.fromkeys(STEPS), numbers_, strict=True))
    return tuple(of[tau] / n for tau in STEPS)


def statement(cell: Weights) -> str:
    """Write the theorem's statement in Coq's syntax."""
    rule = f"(fun V => weighed {cell.rule})"
    return f"distance {rule} {len(cell.steps)} {number(MU)} 1 {number(cell.zeta2)} {number(cell.bound)}"


def argument(cell: Weights, row: Mapping[str, Any]) -> str:
    """Proof term of a row, complete except for the final evaluation of the check."""
    proof = {"zeta": ALIKE, **row["proof"]} if cell.zeta2 == 0 else row["proof"]
    return f"weighed_row {' '.join('_' * 8)} {multipliers(cell.name, proof, ('start', 'zeta'))}"


def run(cell: Weights) -> list[list[Fraction]]:
    """Run the specification's rule on forms: the algorithm's own, or single-client FedAvg for free coefficients."""
    r = cell.weighed if cell.which in WAYS else Round(cell.which, cell.steps, cell.eta_l)
    return on_forms(len(cell.steps), lambda start, clients: [r.after(start(basis("x")), clients)])


def theorem(cell: Weights, row: Mapping[str, Any]) -> str:
    """Write a theorem, and a second one: its round makes the same forms as the specification's round."""
    runs = f"alike (weighed_forms {cell.rule})\n  {coq_list(map(numbers, run(cell)))} = true"
    return checked_theorem(cell.name, statement(cell), argument(cell, row)) + checked_theorem(f"{cell.name}_runs", runs)


def statement_below(cell: Weights) -> str:
    """Write the statement that no allowed coefficients come nearer to x*.

    Raises:
        FedspecError: the page has no lower bound for these coefficients.
    """
    if cell.least is None:
        raise FedspecError(f"kernel: {cell.name}: the page has no lower bound for other coefficients")
    allowed = ALLOWED[cell.which].format(n=len(cell.steps))
    return f"no_nearer {allowed} {cell.round} {number(MU)} 1 {number(cell.zeta2)} {number(cell.least)}"


def argument_below(cell: Weights, row: Mapping[str, Any]) -> str:
    """Proof term of the lower bound, from the row's functions, complete except for the final evaluation.

    Raises:
        FedspecError: the stored row has no functions for the lower bound.
    """
    found = attained_of(row)
    if found is None:
        raise FedspecError(f"kernel: {cell.name}: the stored row has no functions for the lower bound")
    problem, begun, moves = plane_of(cell.weighed, WAYS[cell.which](cell.weighed))
    assert problem.play
    x = found.at(begun)
    points = [[*f.points.values()] for f in problem.play.functions]
    gradients = coq_list(coq_list(numbers(found.at(p.g)) for p in of) for of in points)
    heights = coq_list(numbers(found.of(p.f) for p in of) for of in points)
    # At right angles to where x goes, whatever the coefficients.
    across_ = numbers(across(x, [found.at(move) for move in moves]))
    rest = f" {max(cell.steps) + 1}" if cell.which == "free" else ""
    sound = "any_sound" if cell.which == "free" else "nova_sound"
    return f"{sound} _ _ _ _ _ {found.d} {numbers(x)} {gradients} {heights} {across_} _ _{rest}"


def theorem_below(cell: Weights, row: Mapping[str, Any]) -> str:
    """Write the theorem that no allowed coefficients come nearer to x*."""
    return checked_theorem(f"{cell.name}_others", statement_below(cell), argument_below(cell, row))


def by_cell(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, Fraction], Mapping[str, Any]]:
    """Index stored rows by coefficients, rate and zeta^2."""
    return {(row["which"], row["eta_l"], Fraction(row["zeta2"])): row for row in rows}


def coq_text(page: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Text of the Coq file, and the names of its theorems.

    Raises:
        FedspecError: the page has a number without a stored row, or a stored row has no number on the page.
    """
    stored, said = by_cell(rows), {(c.which, c.eta_l, c.zeta2): c for c in weights(page)}
    if {*said} != {*stored}:
        raise FedspecError(
            f"kernel: in the page or the stored rows, but not in both: {sorted(map(str, {*said} ^ {*stored}))}"
        )
    texts, names = list[str](), list[str]()
    for key, c in said.items():
        texts.append(theorem(c, stored[key]))
        names += [c.name, f"{c.name}_runs"]
        if c.least is not None:
            texts.append(theorem_below(c, stored[key]))
            names.append(f"{c.name}_others")
    return HEAD + "\n".join(texts), names
