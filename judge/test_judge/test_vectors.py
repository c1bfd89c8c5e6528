"""The vectors: made again they are the same, they hold what they promise, judge as the judge does, and refuse edits."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from test_judge.support import ROOT, START, inside, py, python

from fedspec.arith import digits
from fedspec.errors import FedspecError
from fedspec.schema import FOLDER as SCHEMAS
from fedspec_suite.measure.portable_rng import is_short
from fedspec_suite.mutants import MUTANTS
from fedspec_suite.vectors import generation, kill_counts, lint, store
from fedspec_suite.vectors.alternatives import rivals, separated, want_of
from fedspec_suite.vectors.checker import fits
from fedspec_suite.vectors.rows import Row, all_rows
from fedspec_suite.vectors.store import FOLDER, INDEX
from fedspec_suite.vectors.vector import encoded, id_of, options_of, read, rounded_up, scenario, written

pytestmark = pytest.mark.table(10)


Vector = dict[str, Any]


@cache
def every() -> tuple[Vector, ...]:
    return tuple(v for file in store.load() for v in file.vectors)


def one(algorithm: str) -> store.AlgorithmVectors:
    (found,) = store.load(algorithms=[algorithm])
    return found


# what they are


def test_every_offer_of_the_specification_has_vectors() -> None:
    """Check that every pair has vectors, except for some: under a global exponent no candidate decides, or none shows
    anything."""
    have = {(c["algorithm"], c["level"], c["reading"], json.dumps(options_of(c))) for c in (v["case"] for v in every())}
    without = set()
    for r in all_rows():
        o = r.offer
        if (o.algorithm, o.level, o.reading, json.dumps(dict(r.setting.options))) not in have:
            assert r.paired, r.name
            without.add(o.algorithm)
    assert without <= {"fed-lamb", "fed-ams"}


@pytest.mark.slow
def test_nothing_is_wrong_with_them() -> None:
    assert lint.lint(FOLDER) == []
    assert 0 < sum(p.stat().st_size for p in FOLDER.iterdir()) <= store.LARGEST


@pytest.mark.outside
def test_all_are_made_again_to_the_byte() -> None:
    """The stored ones were made under another hash seed."""
    ran = python("-c", START, "vectors", "make", "--check", env={"PYTHONHASHSEED": "3"})
    assert ran.returncode == 0 and "would change: none" in ran.stdout, ran


def test_what_would_change_is_said(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "v")
    path = tmp_path / "v" / "sgd.json"
    path.write_text(path.read_text().replace('"want"', '"want" '))
    ran = inside("vectors", "make", "sgd", "--check", "--jobs", "1", "--folder", str(tmp_path / "v"))
    assert ran.code == 1 and "would change: sgd.json" in ran.out


def test_what_has_no_vectors_yet_is_chosen_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picks.json"
    path.write_text('{"gone/client/x": [1]}')
    monkeypatch.setattr(generation, "PICKS", path)
    words = ("vectors", "make", "sgd", "--jobs", "1", "--folder", str(tmp_path / "v"))
    inside(*words, "--check").refused("sgd", "has no vectors yet", "run without --check")
    assert inside(*words).code == 0 and [*generation.picked()] == ["sgd/client/fednova"]
    (made_now,) = store.load(tmp_path / "v")
    shown = {name for v in made_now.vectors for names in v["kills"].values() for name in names}
    assert {m.id for m in MUTANTS.values() if "sgd" in m.algorithms} <= shown
    path.write_text("[")
    inside(*words).refused("picks.json", "cannot be read", "release")


SAMPLE = random.Random(7).sample(range(1000), 8)


@pytest.mark.parametrize("place", SAMPLE)
def test_what_is_stored_is_measured_again(place: int) -> None:
    """Wanted numbers, bounds and kills, of the inputs as they are read from disk."""
    vector = every()[place % len(every())]
    s, r = scenario(vector), row_of(vector)
    want = want_of(r, s)
    assert want is not None and encoded(r, s, want, separated(r, s, want, rivals(r))) == vector


@cache
def rows() -> dict[str, Row]:
    """First row among rows with the same options; it holds no number if there is such a row."""
    return {
        json.dumps([r.offer.level, r.offer.reading, dict(r.setting.options), bool(r.drawn.varies)])
        + r.offer.algorithm: r
        for r in reversed([*all_rows()])
    }


def row_of(vector: Vector) -> Row:
    case = vector["case"]
    anew = any("hyper" in event for event in vector["events"])
    return rows()[json.dumps([case["level"], case["reading"], options_of(case), anew]) + case["algorithm"]]


def test_two_options_at_once_and_rounds_without_scales_are_there() -> None:
    """Vectors for the usual implementation: another reading, and a mean that is not the box's own."""
    turned = {row_of(v).name for v in every() if row_of(v).paired}
    assert {
        "fedadam/server/kingma-ba-step weights=examples",
        "fed-ams/round/fed-ams memory=reset sent=corrected",
    } <= turned
    for name in ("fedadaadagrad", "fedadaadam", "fedblended"):
        given = {"scales" in event for v in one(name).vectors for event in v["events"]}
        assert given == {True, False}, name


def test_what_packages_hold_has_a_vector_each() -> None:
    """A server whose user cannot set v_0 is judged by some, and nothing is asked that its reading excludes."""
    holding = [r for r in all_rows() if r.alone and (r.drawn.fixed or r.drawn.v0_is_tau_squared)]
    assert {r.offer.algorithm for r in holding} >= {"fedadagrad", "fedadam", "fedyogi"}
    for r in holding:
        fitting = [v for v in one(r.offer.algorithm).vectors if not fits(r.offer, r.drawn, v)]
        # Those at the edges of the row that holds nothing may fit besides.
        assert fitting, r.name
        for hyper in (v["case"]["hyper"] for v in fitting):
            assert all(of.holds(hyper) for of in r.setting.algorithm.reading(r.setting.reading).requires), r.name


def test_a_total_that_rounding_decides_is_none() -> None:
    """Weighed by their steps, the mean of these changes is -1/2 but for rounding, and v is 1/4."""
    (vector,) = (v for v in one("fedyogi").vectors if v["id"] == "fedyogi/server/689948c4bb")
    s, r = scenario(vector), row_of(vector)
    want = want_of(r, s)
    assert want is not None and encoded(r, s, want, separated(r, s, want, rivals(r))) == vector
    totals = vector["kills"]["x"]
    assert totals["option:weights=steps"] is None and totals["option:weights=examples"] is not None


def test_fedavg_by_hand() -> None:
    """The wanted numbers of one algorithm, computed from the JSON with fractions and nothing of fedspec."""
    found = [v for v in every() if v["case"]["algorithm"] == "fedavg" and v["case"]["options"]["weights"] == "examples"]
    assert len(found) > 2
    for vector in (v for v in found if v["case"]["level"] == "server"):
        flat = {name: _flat(a) for name, a in vector["case"]["x0"].items()}
        for event, want in zip(vector["events"], vector["want"], strict=True):
            total = sum(m["weight"] for m in event["messages"])
            for name, numbers in flat.items():
                for j in range(len(numbers)):
                    mean = sum(Fraction(m["weight"], total) * _flat(m["delta"][name])[j] for m in event["messages"])
                    eta = {**vector["case"]["hyper"], **event.get("hyper", {})}["eta"]
                    numbers[j] += Fraction(eta) * mean
            right = [v for numbers in flat.values() for v in numbers]
            assert all(
                abs(Fraction(a) - b) <= abs(b) * Fraction(1, 10**24) for a, b in zip(want["x"], right, strict=True)
            )


def _flat(value: Any) -> list[Fraction]:
    return [v for part in value for v in _flat(part)] if isinstance(value, list) else [Fraction(value)]


# what they catch


def test_they_show_nearly_every_mutant_and_the_rest_is_explained() -> None:
    counted = kill_counts.count_kills(store.load())
    left = {name for name, n in counted.items() if not n}
    assert left == set(kill_counts.SURVIVORS) and all(kill_counts.SURVIVORS.values())
    assert len(left) <= 0.05 * len(MUTANTS)
    ran = inside("vectors", "mutants")
    shown = len(MUTANTS) - len(left)
    assert ran.code == 0 and f"{shown} of {len(MUTANTS)} mutants" in ran.out


def test_a_mutant_that_is_not_shown_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kill_counts, "SURVIVORS", {})
    ran = inside("vectors", "mutants")
    assert ran.code == 1 and "not explained" in ran.out


@pytest.mark.slow
def test_the_specification_conforms() -> None:
    ran = inside(
        "vectors", "check", "spec", "--only", "momentum", "--only", "fedams/server", "--only", "dsgd", "--json"
    )
    assert ran.code == 0
    assert {row["verdict"] for row in ran.rows} == {"conforms"} and all(row["passed"] > 1 for row in ran.rows)


@pytest.mark.parametrize(
    ("mutant", "only"),
    [
        ("fedadam-step-correction-late", "fedadam/server/kingma-ba-step"),
        ("momentum-stale", "momentum"),
        ("sm3-ii-forgets", "sm3-ii/client/fedada2"),
    ],
)
def test_a_mutant_is_found_and_named(mutant: str, only: str) -> None:
    ran = inside("vectors", "check", f"mutant:{mutant}", "--only", only, "--json")
    assert ran.code == 1, ran
    row = ran.rows[0]
    assert row["verdict"] == "does not conform" and MUTANTS[mutant].words in row["nearest"]
    assert any(o["deviation"] for o in row["obligations"]) and row["first_deviation"]


def test_a_subject_of_one_type_and_its_limits_is_judged() -> None:
    ran = inside("vectors", "check", py("right:fedavg"), "--json")
    assert ran.code == 0 and ran.rows[0]["passed"] > 1


def mine(folder: Path, *edits: tuple[str, str]) -> str:
    """The subject of examples/mine.py, with other text in each of these places."""
    text = (ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "mine.py").write_text(text)
    return f"py:{folder / 'mine.py'}:Adapter"


def test_what_no_vector_fits_is_inconclusive(tmp_path: Path) -> None:
    fixed = mine(tmp_path, ('{"weights": "examples"})', '{"weights": "examples"}, fixed={"eta": 0.7})'))
    ran = inside("vectors", "check", fixed)
    assert ran.code == 3 and "no vector fits its claims" in ran.out


def test_what_the_reading_asks_of_held_numbers_is_said() -> None:
    ran = inside("vectors", "check", py("odd:small_v0"), "--json")
    assert ran.code == 1 and "asks v_0 >= tau^2" in ran.rows[0]["first_deviation"]


def test_a_subject_that_gives_no_answer_is_an_error(tmp_path: Path) -> None:
    ran = inside("vectors", "check", mine(tmp_path, ("n = sum(", "n = self.nothing + sum(")))
    assert ran.code == 2 and "nothing" in ran.out


def test_what_is_remembered_for_good_shows_when_a_vector_is_played_again(tmp_path: Path) -> None:
    kept = mine(
        tmp_path,
        ("class Session:", "KEPT = {}\n\n\nclass Session:"),
        (
            "self.x, self.h = dict(case.x0), case.hyper",
            "self.x, self.h = KEPT.setdefault(str(case), dict(case.x0)), case.hyper",
        ),
    )
    ran = inside("vectors", "check", kept, "--json")
    assert ran.code == 1, ran


# what is refused


def spoiled(folder: Path, name: str, change: Any, digests: bool = False) -> Path:
    """A copy of the vectors with one file changed, and the index with it if asked."""
    target = folder / "v"
    shutil.copytree(FOLDER, target)
    path = target / name
    path.write_bytes(change(path.read_bytes()))
    if digests:
        index = json.loads((target / INDEX).read_text())
        body = path.read_bytes()
        index["files"][name] |= {"sha256": store.digest(body), "bytes": min(len(body), 10_000)}
        (target / INDEX).write_text(json.dumps(index))
    return target


def inside_of(change: Any) -> Any:
    """A change of the value that a file holds, as one of its bytes."""

    def changed(body: bytes) -> bytes:
        value = json.loads(body)
        change(value)
        return json.dumps(value).encode()

    return changed


HOSTILE = b'{"version":1,"algorithm":"sgd","defects":{},"vectors":['

REFUSED: dict[str, tuple[str, Any, bool, tuple[str, ...]]] = {
    "edited": ("sgd.json", lambda b: b.replace(b'"events"', b'"events" ', 1), False, ("sha256", "was changed")),
    "truncated": ("sgd.json", lambda b: b[: len(b) // 2], False, ("truncated",)),
    "truncated, and its digest": ("sgd.json", lambda b: b[: len(b) // 2], True, ("truncated",)),
    "of another version": ("sgd.json", lambda b: b.replace(b'"version":1', b'"version":9', 1), True, ("version 9",)),
    "index of another version": (
        INDEX,
        lambda b: b.replace(b'"version": 1', b'"version": 2', 1),
        False,
        ("version 2",),
    ),
    "index beyond its folder": (INDEX, lambda b: b.replace(b'"sgd.json"', b'"../x.json"'), False, ("../x.json",)),
    "an unknown field": ("sgd.json", lambda b: b.replace(b'"want"', b'"run":"rm","want"', 1), True, ("'run'",)),
    "a number that is none": (
        "sgd.json",
        lambda b: re.sub(rb'"eta_l":[\d.]+', b'"eta_l":NaN', b, count=1),
        True,
        ("NaN",),
    ),
    "a number beyond all": (
        "sgd.json",
        lambda b: re.sub(rb'"eta_l":[\d.]+', b'"eta_l":1e999', b, count=1),
        True,
        ("holds 1e999", "beyond every"),
    ),
    "a number of many digits": (
        "sgd.json",
        lambda b: re.sub(rb'"eta_l":[\d.]+', b'"eta_l":' + b"9" * 5000, b, count=1),
        True,
        ("a whole number of 5000 digits",),
    ),
    "a version in quotes": ("sgd.json", lambda b: b.replace(b'"version":1', b'"version":"1"', 1), True, ("'1'",)),
    "no version": ("sgd.json", lambda b: b.replace(b'"version":1,', b"", 1), True, ("not say its version",)),
    "index of other sizes": (
        INDEX,
        lambda b: re.sub(rb'("sgd.json": \{[^}]*"vectors": )\d+', rb"\g<1>99", b),
        False,
        ("99 vectors of sgd.json",),
    ),
    "index of no files": (INDEX, lambda b: b'{"version": 1, "files": {}}', False, ("names no files",)),
    "a name twice": ("sgd.json", lambda b: b.replace(b'"want"', b'"id":"","want"', 1), True, ("'id' twice",)),
    "nested": ("sgd.json", lambda b: HOSTILE + b"[" * 100_000, True, ("nested too deeply",)),
    "no text": ("sgd.json", lambda b: b"\xff\xfe" + b, True, ("no JSON in UTF-8",)),
    "a list": ("sgd.json", lambda b: b"[1]", True, ("no JSON object",)),
    "huge": ("sgd.json", lambda b: b + b" " * store.LARGEST, True, ("larger than",)),
    "of another algorithm": ("sgd.json", lambda b: b.replace(b'"sgd"', b'"adam"', 1), True, ("'adam'",)),
}


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("what", REFUSED)
def test_what_was_spoiled_is_refused_with_file_place_and_remedy(what: str, tmp_path: Path) -> None:
    name, change, digests, words = REFUSED[what]
    folder = spoiled(tmp_path, name, change, digests)
    for command in (("check", "spec", "--only", "sgd"), ("lint",), ("export", str(tmp_path / "out"), "--only", "sgd")):
        ran = inside("vectors", *command, "--folder", str(folder))
        ran.refused(str(folder / name), *words, "take")
    assert not (tmp_path / "out").exists()


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    folder = spoiled(tmp_path, "sgd.json", lambda b: b)
    (folder / "sgd.json").unlink()
    (folder / "sgd.json").symlink_to("/dev/zero")
    inside("vectors", "check", "spec", "--only", "sgd", "--folder", str(folder)).refused("sgd.json", "larger than")


@pytest.mark.slow
def test_an_index_without_a_file_is_refused(tmp_path: Path) -> None:
    folder = spoiled(tmp_path, INDEX, lambda b: b.replace(b'"sgd.json"', b'"sgp.json"'))
    inside("vectors", "check", "spec", "--only", "sgd", "--folder", str(folder)).refused("names no sgd.json", "take")
    inside("vectors", "lint", "--folder", str(folder)).refused("sgp.json", "cannot be read", "take")


def test_a_folder_without_vectors_is_refused(tmp_path: Path) -> None:
    inside("vectors", "lint", "--folder", str(tmp_path)).refused("index.json", "cannot be read", "vectors make")


def test_unknown_algorithms_and_formats_are_refused(tmp_path: Path) -> None:
    inside("vectors", "make", "nobody").refused("'nobody'", "fedspec list")
    inside("vectors", "export", str(tmp_path), "--format", "xml").refused("'xml'", "jsonl")
    blocked = tmp_path / "file"
    blocked.write_text("")
    inside("vectors", "export", str(blocked / "deeper"), "--only", "sgd").refused("cannot write", "another folder")


def _a_little_off(v: Any) -> None:
    """A wanted number off by what no rounding explains, and by no more than a hundredth of a millionth."""
    first = v["want"][0]["x"]
    first[0] = written(Fraction(read(first[0], "x")) + Fraction(1, 10**8))


FAULTS: dict[str, tuple[Any, str]] = {
    "nine bits": (lambda v: v["case"]["hyper"].update(eta_l=257 / 512), "more than eight bits"),
    "inputs changed": (lambda v: v["case"]["hyper"].update(eta_l=2.0), "its inputs have the id"),
    "too long": (lambda v: v["equations"].update(note="x" * 6000), "more than 6000"),
    "shows nothing": (lambda v: v.update(kills={}), "tells nothing"),
    "no number": (lambda v: v["want"][0].update(x=["1/0"] * len(v["want"][0]["x"])), "want an integer"),
    "too few": (lambda v: v["want"][0]["x"].pop(), "not as many numbers"),
    "an event more": (lambda v: v["want"].append(v["want"][0]), "not one for each event"),
    "no such reading": (lambda v: v["case"].update(reading="mine"), "no claim"),
    "hyper-parameters of another": (lambda v: v["case"]["hyper"].update(rho=0.5), "this row has eta_l"),
    "no such place": (lambda v: v["kills"].update(y={"sgd-sign": 1.0}), "no place"),
    "another file": (lambda v: v["case"].update(algorithm="adam"), "in the file of sgd"),
    "edited by little": (_a_little_off, "is not what the rule gives"),
    "edited": (lambda v: v["want"][0].update(x=["7"] * len(v["want"][0]["x"])), "is not what the rule gives"),
    "out of its domain": (lambda v: v["case"]["hyper"].update(eta_l=-0.5), "the specification refuses it: eta_l"),
    "other blocks": (lambda v: v["events"][0].update(g={"z": [1.0]}), "the specification refuses it: blocks"),
    "a bound that hides all": (lambda v: v["scale"][0].update(x=[1e9] * len(v["want"][0]["x"])), "so wide"),
    "a problem at level client": (
        lambda v: v["case"].update(problem={"H": [[[1.0]]], "e": [[1.0]], "examples": [1.0]}),
        "case.problem: plays no part",
    ),
    "a population": (lambda v: v["case"].update(population=3), "case.population: plays no part"),
    "no bound": (lambda v: v["scale"][0].update(x=[-1.0] * len(v["want"][0]["x"])), "finite and >= 0"),
}


@pytest.mark.parametrize(
    "what", ["nine bits", "no number", "too few", "an event more", "no such reading", "edited", "out of its domain"]
)
def test_judging_refuses_what_lint_would_find(what: str, tmp_path: Path) -> None:
    """Though schema and digest are right."""

    def change(value: Any) -> None:
        FAULTS[what][0](value["vectors"][0])
        value["vectors"][0]["id"] = id_of(value["vectors"][0])

    folder = spoiled(tmp_path, "sgd.json", inside_of(change), digests=True)
    ran = inside("vectors", "check", "spec", "--only", "sgd", "--folder", str(folder))
    ran.refused(str(folder / "sgd.json"), "vector sgd/client/", FAULTS[what][1], "take")


@pytest.mark.parametrize(
    ("change", "where", "words"),
    [
        (lambda v: v["vectors"][0]["kills"]["x"].update(mine=1.0), "defects: ", "'mine' in kills without words"),
        (lambda v: next(iter(v["defects"].values())).update(words="\x1b[2J"), "defects: ", "are no line of text"),
        (lambda v: v["vectors"][0].update(id="\x1b[2J\nsgd"), "x1b[2J", "inputs have the id"),
    ],
)
def test_judging_refuses_odd_defects_and_ids(change: Any, where: str, words: str, tmp_path: Path) -> None:
    folder = spoiled(tmp_path, "sgd.json", inside_of(change), digests=True)
    ran = inside("vectors", "check", "spec", "--only", "sgd", "--folder", str(folder))
    ran.refused(where, words)


@pytest.mark.parametrize("what", FAULTS)
def test_lint_says_what_is_wrong(what: str) -> None:
    change, words = FAULTS[what]
    vector = json.loads(json.dumps(one("sgd").vectors[0]))
    change(vector)
    assert any(words in fault for fault in lint.faults(vector, "sgd"))


def test_what_is_right_has_no_fault() -> None:
    assert [list(lint.faults(v, "sgd")) for v in one("sgd").vectors] == [[] for _ in one("sgd").vectors]


# numbers


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(-3, 8), "-3/8"),
        (Fraction(10**14), "100000000000000"),
        (Fraction(1, 3**40), "8.225263339969959081282058e-20"),
    ],
)
def test_numbers_are_written_exactly_or_to_25_digits(number: Fraction, text: str) -> None:
    assert written(number) == text
    assert abs(read(text, "here") - number) <= abs(number) * Fraction(1, 10**24)


@pytest.mark.parametrize("text", ["", "nan", "1e5000", "0x1", "1/0", "1.", ".5", "1" * 16, "1/2/3", " 1", 1.0, None])
def test_what_is_no_wanted_number_is_refused(text: Any) -> None:
    with pytest.raises(FedspecError, match="here: got"):
        read(text, "here")


def test_a_root_is_written_to_25_digits() -> None:
    from decimal import Decimal

    with digits():
        assert written(Decimal(2).sqrt()) == "1.414213562373095048801689"


def test_short_numbers_are_those_of_bfloat16() -> None:
    assert all(map(is_short, (0, 1.5, -255, 2.0**-40, 255 / 256, 9.0)))
    assert not any(map(is_short, (257, 0.1, 257 / 512, float("nan"), float("inf"), 2.0**-80)))


def test_bounds_are_rounded_up() -> None:
    assert rounded_up(0.0) == 0 and rounded_up(1.001) == 1.01 and rounded_up(1.0) == 1.0


# what leaves


def test_exported_lines_keep_the_schema_and_say_what_defects_mean(tmp_path: Path) -> None:
    ran = inside(
        "vectors", "export", str(tmp_path), "--rates", "--format", "jsonl", "--only", "fedavg", "--only", "sgd"
    )
    assert ran.code == 0
    schema = json.loads((tmp_path / "vectors.schema.json").read_text())
    assert schema == json.loads((SCHEMAS / "vectors.schema.json").read_text())
    one_vector = jsonschema.Draft202012Validator({"$ref": "#/$defs/vector", "$defs": schema["$defs"]})
    lines = [json.loads(line) for line in (tmp_path / "vectors.jsonl").read_text().splitlines()]
    assert len(lines) == len(one("fedavg").vectors) + len(one("sgd").vectors)
    for line in lines:
        assert set(line.pop("defects")) == {name for found in line["kills"].values() for name in found}
        one_vector.validate(line)
        assert line["id"] == id_of(line)


def test_exported_files_are_those_that_fedspec_has(tmp_path: Path) -> None:
    assert inside("vectors", "export", str(tmp_path), "--rates").code == 0
    names = {p.name for p in FOLDER.iterdir()}
    assert {p.name for p in tmp_path.iterdir()} == names | {"vectors.schema.json"}
    assert all((tmp_path / name).read_bytes() == (FOLDER / name).read_bytes() for name in names)
    whole = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "vectors.schema.json").read_text()))
    whole.validate(json.loads((tmp_path / "sgd.json").read_text()))


def test_a_harness_that_knows_no_rates_of_rounds_gets_none(tmp_path: Path) -> None:
    for more, said in (((), False), (("--rates",), True)):
        for form in ("json", "jsonl"):
            assert inside("vectors", "export", str(tmp_path), "--only", "fedavg", "--format", form, *more).code == 0
        lines = [json.loads(line) for line in (tmp_path / "vectors.jsonl").read_text().splitlines()]
        assert any("hyper" in event for line in lines for event in line["events"]) is said
        (file,) = store.load(tmp_path)
        assert [v["id"] for v in file.vectors] == [line["id"] for line in lines]
        assert set(file.defects) == {name for line in lines for name in line["defects"]}


def test_the_harness_of_the_examples_runs(tmp_path: Path) -> None:
    """It passes as it stands, and names the defect, and no other, when the mean is a sum."""
    code = (ROOT / "examples" / "play_vectors.py").read_text(encoding="utf-8")
    assert inside("vectors", "export", str(tmp_path), "--format", "jsonl", "--only", "fedavg").code == 0

    def run(text: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "harness.py"
        file.write_text(text, encoding="utf-8")
        return python("-S", str(file), str(tmp_path / "vectors.jsonl"))

    right, wrong = run(code), run(code.replace("n / total * d[j]", "d[j]"))
    assert right.returncode == 0 and re.fullmatch(r"(\d+) of \1 vectors pass\n", right.stdout), right
    assert wrong.returncode == 1 and wrong.stdout.count("looks like") == 1, wrong
    assert "looks like mean-sum which is: a sum instead of a mean\n" in wrong.stdout
    other = run(code.replace("self.x[j] += self.eta *", "self.x[j] += 1.01 * self.eta *"))
    assert other.returncode == 1 and "looks like" not in other.stdout, other


SGD = (FOLDER / "sgd.json").read_text(encoding="utf-8")


def test_what_is_written_again_changes_nothing(tmp_path: Path) -> None:
    assert generation.write([("sgd.json", SGD)], tmp_path) == ["sgd.json", INDEX]
    assert generation.write([("sgd.json", SGD)], tmp_path) == []
    assert {p.name for p in tmp_path.iterdir()} == {"sgd.json", INDEX}


def test_the_users_files_and_the_vectors_of_other_plugins_stay(tmp_path: Path) -> None:
    """As after three commands, each with one plugin, into a folder that has a file of the user's."""
    (tmp_path / "results.json").write_text("{}")
    generation.write([("of-another.json", SGD)], tmp_path)
    generation.write([("sgd.json", SGD)], tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"of-another.json", "results.json", "sgd.json", INDEX}
    assert set(store.indexed(tmp_path)) == {"of-another.json", "sgd.json"}


def test_vectors_of_an_algorithm_that_is_gone_go_with_it_where_fedspec_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation.write([("gone.json", SGD)], tmp_path)
    monkeypatch.setattr(generation, "FOLDER", tmp_path)
    generation.write([("sgd.json", SGD)], tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"sgd.json", INDEX}


@pytest.mark.parametrize("spoilt", [True, False])
def test_an_index_that_cannot_be_read_is_made_anew(spoilt: bool, tmp_path: Path) -> None:
    (tmp_path / "fedavg.json").write_text((FOLDER / "fedavg.json").read_text(encoding="utf-8"))
    if spoilt:
        (tmp_path / INDEX).write_text("[")
    generation.write([("sgd.json", SGD)], tmp_path)
    assert set(store.indexed(tmp_path)) == {"sgd.json", *(["fedavg.json"] if spoilt else [])}
