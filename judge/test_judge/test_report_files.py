"""Reports by suffix: what each form holds, and that what a subject says does no harm in any."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from test_judge.results import asked, result, wrong
from test_judge.support import hostile, inside

from fedspec_suite.judge.expected_failures import Complaint, Expectation
from fedspec_suite.measure.verdict import Conformity, Deviation, Result, Status
from fedspec_suite.report.files import Report

EVIL = "</testcase>| `x` [a](b) <img src=x> **b** \x1b[31m \ud800 \u202e\n* row & \"'"

RESULTS = [
    result(Conformity.CONFORMS, asked("follows-x"), asked("mean", Status.SKIP, reason="skipped: mean")),
    wrong(
        f"no known variant; {EVIL}",
        asked("follows-x", Status.FAIL, deviation=Deviation("fedavg.step", "round 1", note=EVIL)),
        asked("rests", Status.ERROR, reason=EVIL, detail=EVIL),
        asked("mean", Status.INCONCLUSIVE, reason="rounding"),
        algorithm="fedprox",
        notes=EVIL,
        command="fedspec check 'py:mi`ne|.py:it' --only fedprox",
        capsule="kept/a.json",
        script="kept/a.py",
    ),
    result(Conformity.EXPECTED, asked("follows-x", Status.XFAIL, reason="known (#7)"), algorithm="fedavgm"),
    result(Conformity.ERROR, asked("can-be-asked", Status.ERROR, reason="no"), algorithm="", reading="", level=""),
]
COMPLAINT = Complaint(Expectation("e | <b>.toml", 2, 7, "sgd", "because"), "passes now; delete the entry")


def written(path: Path, results: list[Result] = RESULTS) -> str:
    report = Report(path)
    for r in results:
        report.write(r)
    report.close([COMPLAINT], "profile quick, seed 0, 1 s")
    assert not report.failure
    return path.read_text(encoding="utf-8")


def test_junit_has_a_case_for_each_obligation(tmp_path: Path) -> None:
    root = Xml.fromstring(written(tmp_path / "r.xml"))
    suites = root.findall("testsuite")
    assert [s.get("name") for s in suites] == [
        "mine/fedavg/server/mcmahan-2017",
        "mine/fedprox/server/mcmahan-2017",
        "mine/fedavgm/server/mcmahan-2017",
        "mine",
        "expected failures",
    ]
    counts = ["".join(str(s.get(n)) for n in ("tests", "failures", "errors", "skipped")) for s in suites]
    assert counts == ["2001", "3120", "1001", "1010", "1100"]
    (case,) = suites[2].findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("mine/fedavgm/server/mcmahan-2017", "follows-x/float64")
    skipped = case.find("skipped")
    assert skipped is not None and skipped.get("type") == "xfail" and "known (#7)" in str(skipped.get("message"))
    assert suites[0].findall("testcase")[1][0].get("message") == "skipped: mean"


def test_junit_says_how_long_each_took(tmp_path: Path) -> None:
    slow = replace(RESULTS[0], obligations=tuple(replace(o, seconds=1.25) for o in RESULTS[0].obligations))
    (suite, *_) = Xml.fromstring(written(tmp_path / "r.xml", [slow])).findall("testsuite")
    assert [case.get("time") for case in suite][:2] == ["1.250", "1.250"] and suite.get("time") == "2.500"
    # Lines are the same whenever they are written.
    assert written(tmp_path / "a.jsonl", [slow]) == written(tmp_path / "b.jsonl", [RESULTS[0]])


def test_markdown_shows_words_as_they_are(tmp_path: Path) -> None:
    text = written(tmp_path / "r.md")
    lines = text.splitlines()
    assert lines[0] == "**1 of 4 claims conforms, 1 does not, 1 gave no answer, 1 fails as expected.**"
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(RESULTS)
    # What separates cells is not in them.
    assert {line.replace("\\|", "").count("|") for line in table} == {7}
    assert "<img" not in text.replace("\\<", "") and "\x1b" not in text
    assert sum(line.startswith("* ") for line in lines) == 3
    assert "``" in text and "fedspec replay kept/a.json" in text and "python kept/a.py" in text
    assert "fails as expected \\(1 of 1\\)" in text and "delete the entry" in text


SARIF = {
    "run": {"tool", "results", "properties"},
    "component": {"name", "version", "rules"},
    "rule": {"id", "shortDescription", "fullDescription", "help"},
    "result": {"ruleId", "kind", "level", "message", "locations", "partialFingerprints", "suppressions"},
}
"""The fields that the OASIS schema has, of those that are written here; of rules, what code hosts ask for."""


def test_sarif_keeps_what_the_schema_requires(tmp_path: Path) -> None:
    body = json.loads(written(tmp_path / "r.sarif"))
    (run,) = body["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert (
        body["version"] == "2.1.0" and run.keys() <= SARIF["run"] and run["tool"]["driver"].keys() <= SARIF["component"]
    )
    assert all(r.keys() == SARIF["rule"] and r["help"]["text"] for r in rules) and len({r["id"] for r in rules}) == len(
        rules
    )
    assert all(r.keys() <= SARIF["result"] and r["message"]["text"] for r in run["results"])
    assert {r["ruleId"] for r in run["results"]} == {r["id"] for r in run["tool"]["driver"]["rules"]}
    told = [(r["ruleId"], r["level"], r.get("kind", "fail")) for r in run["results"]]
    assert told == [
        ("follows-x", "error", "fail"),
        ("rests", "error", "fail"),
        ("mean", "none", "open"),
        ("follows-x", "note", "fail"),
        ("can-be-asked", "error", "fail"),
        ("expected-failures", "error", "fail"),
    ]
    assert run["results"][3]["suppressions"][0]["justification"] == "known (#7)"
    assert run["results"][-1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    named = run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert named == "mine/fedprox/server/mcmahan-2017/follows-x/float64"
    prints = [r["partialFingerprints"]["obligation/v1"] for r in run["results"]]
    assert len(set(prints)) == len(prints)


def test_sarif_names_the_file_of_the_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("")
    (found,) = json.loads(written(Path("r.sarif"), [wrong("no known variant")]))["runs"][0]["results"][:1]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "mine.py"}


@pytest.mark.parametrize("name", ["r.json", "r.pdf", "r.XML"])
def test_an_unknown_suffix_is_refused_with_those_that_there_are(name: str, tmp_path: Path) -> None:
    ran = inside("check", "spec", "--report", str(tmp_path / "a.md"), "--report", str(tmp_path / name))
    ran.refused(".jsonl", ".xml (JUnit)", ".md (Markdown)", ".sarif (SARIF)", ".html (a page)")
    assert not (tmp_path / name).exists()


SUFFIXES = [".xml", ".md", ".sarif", ".html", ".jsonl", ""]
SOME = ("--profile", "quick", "--jobs", "1", "--law", "follows-x")


def test_several_reports_of_one_run(tmp_path: Path) -> None:
    paths = [tmp_path / f"r{suffix}" for suffix in SUFFIXES]
    flags = [word for path in paths for word in ("--report", str(path))]
    assert inside("check", hostile("right"), *SOME, *flags).code == 0
    assert all("follows x in quick cases" in path.read_text() for path in paths)
    (open_,) = json.loads(paths[2].read_text())["runs"][0]["results"]
    assert (open_["ruleId"], open_["kind"]) == ("asked", "open")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_refused_run_leaves_the_old_report(suffix: str, tmp_path: Path) -> None:
    old, new = tmp_path / f"old{suffix}", tmp_path / f"new{suffix}"
    old.write_text("old\n")
    both = ("--report", str(old), "--report", str(new))
    inside("check", hostile("right"), "--only", "fedbest", *SOME, *both).refused("fedbest")
    assert old.read_text() == "old\n" and not new.exists()


@pytest.mark.table(1)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_is_said_and_the_table_is_printed(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"r{suffix}"
    path.symlink_to("/dev/full")
    ran = inside("check", hostile("right"), *SOME, "--report", str(path))
    assert ran.code == 2 and ran.out.startswith("1 of 1 claim follows x in quick cases; ")
    assert f"{path} is not complete" in ran.err and "Traceback" not in ran.err
