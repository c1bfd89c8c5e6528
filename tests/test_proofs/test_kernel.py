"""Coq's kernel over the tables: what is spoiled is refused, in a certificate, a text by hand, a number of the page."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from fedspec_proofs import ledger
from fedspec_proofs.claim import Verdict
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.fednova import round_numbers
from fedspec_proofs.kernel import planted, rows
from fedspec_proofs.kernel.refuted import REFUTES
from fedspec_proofs.kernel.running import ALLOWED, SOURCES, RefusedError, compiled, compiler, prepared, resting_on

ROOT = Path(__file__).resolve().parents[2]
COQ, PAGE = ROOT / "proofs_check/coq", (ROOT / "docs/worst-cases.md").read_text(encoding="utf-8")
ROWS = round_numbers.rows()
SPOILED = planted.spoiled(PAGE, ROWS)

needs_coq = pytest.mark.skipif(compiler() is None, reason="there is no coqc; `make kernel` says how to have it")


def test_the_page_and_the_rows_say_the_same_and_all_numbers_are_asked() -> None:
    text, names = rows.written(PAGE, ROWS)
    assert len(names) == len({*names}) == 2 * 174
    stored = round_numbers.by_round(ROWS)
    assert all(c.bound == Fraction(stored[c.by, c.steps, c.eta_l, c.zeta2]["bound"]) for c in rows.cells(PAGE))
    assert text.count("Theorem") == len(names)


def test_a_page_without_a_row_is_no_text() -> None:
    with pytest.raises(rows.FedspecError, match="alone"):
        rows.written(PAGE, ROWS[1:])


def test_what_a_rule_must_not_know_is_no_form() -> None:
    assert rows.coefficients(basis("x") + 3 * basis("F1.g1"), 2) == [1, 1, 0, 0, 0, 0, 0, 3]
    with pytest.raises(rows.FedspecError, match="must not know s0"):
        rows.coefficients(basis("s0"), 2)


@pytest.mark.parametrize("id", [*REFUTES])
def test_what_is_refuted_in_coq_is_refuted_in_the_ledger(id: str) -> None:
    assert ledger.claims()[id].verdict is Verdict.REFUTED
    assert f"Theorem {REFUTES[id].partition('.')[2]}" in (COQ / "Refuted.v").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kernel")
    prepared(COQ, made)
    return made


AVG = next(c for c in rows.cells(PAGE) if c.name == "fedavg_steps_1_3_rate_1_4_zeta2_1")
SCAFFOLD = next(c for c in rows.cells(PAGE) if c.name == "scaffold_steps_1_3_rate_1_4")


def offered(folder: Path, text: str) -> None:
    """Have Coq take a text after the head of the tables'."""
    (folder / "Offered.v").write_text(rows.HEAD + text, encoding="utf-8")
    compiled("Offered", folder)


def row(cell: rows.Cell) -> str:
    return rows.theorem(cell, round_numbers.by_round(ROWS)[cell.by, cell.steps, cell.eta_l, cell.zeta2])


def printed(cell: rows.Cell, number: str) -> str:
    """The page with another number in a cell."""
    kind = "factor" if cell.algorithm in rows.HELD else "distance"
    before, table = PAGE.split(f"<!-- worst: {kind} -->\n")
    lines = table.splitlines()
    heads = [c.strip() for c in lines[0].split("|")]
    column = next(
        k for k, c in enumerate(heads) if c in {f"`{cell.algorithm}`", f"`{cell.algorithm}`, zeta^2 = {cell.zeta2}"}
    )
    at = next(
        k for k, line in enumerate(lines) if line.startswith(f"| {', '.join(map(str, cell.steps))} | {cell.eta_l} |")
    )
    parts = lines[at].split("|")
    parts[column] = f" {number} "
    lines[at] = "|".join(parts)
    return before + f"<!-- worst: {kind} -->\n" + "\n".join(lines)


@pytest.mark.outside
@needs_coq
class TestCoq:
    def test_takes_rows_as_they_are_and_they_rest_on_the_reals(self, folder: Path) -> None:
        offered(folder, row(AVG) + row(SCAFFOLD))
        found = resting_on([f"Offered.{AVG.name}", f"Offered.{SCAFFOLD.name}"], ["Offered"], folder)
        assert found
        assert found <= ALLOWED

    def test_an_axiom_more_is_seen(self, folder: Path) -> None:
        offered(
            folder,
            f"Axiom wished : forall P : Prop, P.\nTheorem easy : {rows.statement(AVG, [])}.\nProof. apply wished. Qed.",
        )
        assert resting_on(["Offered.easy"], ["Offered"], folder) - ALLOWED == {"Offered.wished"}

    @pytest.mark.parametrize("words", [*SPOILED])
    def test_refuses_a_certificate_or_row_that_is_spoiled(self, folder: Path, words: str) -> None:
        cell, spoiled = SPOILED[words]
        with pytest.raises(RefusedError, match="true = true"):
            offered(folder, planted.attempt("spoiled", cell, spoiled, "Qed."))

    @pytest.mark.parametrize("k", range(10))
    def test_refuses_a_number_of_the_page_that_is_smaller(self, folder: Path, k: int) -> None:
        """By two hundredths, the last but one number of each column and the first of three."""
        columns: dict[tuple[str, Fraction], list[rows.Cell]] = {}
        for c in rows.cells(PAGE):
            twice = f" {c.eta_l}: {float(c.bound):.3f} " in PAGE
            if c.by == c.algorithm and c.zeta2 in (0, 1) and not twice:
                columns.setdefault((c.algorithm, c.zeta2), []).append(c)
        cell = [*(cs[-2] for cs in columns.values()), *(cs[0] for cs in columns.values())][k]
        spoiled = printed(cell, f"{float(cell.bound) - 0.02:.3f}")
        less = next(c for c in rows.cells(spoiled) if c.name == cell.name)
        assert less.bound == cell.bound - Fraction(1, 50)
        with pytest.raises(RefusedError, match="true = true"):
            offered(folder, row(less))

    @pytest.mark.parametrize(
        ("name", "was", "is_"),
        [
            ("Classes", "F y <= F x + dot d (G x)", "F y <= F x + 2 * dot d (G x)"),
            ("Classes", "mu < L -> of_class d mu L F G", "of_class d mu L F G"),
            ("Classes", "minimises n F x ->\n", "\n"),
            ("Certificates", "if zero p then forallb zero r && rounded fuel' m'", "if zero p then rounded fuel' m'"),
            ("Certificates", "else Qle_bool 0 p && rounded fuel'", "else rounded fuel'"),
            ("Certificates", "if zero q || Pos.eqb (Qden q) 1 then 0%Q else 1%Q", "0%Q"),
            ("Certificates", "1 && forallb zero (polar m v) then", "1 then"),
            ("Certificates", "Qeq_bool (nth k v 0%Q) 1 && forallb", "forallb"),
            ("Certificates", "forallb (fun cq => Qle_bool 0 (fst cq)) given && ", ""),
            ("Rounds", "(x + mean n Delta)%V.\n\n(* x_i = x;", "(x + 2 * mean n Delta)%V.\n\n(* x_i = x;"),
            ("Rounds", "(y - eta_l * (g - c_i + c))%V", "(y - eta_l * (g + c_i - c))%V"),
            ("Statements", "square d (x - x_star)%V <= 1 ->\n", "square d (x - x_star)%V <= 2 ->\n"),
            (
                "Soundness",
                "(forall i, (i < n)%nat -> v i = w i) -> mean n v",
                "(forall i, (i < n)%nat -> True) -> mean n v",
            ),
            ("Refuted", "fun _ => 28 / 43", "fun _ => 28 / 44"),
            ("Refuted", "(1 - beta2) * 1 / v0.", "1 / v0."),
            ("Refuted", "let v_hat k := Rmax (v_hat_ s k) (v k) in", "let v_hat k := v k in"),
        ],
    )
    def test_refuses_a_text_by_hand_that_is_spoiled(
        self, folder: Path, tmp_path: Path, name: str, was: str, is_: str
    ) -> None:
        """Itself, or a row after it: another rule is seen where the specification's own run stands beside it."""
        shutil.copytree(folder, tmp_path / "spoiled")
        text = (COQ / f"{name}.v").read_text(encoding="utf-8")
        assert was in text
        (tmp_path / "spoiled" / f"{name}.v").write_text(text.replace(was, is_, 1), encoding="utf-8")
        with pytest.raises(RefusedError):
            for after in SOURCES[SOURCES.index(name) :]:
                compiled(after, tmp_path / "spoiled")
            offered(tmp_path / "spoiled", row(AVG) + row(SCAFFOLD))
