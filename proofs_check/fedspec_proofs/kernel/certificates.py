"""The ledger's certificates as theorems in Coq, at every rate of their interval, about vectors and function values.

What is given and what is claimed stands here as the rules make it, over names that a comment lists: that functions of
the class obey what is given is proved in Coq for the tables alone, and is the ledger's word here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fedspec_proofs.engines.worst_case.certificates import CERTIFIED, load
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.rates import powers
from fedspec_proofs.engines.worst_case.values import Value
from fedspec_proofs.kernel.text import coq_list, identifier, number, numbers


@dataclass(frozen=True)
class Proof:
    """Multipliers and the problem that they prove.

    Attributes:
        name: name of the theorem.
        words: the claim and its sizes as text.
        problem: the problem that is proved; with an open rate if there are multipliers at several rates.
        at: the multipliers, by rate.
    """

    name: str
    words: str
    problem: Problem
    at: Mapping[Fraction, Mapping[str, Fraction]]


def proofs() -> Iterator[Proof]:
    """Yield every stored proof: of a case, of a case with a smaller right side, of a case without a term."""
    for id, cases in CERTIFIED.items():
        for k, (words, case) in enumerate(cases.items()):
            stored, name = load(id, words), identifier(f"{id} {k + 1}")
            at, here = stored.multipliers, case.make(case.high)
            if case.holds:
                yield Proof(name, f"{id}: {words}", case.make(RATE) if len(at) > 1 else here, at)
            if stored.needs and stored.needs.multipliers:
                less, part = here.within(stored.needs.most), f"{stored.needs.most} of the right side"
                yield Proof(f"{name}_enough", f"{id}: {words}; {part}", less, {case.high: stored.needs.multipliers})
            for j, (term, one) in enumerate(stored.lacking.items()):
                if isinstance(one, Mapping):
                    lacking = here.lacking(term)
                    yield Proof(f"{name}_less_{j + 1}", f"{id}: {words}; without {term}", lacking, {case.high: one})


def family(value: Value, vectors: Sequence[str], functions: Sequence[str]) -> list[str]:
    """Write a value in Coq's syntax, one entry per power of the rate."""
    at, of = {name: k for k, name in enumerate(vectors)}, {name: k for k, name in enumerate(functions)}
    out = []
    for part in powers(value):
        rows: dict[int, dict[int, Fraction]] = {}
        for (a, b), c in part.products.items():
            i, j = sorted((at[a], at[b]))
            rows.setdefault(i, {})[j - i] = c
        products = coq_list(_sparse(rows.get(i, {})) for i in range(max(rows, default=-1) + 1))
        values = _sparse({of[name]: c for name, c in part.values.items()})
        out.append(f"sparse {values} {products} {number(part.constant)}")
    return out


def _sparse(row: Mapping[int, Fraction]) -> str:
    return coq_list(f"({k}%nat, {number(row[k])})" for k in sorted(row))


def theorem(proof: Proof) -> str:
    """Write a theorem and its proof in Coq's syntax."""
    problem = proof.problem
    names = [name for name in problem.given if any(name in m for m in proof.at.values())]
    used = [problem.claimed, *(problem.given[name] for name in names)]
    functions = sorted({name for q in used for name in q.values})
    given = [family(problem.given[name], problem.basis, functions) for name in names]
    claimed = family(problem.claimed, problem.basis, functions)
    low, high = min(proof.at), max(proof.at)
    at = coq_list(f"({number(r)}, {numbers(m.get(name, 0) for name in names)})" for r, m in proof.at.items())
    return (
        f"(* {_plain(proof.words)}\n   vectors: {', '.join(problem.basis)}\n"
        f"   given: {_plain(', '.join(names))} *)\n"
        f"Definition {proof.name}_given : list family := {coq_list(map(coq_list, given))}.\n"
        f"Definition {proof.name}_claimed : family := {coq_list(claimed)}.\n"
        f"Theorem {proof.name} : implied {number(low)} {number(high)} {proof.name}_given {proof.name}_claimed.\n"
        f"Proof. refine (through_proves _ _ _ _ {at} _). vm_cast_no_check (eq_refl true). Qed.\n"
    )


def _plain(words: str) -> str:
    """Without what would end a comment of Coq."""
    return words.replace("*)", "* )").replace("(*", "( *").replace('"', "'")


HEAD = """(* Written by fedspec_proofs.kernel from the ledger's certificates. *)

Require Import Vectors Certificates Intervals.
Open Scope Q_scope.

"""


def coq_text() -> tuple[str, list[str]]:
    """Text of the Coq file, and the names of its theorems."""
    found = [*proofs()]
    return HEAD + "\n".join(map(theorem, found)), [p.name for p in found]
