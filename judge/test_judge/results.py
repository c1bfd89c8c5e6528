"""Results made by hand, for what is said of them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from fedspec_suite.judge.equation_coverage import compared_quantities
from fedspec_suite.judge.runner import conclude
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.verdict import Conformity, Deviation, Obligation, Result, Status
from fedspec_suite.report.verdicts import show

HERE = Deviation("fedavg.step", "round 2", 1, got=0.25, want=0.5, ratio=1e15)


def asked(law: str, status: Status = Status.PASS, dtype: str = "float64", **more: Any) -> Obligation:
    """Obligation; a failed one deviates at HERE by default."""
    if status is Status.FAIL:
        more = {"deviation": HERE, **more}
    reads = law in all_laws() and all_laws()[law].reads_rule
    return Obligation(law, dtype, status, ("fedavg.step",), cases=12, reads=reads, **more)


def result(verdict: Conformity = Conformity.CONFORMS, *obligations: Obligation, **more: Any) -> Result:
    """Line of the table, counted from its obligations."""
    said = next((str(o.deviation) for o in obligations if o.status is Status.FAIL), "")
    _, passed, exercised, required = conclude([*obligations])
    r = Result(
        subject="mine",
        version="0.1",
        algorithm="fedavg",
        level="server",
        reading="mcmahan-2017",
        options={},
        fixed={},
        verdict=verdict,
        exercised=exercised,
        passed=passed,
        required=required,
        first_deviation=said,
        obligations=obligations,
        seen=compared_quantities(obligations) if verdict is Conformity.CONFORMS else (),
        command="fedspec check mine.py:it --only fedavg/server --profile quick",
    )
    return replace(r, **more)


def wrong(nearest: str, *obligations: Obligation, **more: Any) -> Result:
    """An offer that does not conform."""
    failed = obligations or (asked("follows-x", Status.FAIL),)
    return result(Conformity.DOES_NOT, *failed, nearest=nearest, **more)


def printed(results: Sequence[Result], width: int = 100, **more: Any) -> list[str]:
    """The lines that the command prints of these results."""
    out = io.StringIO()
    show(results, Console(file=out, width=width, highlight=False), "profile quick, seed 0, 1 s", **more)
    return out.getvalue().splitlines()
