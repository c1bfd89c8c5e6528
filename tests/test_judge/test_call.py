"""A failure names the algorithm and the call, and no equation that is called after another algorithm."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import first_deviation, judge_offer
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.verdict import Obligation, Status
from fedspec_suite.mutants import Mutated, find
from fedspec_suite.report.sentences import alone

FED_AGREE = Path(__file__).resolve().parents[2] / "examples/fed_agree.py"


def failed(mutant: str, algorithm: str, level: str, law: str, reading: str = "") -> Obligation:
    """What a law finds in a mutant, in double precision."""
    offers = [o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (algorithm, level)]
    offer = next(o for o in offers if not reading or o.reading == reading)
    asked = judge_offer(Inside(Mutated(find(mutant))), replace(offer, dtypes=("float64",)), law=law, cases=12)
    return next(o for o in asked if o.status is Status.FAIL)


def test_it_names_offer_round_and_numbers() -> None:
    o = failed("fedadam-step-correction-late", "fedadam", "server", "follows-x", "kingma-ba-step")
    assert o.deviation is not None and o.case is not None
    where, number = o.call.split(", ")[:2]
    assert where == "fedadam/server/kingma-ba-step" and number == o.deviation.where
    said = dict(n.split("=") for n in o.call.split(", ")[2:])
    assert said == {n: f"{v:g}" for n, v in o.case.case.hyper.items()} and "eta" in said
    assert alone(o) == first_deviation([o])
    assert alone(o).startswith(f"{o.call}; fedadam.step; got[")


@pytest.mark.slow
def test_a_shared_rule_is_not_called_after_who_else_runs_it() -> None:
    """FedProx ends in the step of FedAvg; a mistake of its clients is no matter of fedavg."""
    o = failed("proximal-sign", "fedprox", "round", "follows-x")
    assert o.deviation is not None and o.deviation.equation == "fedavg.step"
    assert alone(o).startswith("fedprox/round, round ") and "fedavg" not in alone(o)
    assert "mu=" in o.call and "got[" in alone(o)


SPOILED = """
from pathlib import Path
text = Path({example!r}).read_text(encoding="utf-8").replace('id="fed-agree', 'id="fed-agreed')
text = text.replace('MOVES = {{"fed-agree"', 'MOVES = {{"fed-agreed"')
left, right = '        "coordinates": "its rate is one number over the whole model",\\n', ""
assert left in text
Path("fed_agreed.py").write_text(text.replace(left, right), encoding="utf-8")
"""


@pytest.mark.slow
def test_an_own_algorithm_is_called_by_its_own_id(tmp_path: Path) -> None:
    """A copy of FedAgree that does not deny what is false of it, under the command and under pytest."""
    subprocess.run([sys.executable, "-c", SPOILED.format(example=str(FED_AGREE))], cwd=tmp_path, check=True)
    start = [sys.executable, "-c", "from fedspec_suite.cli.start import main; main()", "--plugin", "fed_agreed.py"]
    few = ("check", "spec", "--only", "fed-agreed/server", "--law", "coordinates", "--profile", "quick", "--json")
    ran = subprocess.run([*start, *few], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    (row,) = json.loads(ran.stdout)
    called = next(o["call"] for o in row["obligations"] if o["status"] == "fail")
    words = ("--fedspec-impl", "spec", "--fedspec-only", "fed-agreed/server", "--fedspec-law", "coordinates")
    with_pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "fedspec_suite", *words]
    # What is judged here is chosen by no profile of ours.
    env = {**os.environ, "FEDSPEC_PLUGINS": "fed_agreed.py", "FEDSPEC_PROFILE": ""}
    by_pytest = subprocess.run(with_pytest, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    for said in (row["first_deviation"], called, by_pytest.stdout):
        assert re.search(r"fed-agreed/server, round \d, eps=", said), said
    assert "coordinate 0 leaks into another" in by_pytest.stdout
