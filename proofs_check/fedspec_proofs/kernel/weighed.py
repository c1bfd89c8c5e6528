"""The page's table of a server's coefficients as theorems of Coq, with the multipliers of coefficients.json.

A round ends at x_+ = x + sum_i w_i (x_i - x). What a theorem says is read off the page: the rate, zeta, the w_i and the
number. The stored row has to prove it. FedAvg's and FedNova's own coefficients are held to the specification's rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, zip_longest
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.coefficients import Weighed
from fedspec_proofs.contraction import MU, Round
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.kernel.rows import HEAD as ROWS_HEAD
from fedspec_proofs.kernel.rows import TABLE, multipliers, on_forms
from fedspec_proofs.kernel.text import identifier, listed, naturals, number, numbers

STEPS = (1, 1, 3, 3)
"""Half of the clients take one step, half three: the fewest of which the page speaks."""

ALIKE = "1000000000"
"""A multiplier of zeta^2 <= 0, which is as large as one likes: stored rows have no gradients at x* there."""

BEST = {"best tau_eff": "nova", "best two": "free"}
"""The columns whose cells say the coefficients, by their headings; the others' headings say the coefficients."""

HEAD = ROWS_HEAD.replace("contraction.json", "coefficients.json")


@dataclass(frozen=True)
class Weights:
    """One number of the table.

    Attributes:
        which: the algorithm whose coefficients they are, ``nova`` for the best tau_eff, ``free`` for the best two.
        eta_l: the clients' rate.
        zeta2: the mean square of their gradients at x*.
        w: what each client's change is multiplied by.
        bound: the number.
        steps: of each client.
    """

    which: str
    eta_l: str
    zeta2: Fraction
    w: tuple[Fraction, ...]
    bound: Fraction
    steps: tuple[int, ...] = STEPS

    @property
    def name(self) -> str:
        """That of its theorem."""
        return identifier(f"coefficients {self.which} rate {self.eta_l} zeta2 {self.zeta2}")

    @property
    def rule(self) -> str:
        """The round's numbers."""
        return f"{len(self.steps)} (steps {naturals(self.steps)}) {number(self.eta_l)} (weights {numbers(self.w)})"


def weights(page: str) -> list[Weights]:
    """The numbers of the page's table.

    Raises:
        FedspecError: a column is none of the table's.
    """
    text = next(text for table, text in TABLE.findall(page) if table == "coefficients")
    head, _, *lines = ([c.strip() for c in line.strip("|").split("|")] for line in text.splitlines())
    return [*chain.from_iterable(_said(head, line) for line in lines)]


def _said(head: Sequence[str], line: Sequence[str]) -> list[Weights]:
    zeta2, eta_l, found = Fraction(line[0]), line[1], list[Weights]()
    for column, words in zip_longest(head[2:], line[2:]):
        name, _, own = column.partition(": ")
        if name == "at least":
            continue
        which = BEST.get(name) or name.strip("`")
        said, bound = (own, words) if own else words.split(": ")
        found.append(Weights(which, eta_l, zeta2, _each(which, said), Fraction(bound)))
    return found


def _each(which: str, said: str) -> tuple[Fraction, ...]:
    """tau_eff / (n tau_i), or those of one and of three steps over n."""
    n, numbers_ = len(STEPS), [*map(Fraction, said.split("; "))]
    if which == "nova":
        (tau_eff,) = numbers_
        return tuple(tau_eff / (n * tau) for tau in STEPS)
    of = dict(zip(dict.fromkeys(STEPS), numbers_, strict=True))
    return tuple(of[tau] / n for tau in STEPS)


def statement(cell: Weights) -> str:
    """What the theorem says."""
    rule = f"(fun V => weighed {cell.rule})"
    return f"distance {rule} {len(cell.steps)} {number(MU)} 1 {number(cell.zeta2)} {number(cell.bound)}"


def argument(cell: Weights, row: Mapping[str, Any]) -> str:
    """The soundness of the round's check at a row; it lacks that the check says yes."""
    proof = {"zeta": ALIKE, **row["proof"]} if cell.zeta2 == 0 else row["proof"]
    return f"weighed_row {' '.join('_' * 8)} {multipliers(cell.name, proof, ('start', 'zeta'))}"


def run(cell: Weights) -> list[list[Fraction]]:
    """What the specification's rule asks and comes to, on forms: an algorithm's, or FedAvg's of each client alone."""
    if cell.which in BEST.values():
        of = dict(zip(cell.steps, cell.w, strict=True))
        r: Weighed | Round = Weighed(cell.steps, Fraction(cell.eta_l), cell.zeta2, (*of.values(),))
    else:
        r = Round(cell.which, cell.steps, cell.eta_l)
    return on_forms(len(cell.steps), lambda start, clients: [r.after(start(basis("x")), clients)])


def theorem(cell: Weights, row: Mapping[str, Any]) -> str:
    """A theorem, and that its round is the specification's."""
    return (
        f"Theorem {cell.name} :\n  {statement(cell)}.\n"
        f"Proof. refine ({argument(cell, row)} _). vm_cast_no_check (eq_refl true). Qed.\n"
        f"Theorem {cell.name}_runs :\n  alike (weighed_forms {cell.rule})\n"
        f"  {listed(map(numbers, run(cell)))} = true.\n"
        "Proof. vm_cast_no_check (eq_refl true). Qed.\n"
    )


def by_cell(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, Fraction], Mapping[str, Any]]:
    """Stored rows by what they are about."""
    return {(row["which"], row["eta_l"], Fraction(row["zeta2"])): row for row in rows}


def written(page: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Coq's text, and the names of its theorems.

    Raises:
        FedspecError: the page has a number that no row is of, or there is a row that it has no number of.
    """
    stored, said = by_cell(rows), {(c.which, c.eta_l, c.zeta2): c for c in weights(page)}
    if {*said} != {*stored}:
        raise FedspecError(f"kernel: of the page or the rows alone: {sorted(map(str, {*said} ^ {*stored}))}")
    texts = [theorem(c, stored[key]) for key, c in said.items()]
    return HEAD + "\n".join(texts), [name for c in said.values() for name in (c.name, f"{c.name}_runs")]
