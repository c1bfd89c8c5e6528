"""Best local rates, as in docs/worst-cases.md: an upper bound at the best rate, lower bounds at all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Claim, Finding, Verdict, claim
from fedspec_proofs.engines.worst_case.certificates import attained_of, numbers_of
from fedspec_proofs.fednova.claims import round_numbers
from fedspec_proofs.fednova.claims.strongly_convex import SERVER, UNLIKE, without
from fedspec_proofs.worst_cases import following_rates
from fedspec_proofs.worst_cases.following_rates import Stretch
from fedspec_proofs.worst_cases.one_round import HELD, MU, STRONG, Round, method_of, problem_of
from fedspec_proofs.worst_cases.tabled import Row, Table, markdown, proof_of, three

NAMES = ("algorithm", "steps", "eta_l", "zeta2", "share", "form")
FOLLOWED: Table[Round] = Table("following_rates", "worst_rates", Round, NAMES, problem_of)
"""Best rates of FedProx, SCAFFOLD and FedDyn with proved bounds, and intervals that cover all other rates."""

AVERAGED: Table[Round] = Table("between_rates", "worst_cases", Round, NAMES, problem_of)
"""Intervals that cover all rates of FedAvg and FedNova; their bounds are rows of :data:`round_numbers.TABLE`."""

KEPT = ((1, 1), (2, 2), (4, 4), (8, 8), (1, 3))
PULLED = ((2, 2), (4, 4))
"""Local steps: KEPT for SCAFFOLD, FedDyn, FedAvg and FedNova; PULLED for FedProx, with one step FedAvg."""

APART = (Fraction(0), Fraction(1, 16), Fraction(1, 4), Fraction(1))
"""Values of zeta^2."""

ASKED = {
    "kept": [Round(algorithm, steps, "") for steps in KEPT for algorithm in HELD],
    "fedprox": [Round("fedprox", steps, "", zeta2) for steps in PULLED for zeta2 in APART],
    "averaged": [Round(method_of(steps), steps, "", zeta2) for steps in KEPT for zeta2 in APART],
}
"""Rounds that the tables must contain, for each claim."""


@dataclass(frozen=True)
class Best:
    """Best rate for a method and numbers of local steps, with proofs that no rate does better.

    Attributes:
        round: the round at the best rate, with its Lyapunov function if clients keep a vector.
        bound: the proved bound at that rate.
        proof: multipliers that prove the bound.
        least: proved lower bound at every rate.
        stretches: intervals that cover all rates, with proofs of the lower bound.
    """

    round: Round
    bound: Fraction
    proof: Mapping[str, Fraction]
    least: Fraction
    stretches: Sequence[Stretch]

    @property
    def asked(self) -> Round:
        """Round without rate and form, which is the key of the cell."""
        return replace(self.round, eta_l="", form=())

    def wrong(self) -> str:
        """Reason why this proves nothing; empty if it proves the bound, and that no rate does better than ``least``."""
        return round_numbers.flawed(self.round, self.bound, self.proof) or following_rates.wrong_with(
            self.stretches, self.least
        )


def row_of(stretch: Stretch) -> Row:
    """Row of the ledger for an interval of rates."""
    return {
        "low": str(stretch.low),
        "high": str(stretch.high) if stretch.high else None,
        "curvatures": [str(c) for c in stretch.curvatures],
        **numbers_of(stretch.functions),
    }


def _stretch(r: Round, row: Mapping[str, Any]) -> Stretch:
    high, found = Fraction(row["high"]) if row["high"] else None, attained_of(row)
    # Those of FedAvg and FedNova have no curvatures: all parabolas are as flat as may be, where rates end as steep.
    alike = [] if found else [MU if high else Fraction(1)] * len(r.steps)
    if found and r.algorithm == method_of(r.steps):
        zeros = {f"F{i}.e": Fraction(0) for i in range(len(r.steps))}
        found = replace(found, values={**zeros, **found.values})
    return Stretch(r, Fraction(row["low"]), high, tuple(map(Fraction, row.get("curvatures", alike))), found)


def best_of(row: Mapping[str, Any]) -> Best:
    """Best rate and intervals read from a row of :data:`FOLLOWED`."""
    one = FOLLOWED.asked(row["best"])
    some = [_stretch(replace(one, eta_l="", form=()), interval) for interval in row["stretches"]]
    return Best(one, Fraction(row["best"]["bound"]), proof_of(row["best"]), Fraction(row["least"]), some)


def averaged(found: Sequence[Row] | None = None, numbers: Sequence[Row] | None = None) -> list[Best]:
    """Cells of FedAvg and FedNova; if a cell has several lower bounds, the largest must be proved."""
    cells: dict[Round, list[Row]] = {}
    for row in found or AVERAGED.rows():
        steps = tuple(row["steps"])
        cells.setdefault(Round(method_of(steps), steps, "", Fraction(row["zeta2"])), []).append(row)
    out = []
    for r, some in cells.items():
        at = best(numbers or round_numbers.TABLE.rows(), r)
        least = max(Fraction(row["least"]) for row in some)
        stretches = [_stretch(r, row) for row in some]
        out.append(Best(round_numbers.TABLE.asked(at), Fraction(at["bound"]), proof_of(at), least, stretches))
    return out


def best(found: Iterable[Row], r: Round) -> Row:
    """Row with the smallest certified bound among all rates for the round ``r``."""
    mine = [one for one in found if replace(round_numbers.TABLE.asked(one), eta_l="", form=()) == r]
    return min(mine, key=lambda row: Fraction(row["bound"]))


def table(kind: str, found: Iterable[Best]) -> str:
    """Format the page's table of a kind: the best rate with its number, and the lower bound at all other rates."""
    there = {one.asked: one for one in found}
    heads = dict.fromkeys(f"`{r.algorithm}`" if kind == "kept" else f"zeta^2 = {r.zeta2}" for r in ASKED[kind])
    lines: dict[tuple[int, ...], list[str]] = {}
    for r in ASKED[kind]:
        one = there[r]
        words = [", ".join(map(str, r.steps))] if r.steps not in lines else []
        lines.setdefault(r.steps, words).extend((f"{one.round.eta_l}: {three(one.bound)}", three(one.least)))
    return markdown(["steps", *(word for head in heads for word in (head, "at least"))], lines.values())


def cells(kind: str) -> list[Best]:
    """Cells of the claim ``kind``, read from the ledger."""
    if kind == "averaged":
        return averaged()
    return [best_of(row) for row in FOLLOWED.rows() if (row["best"]["algorithm"] in HELD) is (kind == "kept")]


def _best_rates(
    id: str, statement: str, about: str, kind: str, sizes: str, which: Round, who: str = "clients"
) -> Claim:
    """The claim about the cells of a kind; its assumptions are dropped at one of them."""
    renew = (AVERAGED if kind == "averaged" else FOLLOWED).renew

    @claim(
        id,
        statement=statement,
        source=f"ours, about {about}",
        verdict=Verdict.CERTIFIED,
        assumptions=STRONG | SERVER if kind == "kept" else UNLIKE,
        sizes=sizes,
    )
    def best_rates() -> Finding:
        found = cells(kind)
        for one in found:
            if wrong := one.wrong():
                return Finding(Verdict.UNKNOWN, f"{one.round}: {wrong}; {renew}")
        if [one.asked for one in found] != ASKED[kind]:
            return Finding(Verdict.UNKNOWN, f"some cells are missing; {renew}")
        evidence = (
            f"{len(found)} numbers by multipliers, and as many that no rate is surely below by {who} at "
            f"{sum(len(one.stretches) for one in found)} intervals of rates, all in fractions; at most "
            f"{100 * float(max(1 - one.least / one.bound for one in found)):.1f} in a hundred apart; "
            "docs/worst-cases.md has them"
        )
        one = next(one for one in found if one.asked == which)
        return Finding(Verdict.CERTIFIED, evidence, without(problem_of(one.round, one.bound), one.round))

    return best_rates


def _sizes(kind: str, last: str) -> str:
    more = "two clients, more where their steps are equal by the argument in fedspec_proofs.worst_cases.more_clients"
    return "; ".join([more, *dict.fromkeys(f"{r.algorithm}, tau = {r.steps}" for r in ASKED[kind]), last])


averages = _best_rates(
    "fednova.best-rates",
    "With K local steps each a round of FedAvg, with 1 and 3 one of FedNova, from |x - x*| <= 1 ends at "
    "|x_+ - x*|^2 at most the number of the table at its rate; at every other eta_l > 0 it may end at the number "
    "beside it, or beyond",
    "rounds of FedAvg and FedNova",
    "averaged",
    f"two clients, of FedAvg more by the argument in fedspec_proofs.worst_cases.more_clients; K = "
    f"{', '.join(str(steps[0]) for steps in KEPT if len(set(steps)) == 1)}; "
    f"zeta^2 = {', '.join(map(str, APART))}; every eta_l > 0",
    Round("fedavg", (2, 2), "", Fraction(1)),
    "functions",
)

factors = _best_rates(
    "fednova.best-rates-of-factors",
    "At the rate of the table a positive definite form in x - x* and all c_i - grad F_i(x*) changes in a round of "
    "SCAFFOLD or FedDyn by at most its number; at every eta_l > 0 there are clients and a state of which every such "
    "form becomes the number beside it times what it was, or more",
    "SCAFFOLD and FedDyn, external",
    "kept",
    _sizes("kept", "every eta_l > 0"),
    ASKED["kept"][-1],
)

distances = _best_rates(
    "fednova.best-rates-of-fedprox",
    "A round of FedProx from |x - x*| <= 1 ends at |x_+ - x*|^2 at most the number of the table at its rate; at every "
    "other eta_l that the rule takes with its mu it may end at the number beside it, or beyond",
    "rounds of FedProx",
    "fedprox",
    _sizes("fedprox", f"zeta^2 = {', '.join(map(str, APART))}; every eta_l of (0, 1/mu], mu = L"),
    ASKED["fedprox"][-1],
)
