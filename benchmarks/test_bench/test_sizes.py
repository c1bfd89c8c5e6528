"""Time and memory over the number of parameters: every row that trains is measured, and the table has the worst."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE, LocalSolver, find
from fedspec_bench.sizes import KINDS, table
from fedspec_proofs.worst_cases.tabled import write_sections

TRAINED = [name for name, row in CATALOGUE.items() if not isinstance(row.run, LocalSolver)]


@pytest.mark.table(3)
@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize(("kind", "steps"), [("spec", 3), ("mirror", 6)])
def test_every_row_takes_every_step(kind: str, steps: int, name: str) -> None:
    assert len([work() for _, work in KINDS[kind](find(name), 400)]) == steps


def test_the_table_has_the_worst_rows_of_the_largest_size_and_the_growth_of_the_median() -> None:
    def case(seconds: float) -> dict[str, Any]:
        return dict.fromkeys(("init", "round 1", "round 2", "save", "resume"), seconds)

    known = {f"{kind} {name} {d}": case(d * s) for kind in KINDS for name, s in RATES.items() for d in (10**5, 10**6)}
    known["spec slow 10000000"] = case(1.0)
    lines = table(known).splitlines()
    assert lines[2].endswith("growth from 1e+05 to 1e+06 |")
    assert lines[4] == "| init | specification | 30.0 | `slow` 70, `middle` 30, `quick` 10 | 10.0 times |"
    assert len(lines) == 4 + 6


RATES = {"quick": 1e-8, "slow": 7e-8, "middle": 3e-8}


def test_a_section_is_written_between_its_marks_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- one -->\n1\n<!-- end -->\n<!-- a note -->\n<!-- t: two -->\n2\n<!-- end -->\n")
    write_sections({"t: two": "new\n", "absent": ""}, page)
    assert page.read_text() == "<!-- one -->\n1\n<!-- end -->\n<!-- a note -->\n<!-- t: two -->\nnew\n<!-- end -->\n"
