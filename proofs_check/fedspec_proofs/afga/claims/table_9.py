"""Table 9 (L1002): learning rates of the experiments, compared with sec. 6 (L463) and App. B.2 (L993)."""

from __future__ import annotations

from fractions import Fraction as F

from fedspec_proofs.claim import Engine, Finding, Verdict, claim, false

SGD_BASED, ADAPTIVE = ("FedAvg", "SCAFFOLD", "FedProx", "FedDyn"), ("FedAdam", "FedAMSGrad", "AFGA", "CAFGA")

TABLE = {
    "FedAvg": ("0.1 1.0", "0.1 1.0", "1.0 1.0"),
    "FedAdam": ("1.0 0.01", "1.0 0.01", "1.0 0.01"),
    "FedAMSGrad": ("1.0 1.0", "1.0 1.0", "1.0 1.0"),
    "SCAFFOLD": ("0.1 1.0", "0.1 1.0", "0.1 1.0"),
    "FedProx": ("0.1 1.0", "0.1 1.0", "0.1 1.0"),
    "FedDyn": ("0.1 1.0", "0.1 1.0", "0.1 1.0"),
    "AFGA": ("0.01 2.0", "0.01 1.0", "0.01 10.0"),
    "CAFGA": ("0.01 2.0", "0.01 1.0", "0.01 10.0"),
}
"""Columns eta_l and eta for CIFAR-10, CIFAR-100 and Shakespeare; the same in Settings 1 and 2 (L1007-1014)."""

TEXT = {
    **dict.fromkeys(SGD_BASED, ({F(1, 10), F(1)}, {F(1)})),
    **dict.fromkeys(ADAPTIVE, ({F(1), F(2), F(10)}, {F(1, 100)})),
}
"""Local and global learning rates that sec. 6 names (L463-467)."""

GRIDS = (
    {F(1, 1000), F(1, 100), F(1, 10), F(1)},
    {F(1, 1000), F(1, 100), F(1, 10), F(1), F(2), F(5), F(10)},
)
"""Grids of eta_l and of eta (App. B.2, L993-995)."""


def rates(method: str, *, exchanged: bool = False) -> list[tuple[F, F]]:
    """Local and global rates of a method on each data set, with the two columns as headed or exchanged."""
    pairs = [tuple(map(F, cell.split())) for cell in TABLE[method]]
    return [(b, a) if exchanged else (a, b) for a, b in pairs]


def outside(method: str, local: set[F], server: set[F], *, exchanged: bool) -> bool:
    """True if a local rate of the method is not in ``local`` or a global rate is not in ``server``."""
    return any(a not in local or b not in server for a, b in rates(method, exchanged=exchanged))


def against_text(*, exchanged: bool) -> list[str]:
    """Methods with a rate that sec. 6 does not name."""
    return [m for m in TABLE if outside(m, *TEXT[m], exchanged=exchanged)]


def against_grids(*, exchanged: bool) -> list[str]:
    """Methods with a rate outside the grids of App. B.2."""
    return [m for m in TABLE if outside(m, *GRIDS, exchanged=exchanged)]


def _finding(deviating: list[str]) -> Finding:
    headed, exchanged = against_text(exchanged=False), against_text(exchanged=True)
    mended = [m for m in headed if m not in exchanged]
    off_grid = [m for m in mended if m in against_grids(exchanged=True)]
    right = headed == deviating and mended == off_grid == ["AFGA", "CAFGA"] and not against_grids(exchanged=False)
    words = (
        f"as headed, {', '.join(headed)} contradict L463-467 and none App. B.2; with the two columns exchanged "
        f"{', '.join(mended)} agree with L463-467, and {', '.join(off_grid)} leave the grid of eta_l (L994)"
    )
    return Finding(Verdict.PROVED if right else Verdict.REFUTED, words)


@claim(
    "afga.table-9-columns",
    statement="As its columns are headed, Table 9 gives AFGA and CAFGA eta_l = 0.01 and eta = 1, 2 or 10, and "
    "FedAMSGrad eta = 1, where sec. 6 has eta_l in {1, 2, 10} and eta = 0.01 for all three; with the columns "
    "exchanged AFGA and CAFGA agree with sec. 6, but not with the grid of eta_l in App. B.2, which ends at 1",
    source="ours, about Table 9 (L1002), sec. 6 (L463) and App. B.2 (L993)",
    engine=Engine.EXACT,
)
def columns() -> Finding:
    """Proof by looking up every rate of the table in the sets of both texts, in both orders of the columns."""
    return _finding(["FedAMSGrad", "AFGA", "CAFGA"])


@false("afga.table-9-columns-all", of=columns, statement="As headed, the table agrees with sec. 6")
def none_deviates() -> Finding:
    """Refuted: some methods contradict the text."""
    return _finding([])
