"""The results of the bundled packages: well formed, of today's pins, all explained, and the page is made of them."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import zipfile
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_judge.results import asked, result
from test_judge.support import ROOT, inside, module_at

from fedspec import reference, with_buffers
from fedspec.contract import LEVELS, Case, Session, Subject
from fedspec.errors import ContractError
from fedspec_suite.judge.capsules.file_format import read
from fedspec_suite.judge.capsules.replay import Outcome, replay_capsule
from fedspec_suite.judge.runner import REQUIREMENT
from fedspec_suite.measure.verdict import Conformity, Deviation, Obligation, Status, Unseen, format_declaration
from fedspec_suite.subjects import environments

pytestmark = pytest.mark.table(10)

conformance = module_at(ROOT / "scripts" / "conformance.py")
ROWS = conformance.stored()
BAD = [row for row in ROWS if not row["verdict"].startswith("conforms")]
ANSWERED = [row for row in BAD if row["verdict"] != "error"]


def test_the_page_is_made_of_the_results() -> None:
    assert conformance.PAGE.read_text(encoding="utf-8") == conformance.page(ROWS), (
        "python scripts/conformance.py --page"
    )


def test_the_readme_marks_the_claims_without_an_answer() -> None:
    marked = re.findall(r"/README\.md#(\w+)\).*?([\w-]+) \(error\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    silent = [row for row in ROWS if row["verdict"] == "error"]
    assert sorted(marked) == sorted((row["impl"].partition(":")[0], row["algorithm"]) for row in silent) != []


def test_the_page_can_be_read_in_100_columns() -> None:
    text = conformance.PAGE.read_text(encoding="utf-8")
    commands = "  fedspec check ", "  fedspec replay "
    assert not [line for line in text.splitlines() if len(line) > 100 and not line.startswith(commands)]


def test_no_line_of_a_paragraph_begins_like_a_list_or_a_quotation() -> None:
    """Markdown would end the paragraph there."""
    text = "a\n" + conformance.filled("asks v_0 >= tau^2 - 1 + 2 * 3 1) 4. 5 # 6 " * 40, "* ", "  ")
    for paragraphs in (text, re.sub(r"^ *```.*?^ *```$", "", conformance.page(ROWS), flags=re.M | re.S)):
        assert not re.findall(r"^  (?:[-+*#] |>|\d+[.)] ).*$", paragraphs, flags=re.M)


def test_every_line_has_every_field() -> None:
    for row in ROWS:
        assert list(row) == list(conformance.FIELDS)
        assert all(isinstance(row[name], kind) for name, kind in conformance.FIELDS.items()), row
        assert row["sha256"] is None or re.fullmatch(r"[0-9a-f]{64}", row["sha256"])
        assert (row["wheel"] is None) == (row["sha256"] is None)
        assert date.fromisoformat(row["date"]) >= date(2026, 11, 1)
        assert row["verdict"] in {*Conformity} - {Conformity.IN_PART} or conformance.in_part(row)
        assert 0 <= row["passed"] <= row["required"]
        assert row["level"] in {*LEVELS, ""}
        assert row["command"].startswith(f"fedspec check {row['impl']}")
        assert not re.search(r"/(root|home|work|tmp|Users)/", str(row)), "nothing of a machine"


def test_every_obligation_is_kept_and_a_number_that_is_wrong_beside_the_right_one() -> None:
    for row in ROWS:
        of = row["obligations"]
        assert sum(o["status"] == "pass" for o in of) == row["passed"]
        assert sum(o["status"] not in ("pass", "skip") for o in of) == row["required"] - row["passed"]
        for o in of:
            assert ("deviation" in o) >= (o["status"] == "fail") and bool(o.get("reason")) >= (o["status"] == "skip")
        wrong = [o["deviation"] for o in of if "deviation" in o]
        assert row["verdict"] != "does not conform" or any({"got", "want"} <= {*d} or "note" in d for d in wrong)


def test_a_number_that_json_has_not_is_a_word() -> None:
    wrong = Deviation("fedavg.step", "round 1", component=0, got=math.nan, want=1.5, ratio=math.inf)
    (kept,) = [conformance.obligation(Obligation("follows-x", "float64", Status.FAIL, (), deviation=wrong, call="c"))]
    assert json.loads(json.dumps(kept, allow_nan=False)) == {
        "id": "follows-x/float64",
        "status": "fail",
        "call": "c",
        "deviation": {
            "equation": "fedavg.step",
            "where": "round 1",
            "component": 0,
            "got": "nan",
            "want": 1.5,
            "ratio": "inf",
        },
    }


def test_what_changed_since_a_package_was_last_judged() -> None:
    a, b, c = (ROWS[0] | {"claimed": name, "date": "2026-01-01", "verdict": "conforms"} for name in "abc")
    names = {row["claimed"]: conformance.offer(row) for row in (a, b, c)}
    worse = b | {
        "date": "2026-02-02",
        "verdict": "does not conform",
        "sentence": "it steps uphill; looked at 1,234 of 5,678 candidates; first seen in round 1",
    }
    found = conformance.changed([a, b], [worse, c])
    assert found["since"] == "2026-01-01" and found["was"] == [a["requirement"]]
    assert (found["gone"], found["new"]) == ([names["a"]], [names["c"]])
    assert found["otherwise"] == [
        {"offer": names["b"], "was": "conforms", "is": "does not conform: it steps uphill; first seen in round 1"}
    ]
    same = conformance.changed([a, b], [a | {"passed": 1, "date": "2026-02-02"}, b])
    assert not (same["gone"] or same["new"] or same["otherwise"])
    assert conformance.changed([], [a])["since"] is None
    assert conformance.changed([worse, c], [worse | {"date": "2026-03-03"}, c], found) == found, "what changed last"
    newer = c | {"requirement": "another==2"}
    assert conformance.changed([worse, c], [worse, newer], found)["since"] == "2026-02-02"


def test_every_bundled_package_was_judged_as_it_is_pinned() -> None:
    names = environments.bundled()
    assert {conformance.package(row) for row in ROWS} == {s.package for s in names.values() if s.published}
    for row in ROWS:
        assert row["requirement"] == conformance.requirement(names[row["impl"]].requirements)
        assert not row["version"] or row["requirement"].endswith(f"=={row['version'].partition('+')[0]}")


def test_a_line_that_conforms_in_part_says_what_was_not_seen() -> None:
    """Lines of before have no such verdict, and the page is made of both."""
    c = Unseen("scaffold.c", "c = c + ...", ("c",))
    seen = result(Conformity.IN_PART, asked("follows-x"), algorithm="scaffold", seen=("x",), unseen=(c,))
    line = {**ROWS[0], **conformance.row(seen)}
    assert line["verdict"] == "conforms in x; c was not seen" and conformance.in_part(line)
    page = conformance.page([ROWS[0], line])
    assert page.count("conforms in x; c was not seen") == 2 and "return c too." in page
    assert "1 of 2 claims of 1 packages conform; 1 more conforms in part." in page
    assert "in part" not in conformance.page([ROWS[0]])


def test_what_an_offer_failed_is_kept_and_is_of_that_offer() -> None:
    """A capsule is sealed: reading one shows that nothing of it was edited."""
    files = {path.name for path in conformance.CAPSULES.iterdir()}
    assert files == {row["capsule"] for row in ANSWERED} == {row["capsule"] for row in ROWS} - {""}
    for row in ANSWERED:
        kept = read(conformance.CAPSULES / row["capsule"])
        whom = kept.implementation, kept.version, kept.offer.algorithm, kept.offer.level
        assert whom == (row["impl"], row["version"], row["algorithm"], row["level"])
        assert format_declaration(kept.offer) == row["claimed"]
        assert sorted(f.id for f in kept.failures) == sorted(o["id"] for o in row["obligations"] if "deviation" in o)


@pytest.mark.parametrize("row", ANSWERED, ids=conformance.offer)
def test_the_specification_passes_what_a_package_failed(row: dict[str, Any]) -> None:
    """Replay a stored failure on the specification under today's laws: a law that today's rules break is no longer
    evidence.

    A reading's demand on numbers that cannot be set is a matter of the offer, whoever computes.
    """
    kept = read(conformance.CAPSULES / row["capsule"])
    spec: Subject = with_buffers.SUBJECT if kept.offer.buffers else reference.SUBJECT
    whole = " ".join(kept.offer.buffers.values())

    def start(case: Case) -> Session:
        return spec.start(replace(case, variant=whole) if whole else case)

    found = replay_capsule(kept, SimpleNamespace(info=replace(spec.info, claims=(kept.offer,)), start=start))
    asked = [r.outcome for r in found if r.failure.law != REQUIREMENT]
    assert {*asked} <= {Outcome.PASSES, Outcome.OPEN}
    assert Outcome.PASSES in asked or not asked


def test_no_line_stands_twice() -> None:
    assert max(Counter(map(conformance.offer, ROWS)).values()) == 1


def test_what_does_not_conform_is_explained() -> None:
    said = conformance.remarks()
    assert {(conformance.offer(row), row["version"]) for row in BAD} == set(said), "remarks.toml"
    for remark in said.values():
        assert remark["kind"] in conformance.KINDS and remark["says"] and remark["where"]


PLACE = re.compile(r"(?P<file>[\w/]+\.py), lines? (?P<lines>\d+(-\d+)?(, \d+(-\d+)?)*( and \d+(-\d+)?)?)")
ELSEWHERE = "tensorflow/addons, optimizers/yogi.py, _create_slots"
PLACES = [(offer, where) for (offer, _), r in conformance.remarks().items() for where in r["where"].split("; ")]


@pytest.mark.parametrize("where", sorted({where for _, where in PLACES}))
def test_a_remark_says_file_and_lines(where: str) -> None:
    assert where == ELSEWHERE or PLACE.fullmatch(where)


@pytest.mark.table(1)
@pytest.mark.outside
@pytest.mark.parametrize("package", sorted({conformance.package(row) for row in BAD}))
def test_what_remarks_point_to_is_in_the_pinned_file(package: str, tmp_path: Path) -> None:
    pin = conformance.requirement(environments.bundled()[package].requirements)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "download",
        "-q",
        "--no-deps",
        "-d",
        str(tmp_path),
    ]
    subprocess.run([*pip, pin], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    of = {conformance.offer(row) for row in BAD if conformance.package(row) == package}
    with zipfile.ZipFile(wheel) as held:
        for offer, where in PLACES:
            if offer in of and (place := PLACE.fullmatch(where)):
                text = held.read(f"{package}/{place['file']}").decode().splitlines()
                numbers = [int(n) for n in re.findall(r"\d+", place["lines"])]
                assert numbers == sorted(numbers) and all(text[n - 1].strip() for n in numbers), where


def test_packages_that_conform_somewhere() -> None:
    """Each has an offer that conforms: the adapter can be driven."""
    assert {conformance.package(row) for row in ROWS if row["verdict"] == "conforms"} == {
        conformance.package(row) for row in ROWS
    }


@pytest.mark.slow
def test_a_package_that_cannot_be_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is a line that says so, and the others are judged."""

    def fails(subject: environments.Environment, *rest: object) -> None:
        raise ContractError(f"{subject.package}: cannot make its environment: python -m pip exited with 1; see a log")

    monkeypatch.setenv("FEDSPEC_CACHE", str(tmp_path))
    monkeypatch.setattr(environments, "_build", fails)
    ran = inside("check", "appfl", "spec", "--only", "sgd", "--law", "follows-x", "--profile", "quick", "--json")
    first, *others = ran.rows
    assert (first["subject"], first["verdict"]) == ("appfl", "error")
    assert "cannot make its environment" in first["first_deviation"]
    assert others and {row["verdict"] for row in others} == {"asked in part"}
    assert ran.code == 2
    monkeypatch.setattr(conformance, "wheel", lambda name: (None, None))
    (line,) = conformance.judged("appfl", 1, lambda text: None)
    assert list(line) == list(conformance.FIELDS) and line["verdict"] == "error"
    assert line["sentence"] == "appfl: cannot make its environment: python -m pip exited with 1"
    assert line["sentence"] in conformance.page([line])
