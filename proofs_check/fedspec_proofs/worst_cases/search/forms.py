"""Search for certified Lyapunov functions of peers, stateful servers, compressors and classes of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.compressed import Compressed
from fedspec_proofs.worst_cases.exchanges import Exchanged
from fedspec_proofs.worst_cases.outer import Outer
from fedspec_proofs.worst_cases.search.one_round import Certified, first_certified, forms_that_fall, greatest, tilted
from fedspec_proofs.worst_cases.spectral import Mixed
from fedspec_proofs.worst_cases.tabled import Row, Table

R = TypeVar("R", Exchanged, Outer, Compressed, Mixed)


def certified(r: R) -> Certified[R]:
    """Smallest factor for which a form was found, rounded up to the next thousandth that multipliers prove.

    Raises:
        UncertifiedError: the search found no multipliers.
    """
    before, after, given, _ = r.state()
    forms = forms_that_fall(before, after, given, r.slopes, [[i] for i in range(len(before))])
    ones = [replace(r, form=tuple(tuple(map(str, row)) for row in P)) for P in forms]

    def claim(one: R, bound: Any) -> Problem:
        return one.problem(bound)

    def simpler(problem: Problem, one: R) -> Problem:
        return tilted(problem, one.slopes)

    return first_certified(r, ones, lambda one: greatest(simpler(one.problem(Fraction(1)), one), True), claim, simpler)


def renew(table: Table[Any], asked: Iterable[Any], mark: str, tables: Callable[[list[Row]], Mapping[str, str]]) -> None:
    """Certify the given rounds and write the results to the ledger's file and the page's tables."""
    with ProcessPoolExecutor(2) as pool:
        table.write(map(table.kept, pool.map(certified, asked)))
    tabled.write_sections({f"{mark}: {name}": f"{text}\n" for name, text in tables(table.rows()).items()})
