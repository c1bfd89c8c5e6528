"""Results that are read again: the same as those written, and every spoiled file refused in a line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Xml
from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from test_judge.results import asked, result, wrong
from test_judge.support import inside
from test_judge.test_report_page import FAILED, OFFERS, PART, RUN

from fedspec_suite.measure.verdict import Conformity, Deviation, Result, Status
from fedspec_suite.report import badges, changes, results_page, sentences, verdicts
from fedspec_suite.report.junit import junit
from fedspec_suite.report.markdown import markdown
from fedspec_suite.report.partial_conformance import one_line
from fedspec_suite.report.results_file import SCHEMA, ResultsFile, Run, line, read
from fedspec_suite.report.sarif import sarif

pytestmark = pytest.mark.table(10)


def written(path: Path, results: list[Result], run: Run = RUN) -> Path:
    path.write_text("".join(json.dumps(line(r, run)) + "\n" for r in results), encoding="utf-8")
    return path


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    odd = asked(
        "follows-x", Status.FAIL, deviation=Deviation("a", "", None, inf, -inf, inf), extent={"eta": (0.5, 2.0)}
    )
    more = [wrong("x", odd, nearest_data=({"kind": "a", "n": [1, {"b": None}]},), expected=(1, 2))]
    stored = read(written(tmp_path / "r.jsonl", [*OFFERS, *more]))
    assert list(stored.results) == [*OFFERS, *more]
    assert set(stored.runs) == {RUN} and stored.name.endswith("r.jsonl")


def test_a_list_as_json_prints_it_is_read_too(tmp_path: Path) -> None:
    lines = written(tmp_path / "r.jsonl", OFFERS)
    listed = tmp_path / "r.json"
    listed.write_text(json.dumps([line(r, RUN) for r in OFFERS], indent=2), encoding="utf-8")
    assert replace(read(listed), name="") == replace(read(lines), name="")


def test_lines_from_before_and_fields_of_tomorrow_are_read(tmp_path: Path) -> None:
    body = line(FAILED, RUN)
    old = {n: v for n, v in body.items() if n not in {"schema", "run", "course"}}
    (tmp_path / "r.jsonl").write_text("\n" + json.dumps(old) + "\n\n" + json.dumps({**body, "more": {}}) + "\n")
    stored = read(tmp_path / "r.jsonl")
    assert stored.results == (replace(FAILED, course=None), FAILED)
    assert stored.runs == (Run(), RUN)
    assert "nothing is told of the run" in Run().said and "not told" in results_page.page([stored])


def test_a_run_of_some_laws_from_before_does_not_conform(tmp_path: Path) -> None:
    """Its line counts no obligation that was not asked."""
    body = line(
        result(Conformity.CONFORMS, asked("follows-x"), seen=("x",)), replace(RUN, law="follows-x", profile="quick")
    )
    old = {n: v for n, v in body.items() if n not in {"unasked", "profile"}}
    (tmp_path / "r.jsonl").write_text(json.dumps(old) + "\n" + json.dumps({**old, "run": {}}) + "\n" + json.dumps(body))
    said = [r.said for r in read(tmp_path / "r.jsonl").results]
    assert said == ["follows x in quick cases; other checks not asked", "conforms", "conforms"]


def test_reasons_of_an_earlier_run_are_told_in_today_s_words(tmp_path: Path) -> None:
    left = asked("follows-m", Status.SKIP, reason="not offered: m is not shown")
    lost = asked("repeats", Status.ERROR, reason="subject: it ended")
    (tmp_path / "r.jsonl").write_text(json.dumps(line(result(Conformity.ERROR, left, lost), RUN)))
    (r,) = read(tmp_path / "r.jsonl").results
    assert [o.reason for o in r.obligations] == ["skipped: m is not shown", "adapter: it ended"]


def at(path: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """The line with another value somewhere in it."""

    def spoiled(body: dict[str, Any]) -> Any:
        *way, last = path.split(".")
        inner: Any = body
        for name in way:
            inner = inner[int(name) if name.isdigit() else name]
        inner[last] = value
        return body

    return spoiled


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda body: {n: v for n, v in body.items() if n != name}


SPOILED: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda body: [[body]], "it: got a list; want an object about one claim"),
    (lambda body: None, "it: got null; want an object"),
    (without("obligations"), "it has no obligations"),
    (without("verdict"), "it has no verdict"),
    (at("schema", SCHEMA + 1), f"its schema is {SCHEMA + 1}, and fedspec"),
    (at("schema", "1"), "schema: got '1'; want a whole number"),
    (at("schema", True), "schema: got true; want a whole number"),
    (at("run", 3), "run: got 3; want an object"),
    (at("run.seed", "7"), "run.seed: got '7'; want a whole number"),
    (at("verdict", "fine"), "verdict: got 'fine'; want one of conforms"),
    (at("passed", 1.5), "passed: got 1.5; want a whole number"),
    (at("passed", True), "passed: got true; want a whole number"),
    (at("subject", None), "subject: got null; want a string"),
    (at("options", {"weights": 1}), "options.weights: got 1; want a string"),
    (at("obligations", {}), "obligations: got an object; want a list"),
    (at("obligations", ["x"]), "obligations[0]: got 'x'; want an object"),
    (at("obligations.0.status", "ok"), "obligations[0].status: got 'ok'; want one of pass"),
    (at("obligations.0.deviation.got", "0.5"), "obligations[0].deviation.got: got '0.5'; want a number"),
    (
        at("obligations.0.deviation.want", 10**400),
        "obligations[0].deviation.want: got a whole number of 1329 bits; want a number that float64 can hold",
    ),
    (at("obligations.0.extent", {"eta": [1]}), "obligations[0].extent.eta: got a list; want two numbers"),
    (at("verdict", "conforms"), "verdict: got conforms; its checks give does not conform"),
    (at("verdict", "fails as expected"), "verdict: got fails as expected; its checks give does not"),
    (at("obligations.0.status", "pass"), "verdict: got does not conform; its checks give "),
    (at("obligations.0.status", "xfail"), "verdict: got does not conform; its checks give fails as expected"),
    (at("obligations", []), "verdict: got does not conform; its checks give inconclusive"),
    (at("passed", 7), "passed: got 7; its checks give 1"),
    (at("required", 46), "required: got 46; its checks give 2"),
    (at("exercised", 0), "exercised: got 0; its checks give 2"),
    (at("course.off", [0.5]), "course: got 3, 1 and 3 events"),
    (at("course.off", [0.5, -1.0, 0.5]), "course.off[1]: got -1.0; want a finite number"),
    (at("course.allowed", [nan, 0.5, 0.5]), "course.allowed[0]: got nan; want a finite number"),
    (at("course.where", []), "course: got 0, 3 and 3 events"),
]


@pytest.mark.parametrize(("spoil", "said"), SPOILED, ids=[said for _, said in SPOILED])
def test_a_line_that_is_none_is_refused_by_its_number(
    spoil: Callable[[dict[str, Any]], Any], said: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "r.jsonl", [FAILED])
    good = path.read_text()
    path.write_text(good + json.dumps(spoil(json.loads(good))) + "\n")
    inside("report", str(path), "-o", str(tmp_path / "r.html")).refused(
        f"{path}: line 2: {said}", "--report FILE.jsonl"
    )
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "it has no line"),
        (b"\n \n", "it has no line"),
        (b'{"a": ', "line 1: it is cut off or no JSON"),
        (b"<testsuites/>", "line 1: it is cut off or no JSON"),
        (b"\n" + b"[" * 100_000, "line 2: its lists or objects are nested too deeply"),
        (b"\xff\xfe", "it is no text in UTF-8"),
    ],
)
def test_a_file_of_something_else_is_refused(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(text)
    inside("report", str(tmp_path / "r")).refused(f"{tmp_path / 'r'}: {said}")


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    path = str(written(tmp_path / "r.jsonl", [FAILED]))
    inside("report", str(tmp_path / "none")).refused("cannot read", "No such file")
    inside("report", str(tmp_path)).refused("cannot read", "Is a directory")
    inside("report", path, "-o", str(tmp_path / "r.pdf")).refused("'.pdf'", ".html")
    inside("report", path, "--badge", str(tmp_path / "b.png")).refused("'.png'", ".json", ".svg")
    inside("report", path, "-o", f"{path}/r.html").refused("cannot write")
    inside("report", path, "--compare").refused("got 1 file", "OLD NEW")
    inside("report", path, "--only", "fedprox", "-o", str(tmp_path / "r.html")).refused("only", "fedprox", "r.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["r.jsonl"]


GOOD = result(Conformity.CONFORMS, asked("follows-x"))
OTHER = replace(GOOD, algorithm="fedprox")


@pytest.mark.parametrize(
    ("r", "said"),
    [
        (replace(GOOD, seen=()), "verdict: got conforms; its checks give conforms in part"),
        (replace(GOOD, unseen=PART.unseen), "verdict: got conforms; its checks give conforms in part"),
        (replace(PART, unseen=()), "verdict: got conforms in part; its checks give conforms"),
        (replace(GOOD, seen=("x", "m")), "seen: got m, which no passed check compares"),
        (replace(result(Conformity.CONFORMS, asked("repeats")), seen=("x",)), "seen: got x, which no passed check"),
    ],
)
def test_what_was_seen_is_part_of_a_verdict(r: Result, said: str, tmp_path: Path) -> None:
    inside("report", str(written(tmp_path / "r", [GOOD, r]))).refused(f"line 2: {said}")


def test_ten_times_as_many_rows_are_ten_times_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one algorithm, each with another claim, so that every name is unique."""

    def calls(rows: int) -> int:
        seen = 0

        def counted(text: str, *more: Any) -> str:
            nonlocal seen
            seen += 1
            return one_line(text, *more)

        monkeypatch.setattr(sentences, "one_line", counted)
        results = [replace(OFFERS[k % 6], algorithm="fedavg", fixed={"eta": float(k // 2)}) for k in range(rows)]
        stored = ResultsFile("r", tuple(results), (RUN,) * rows)
        assert results_page.page([stored]) and junit(results, [], "") and sarif(results, [], "")
        assert markdown(results, [], "") and verdicts.text(results, "") and not changes.changes(stored, stored)
        return seen

    assert calls(300) < 11 * calls(30)


def since(old: list[Result], new: list[Result]) -> list[tuple[str, str]]:
    a, b = (ResultsFile(name, tuple(some), (RUN,) * len(some)) for name, some in (("a", old), ("b", new)))
    return [(c.kind, c.said) for c in changes.changes(a, b)]


def test_what_changed_is_told_by_kind() -> None:
    bad, worse = FAILED, replace(FAILED, nearest="the sign is wrong")
    silent = result(Conformity.ERROR, asked("can-be-asked", Status.ERROR), first_deviation="it hangs")
    open_ = result(Conformity.INCONCLUSIVE, asked("follows-x", Status.INCONCLUSIVE))
    part = replace(PART, algorithm="fedavg")
    assert since([GOOD], [GOOD]) == since([bad], [bad]) == []
    for old, new, kind in (
        (GOOD, bad, "fails"),
        (GOOD, silent, "fails"),
        (part, bad, "fails"),
        (open_, bad, "fails"),
        (bad, GOOD, "mended"),
        (silent, part, "mended"),
        (bad, worse, "otherwise"),
        (bad, silent, "verdict"),
        (silent, bad, "verdict"),
        (GOOD, open_, "verdict"),
        (bad, open_, "verdict"),
        (GOOD, part, "verdict"),
    ):
        ((found, said),) = since([old], [new])
        assert found == kind, (old.said, new.said)
        assert kind == "otherwise" or f"it was: {old.said}" in said
    assert since([bad], [worse])[0][1].startswith("the sign is wrong")
    assert since([GOOD], [OTHER]) == [("new", "conforms"), ("gone", "it was: conforms")]
    assert [kind for kind, _ in since([bad], [OTHER])] == ["new", "gone"]
    # Another version is the same offer; one that claims the same twice is two.
    assert since([GOOD], [replace(GOOD, version="0.2")]) == []
    assert [kind for kind, _ in since([GOOD, replace(GOOD)], [GOOD, replace(bad)])] == ["fails"]


def test_the_sentence_counts_all(tmp_path: Path) -> None:
    names = ("sgd", "fedavg", "fedadam", "fedprox", "yogi", "lamb")
    bad = {n: replace(FAILED, algorithm=n) for n in names}
    good = {n: replace(GOOD, algorithm=n) for n in names}
    old = written(tmp_path / "old", [good["sgd"], good["fedavg"], bad["fedadam"], good["yogi"], good["lamb"]])
    new = [bad["sgd"], bad["fedavg"], good["fedadam"], good["fedprox"], replace(good["lamb"], version="0.2")]
    later = replace(RUN, numpy="2.5.0", seed=8, date="2027-01-01")
    page = tmp_path / "r.html"
    ran = inside("report", str(old), str(written(tmp_path / "new", new, later)), "--compare", "-o", str(page))
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [
        "3 of 5 claims conform, 2 do not.",
        f"since {old}: 2 newly fail, 1 is mended, 1 is new, 1 is gone, 1 is as before.",
    ]
    assert "also other than before: mine 0.1 to 0.2; NumPy 2.4.6 to 2.5.0; seed 7 to 8" in " ".join(ran.out.split())
    assert "mine/sgd/server/mcmahan-2017 newly fails: does not conform: the mean is uniform" in " ".join(
        ran.out.split()
    )
    text = page.read_text()
    assert f"Since {old}" in text and "2 newly fail, 1 is mended" in text and "NumPy 2.4.6 to 2.5.0" in text
    assert text.index("<h1>") < text.index("Since") < text.index("<article")
    # The page is about the later file alone.
    assert text.count("<article") == 2


def test_nothing_changed_is_said(tmp_path: Path) -> None:
    path = str(written(tmp_path / "r.jsonl", [GOOD]))
    assert "1 is as before." in inside("report", path, path, "--compare").out


def test_an_offer_of_several_files_counts_where_it_stands_last(tmp_path: Path) -> None:
    assert FAILED.id == GOOD.id
    good, both = written(tmp_path / "a", [GOOD, GOOD]), written(tmp_path / "b", [FAILED, OTHER])
    ran = inside("report", str(good), str(both), "-o", str(tmp_path / "r.html"))
    assert ran.out.splitlines()[:2] == [
        "1 of 2 claims conforms, 1 does not.",
        "2 claims stand in a later file too, which counts.",
    ]
    assert inside("report", str(both), str(good)).out.splitlines()[0] == "3 of 3 claims conform."


def test_files_are_joined(tmp_path: Path) -> None:
    other = replace(FAILED, algorithm="lamb")
    a, b = written(tmp_path / "a", [GOOD]), written(tmp_path / "b", [other], replace(RUN, profile="full"))
    ran = inside("report", str(a), str(b), "-o", str(tmp_path / "r.html"))
    assert ran.out.startswith("1 of 2 claims conforms, 1 does not.")
    text = (tmp_path / "r.html").read_text()
    assert "2 runs, told at the end" in text and str(a) in text and str(b) in text


@pytest.mark.parametrize(
    ("results", "label", "message", "colour"),
    [
        ([GOOD], "fedspec: fedavg", "conforms", "success"),
        ([FAILED], "fedspec: fedavg", "deviates", "critical"),
        ([PART], "fedspec: fednova", "conforms in x; tau_eff was not seen", "yellow"),
        ([OFFERS[4]], "fedspec: fedprox", "fails as expected", "yellow"),
        ([OFFERS[5]], "fedspec: yogi", "gave no answer", "inactive"),
        ([OFFERS[2]], "fedspec: fedadam", "is inconclusive", "inactive"),
        ([GOOD, OTHER], "fedspec", "2 of 2 conform", "success"),
        ([GOOD, GOOD, FAILED], "fedspec: fedavg", "2 of 3 conform", "critical"),
        ([GOOD, PART], "fedspec", "1 of 2 conforms", "yellow"),
        (OFFERS, "fedspec", "1 of 6 conforms", "critical"),
    ],
)
def test_a_badge_says_one_verdict_or_how_many(
    results: list[Result], label: str, message: str, colour: str, tmp_path: Path
) -> None:
    path, badge = str(written(tmp_path / "r", results)), tmp_path / "out" / "b.json"
    assert inside("report", path, "--badge", str(badge)).code == 0
    body = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
    assert json.loads(badge.read_text()) == body
    both = inside("report", path, "--badge", str(tmp_path / "b.json"), "--badge", str(badge.with_suffix(".svg")))
    assert both.code == 0 and (tmp_path / "b.json").read_bytes() == badge.read_bytes()
    assert Xml.parse(badge.with_suffix(".svg")).getroot().get("aria-label") == f"{label}: {message}"


def test_a_badge_of_an_offer_is_chosen_as_check_chooses(tmp_path: Path) -> None:
    path, badge = str(written(tmp_path / "r", OFFERS)), tmp_path / "b.json"
    for only, message in (("fedavg", "deviates"), ("sgd/server", "conforms"), ("fed*", "0 of 4 conform")):
        assert inside("report", path, "--badge", str(badge), "--only", only).code == 0
        assert json.loads(badge.read_text())["message"] == message


def test_every_verdict_has_a_badge_of_its_own_word() -> None:
    kinds = [badges.of(verdict) for verdict in Conformity]
    assert len({*kinds}) == len(Conformity) and {*kinds} == {*badges.WORST}
    assert badges.of("fails as expected (1 of 46)") is badges.EXPECTED
    assert badges.of("conforms to 2 laws; no equation was seen") is badges.PART
