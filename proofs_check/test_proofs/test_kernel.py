"""Coq's kernel over the tables: what is spoiled is refused, in a certificate, a text by hand, a number of the page."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fedspec_proofs import ledger
from fedspec_proofs.claim import Verdict
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.fednova.claims import best_coefficients, round_numbers
from fedspec_proofs.kernel import certificates, planted, rows, weighed
from fedspec_proofs.kernel.refuted import REFUTES, THEOREMS
from fedspec_proofs.kernel.running import ALLOWED, SOURCES, RefusedError, compiled, compiler, prepared, resting_on
from fedspec_proofs.kernel.text import checked_theorem

ROOT = Path(__file__).resolve().parents[2]
COQ, PAGE = ROOT / "proofs_check/coq", (ROOT / "docs/worst-cases.md").read_text(encoding="utf-8")
ROWS, OF_SERVERS = round_numbers.TABLE.rows(), best_coefficients.TABLE.rows()
SPOILED = planted.spoiled(PAGE, ROWS, OF_SERVERS)

needs_coq = pytest.mark.skipif(compiler() is None, reason="there is no coqc; `make kernel` says how to have it")


def test_the_page_and_the_rows_say_the_same_and_all_numbers_are_asked() -> None:
    text, names = rows.coq_text(PAGE, ROWS)
    assert len(names) == len({*names}) == 2 * 180
    stored = round_numbers.by_round(ROWS)
    assert all(c.bound == Fraction(stored[c.by, c.steps, c.eta_l, c.zeta2]["bound"]) for c in rows.cells(PAGE))
    assert text.count("Theorem") == len(names)


def test_the_page_of_the_kernel_has_the_numbers_that_the_run_prints() -> None:
    ledger.claims()
    said = (ROOT / "docs/kernel.md").read_text(encoding="utf-8")
    of_servers = weighed.weights(PAGE)
    below = sum(c.least is not None for c in of_servers)
    uppers, stored = len(rows.cells(PAGE)) + len(of_servers), len(certificates.coq_text()[1])
    all_ = 2 * uppers + below + stored + len({*THEOREMS, *weighed.OWN})
    for words in (
        f"*Numbers of the page* ({uppers}, and {below} from below)",
        f"{len(of_servers)} of the {uppers} bounds and the {below} from below",
        f"(all that are stored, {stored})",
        f"for {all_} theorems",
    ):
        assert words in said, words
    assert len(SPOILED) == 29 and "We add 29 rows" in said


def test_a_page_without_a_row_is_no_text() -> None:
    with pytest.raises(rows.FedspecError, match="but not in both"):
        rows.coq_text(PAGE, ROWS[1:])


def test_the_table_of_coefficients_and_its_rows_say_the_same_and_all_is_asked() -> None:
    text, names = weighed.coq_text(PAGE, OF_SERVERS)
    assert len(names) == len({*names}) == 2 * 48 + 24
    assert text.count("Theorem") == len(names)
    for row in OF_SERVERS:
        cell = weights(row["which"], row["eta_l"], row["zeta2"])
        assert cell.bound == Fraction(row["bound"])
        assert cell.least == (Fraction(row["least"]) if "least" in row else None)
        assert dict(zip(cell.steps, cell.w, strict=True)) == dict(zip((1, 3), map(Fraction, row["w"]), strict=True))


def test_coefficients_without_a_row_are_no_text() -> None:
    with pytest.raises(rows.FedspecError, match="but not in both"):
        weighed.coq_text(PAGE, OF_SERVERS[1:])
    with pytest.raises(rows.FedspecError, match="no lower bound for other coefficients"):
        weighed.statement_below(weights("fednova", "1/4", 1))
    with pytest.raises(rows.FedspecError, match="row has no functions"):
        weighed.argument_below(BEST, {**row_of(BEST), "vectors": {}})


def test_what_a_rule_must_not_know_is_no_form() -> None:
    assert rows.coefficients(basis("x") + 3 * basis("F1.g1"), 2) == [1, 1, 0, 0, 0, 0, 0, 3]
    with pytest.raises(rows.FedspecError, match="contains s0; it may read"):
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


def weights(which: str, eta_l: str, zeta2: str | int, page: str = PAGE) -> weighed.Weights:
    key = (which, eta_l, Fraction(zeta2))
    return next(c for c in weighed.weights(page) if (c.which, c.eta_l, c.zeta2) == key)


def row_of(cell: weighed.Weights) -> Mapping[str, Any]:
    return weighed.by_cell(OF_SERVERS)[cell.which, cell.eta_l, cell.zeta2]


BEST = weights("free", "1/4", 1)


def both(cell: weighed.Weights) -> str:
    """A number of coefficients, and that no others are below another."""
    return weighed.theorem(cell, row_of(cell)) + (weighed.theorem_below(cell, row_of(cell)) if cell.least else "")


def offered(folder: Path, text: str) -> None:
    """Have Coq take a text after the head of the tables'."""
    (folder / "Offered.v").write_text(weighed.HEAD + text, encoding="utf-8")
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
        offered(folder, row(AVG) + row(SCAFFOLD) + both(BEST))
        names = (AVG.name, SCAFFOLD.name, BEST.name, f"{BEST.name}_others")
        found = resting_on([*(f"Offered.{name}" for name in names), *weighed.OWN], ["Offered", "Reached"], folder)
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
        with pytest.raises(RefusedError, match="true = true"):
            offered(folder, checked_theorem("spoiled", SPOILED[words].says, SPOILED[words].by))

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
        ("column", "was", "is_"),
        [
            ("zeta^2", "1", "2"),
            ("eta_l", "1/4", "1/2"),
            ("`fedavg`: 1; 1", "1.420", "1.400"),
            ("`fednova`: 2; 2/3", "0.928", "0.908"),
            ("best tau_eff", "6.8: 0.771", "6.8: 0.751"),
            ("best tau_eff", "6.8: 0.771", "9.8: 0.771"),
            ("best two", "6.92; 2.44: 0.746", "6.92; 2.44: 0.726"),
            ("best two", "6.92; 2.44: 0.746", "6.92; 2.84: 0.746"),
            ("at least", "0.770", "0.790"),
            ("at least", "0.745", "0.765"),
        ],
    )
    def test_refuses_a_cell_of_coefficients_that_is_spoiled(
        self, folder: Path, column: str, was: str, is_: str
    ) -> None:
        """In the row of eta_l = 1/4, zeta^2 = 1, by the proofs that are stored for it."""
        line = next(line for line in PAGE.splitlines() if line.startswith("| 1 | 1/4 | 1.420 |"))
        cells, head = line.split(" | "), next(x for x in PAGE.splitlines() if "best tau_eff |" in x).split(" | ")
        k = next(
            k
            for k, (h, c) in enumerate(zip(head, cells, strict=True))
            if (h.strip("| "), c.strip("| ")) == (column, was)
        )
        spoiled = PAGE.replace(line, " | ".join([*cells[:k], cells[k].replace(was, is_), *cells[k + 1 :]]))
        changed = [c for c in weighed.weights(spoiled) if c not in weighed.weights(PAGE)]
        assert changed
        for cell in changed:
            stored = row_of(replace(cell, eta_l="1/4", zeta2=Fraction(1)))
            text = weighed.theorem(cell, stored)
            with pytest.raises(RefusedError, match="true = true"):
                offered(folder, text + (weighed.theorem_below(cell, stored) if cell.least else ""))

    @pytest.mark.table(1)
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
            ("Rounds", "total n (fun i => w i * (x_ i - x)))%V", "total n (fun i => w i * x_ i))%V"),
            ("Statements", "w (tau i) * (x_ i k - x k)", "w (tau i) * (x k - x_ i k)"),
            ("Statements", "forall t, w t = tau_eff / (INR n * INR t)", "forall t, w t = tau_eff / INR n"),
            ("Statements", "minimises n F x_star /\\", "minimises 1 F x_star /\\"),
            ("Interpolants", "1 / (2 * b) * square d (fun k => g i k - g j k)", "0"),
            ("Interpolants", "(fun x => F x + mu / 2 * square d x)", "F"),
            ("Interpolants", "Hypothesis bends : 0 < b.", "Hypothesis bends : 0 <= b."),
            ("Reached", "forallb (fits i a) points", "fits i a 0%nat"),
            ("Reached", "  && forallb zero (total n (fun i => recorded i 0) : forms)\n", ""),
            ("Reached", "Qle_bool least (2 * against p x - against p p)", "Qle_bool least (2 * against p x)"),
            ("Reached", "  && zero (qsum n (fun i => 1 / whole (tau i) * against p (drift i))%Q)", ""),
            ("Reached", "then against p (drift i) else 0%Q)))", "then 0%Q else 0%Q)))"),
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
            offered(tmp_path / "spoiled", row(AVG) + row(SCAFFOLD) + both(BEST))
