"""A capsule is somebody else's file: cut off, edited or hostile, it is refused in a line, or played without a crash."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_judge.capsule_failures import of_mutant
from test_judge.support import inside
from test_judge.test_robust_wire import FUZZ

from fedspec.contract import Offer
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite.judge.capsules.file_format import digest, read
from fedspec_suite.judge.capsules.replay import replay_capsule
from fedspec_suite.measure.in_process import InProcess

COUNT = 250


def body_of(mutant: str, law: str, algorithm: str) -> dict[str, Any]:
    return of_mutant(mutant, law, algorithm)[2].body


@pytest.fixture(scope="module")
def bodies() -> list[dict[str, Any]]:
    return [body_of("fedyogi-sign", "follows-x", "fedyogi"), body_of("adagrad-stale", "unrolled", "adagrad")]


def sealed(body: Any) -> Any:
    try:
        return {**body, "digest": digest(body)}
    except (TypeError, ValueError, RecursionError):
        return body


def refuses(text: str | bytes, folder: Path, *words: str) -> None:
    path = folder / "capsule.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    inside("replay", str(path), "spec").refused(str(path), "make it again", *words)


def test_what_is_cut_off_or_no_json_is_refused(bodies: list[dict[str, Any]], tmp_path: Path) -> None:
    text = json.dumps(bodies[0])
    refuses(text[: len(text) // 2], tmp_path, "cut off or no JSON")
    refuses(b"\xff\xfe", tmp_path, "cut off or no JSON")
    refuses("", tmp_path, "cut off or no JSON")
    refuses("[1]", tmp_path, "no capsule")
    refuses("[" * 200_000, tmp_path, "nested too deeply")
    refuses(text.replace("{", '{"fedspec": "9", ', 1), tmp_path, "has a name twice")
    refuses(text.replace('"failures": [', '"failures": [NaN, ', 1), tmp_path, "NaN is no JSON")
    refuses(text.replace('"failures": [', '"failures": [1e999, ', 1), tmp_path, "number that JSON does not have")
    refuses(text.replace('"failures": [', f'"failures": [{"9" * 5000}, ', 1), tmp_path, "cut off or no JSON")
    inside("replay", str(tmp_path / "none.json"), "spec").refused("none.json", "a file that exists")
    inside("replay", "/dev/zero", "spec").refused("/dev/zero", "larger than 64 MB", "make it again")


def test_another_version_and_an_edit_by_hand_are_refused(bodies: list[dict[str, Any]], tmp_path: Path) -> None:
    refuses(json.dumps({**bodies[0], "capsule": 2}), tmp_path, "version 2", "reads version 1", "fedspec that wrote it")
    refuses(json.dumps({**bodies[0], "subject": "better"}), tmp_path, "digest", "edited or damaged")


Spoil = Callable[[dict[str, Any]], object]

HOSTILE: list[tuple[Spoil, tuple[str, ...]]] = [
    (lambda b: b.update(capsule=True), ("capsule",)),
    (lambda b: b.update(more=1), ("more",)),
    (lambda b: b.update(failures=[]), ("failures: got an empty list; a capsule has at least one",)),
    (lambda b: b.update(failures={}), ("the capsule.failures",)),
    (lambda b: b["offer"].update(algorithm=7), ("offer.algorithm: got 7",)),
    (lambda b: b["offer"].update(hook="os.system"), ("unknown field 'hook'",)),
    (lambda b: b["failures"][0].update(dtype="int64"), ("failures[0].dtype",)),
    (lambda b: b["failures"][0].update(law=["x"]), ("failures[0].law",)),
    (lambda b: b["failures"][0]["deviation"].update(got="1"), ("deviation.got",)),
    (lambda b: b["failures"][0]["deviation"].update(component=2**70), ("a whole number of 71 bits",)),
    (lambda b: b["failures"][0].update(case={"record": "Popen", "fields": {}}), ("unknown record 'Popen'", "Scenario")),
    (lambda b: b["failures"][0].update(case={"record": ["Case"], "fields": {}}), ("unknown record",)),
    (lambda b: b["failures"][0].update(case={"word": ["Solver", "__class__"]}), ("unknown reading 'Solver'",)),
    (lambda b: b["failures"][0].update(case={"word": ["os", "system"]}), ("unknown reading 'os'",)),
    (
        lambda b: b["failures"][0].update(case={"array": [1.0], "shape": [10**12], "dtype": "float64"}),
        ("fill the stated shape",),
    ),
    (lambda b: b["failures"][0].update(case={"array": [], "shape": [], "dtype": "object"}), ("dtype: got 'object'",)),
    (lambda b: b["failures"][0].update(case={"array": [10**400], "shape": [1], "dtype": "float64"}), ("1329 bits",)),
    (lambda b: b["failures"][0].update(case={"array": [1e300], "shape": [1], "dtype": "float32"}), ("float32 cannot",)),
    (lambda b: b["failures"][0].update(case={"fraction": "1/0"}), ("a fraction such as",)),
    (lambda b: b["failures"][0].update(case={"slice": ["a", 1, 2]}), ("whole numbers or null",)),
    (lambda b: b["failures"][0].update(case={"pickle": "gASV"}), ("an object without a tag",)),
    (lambda b: b["failures"][0].update(case=deep(40)), ("nested more than 32 times",)),
    (lambda b: scenario(b)["case"]["fields"].update(hyper={"dict": {"eta": "[/x]\x1b[2J"}}), ("hyper.eta",)),
    (lambda b: scenario(b)["events"].update(tuple=[]) or scenario(b).update(case=1), ("a Case and a tuple",)),
    (lambda b: b["failures"][0]["calls"].append({"session": 0}), ("neither a case nor an event",)),
    (lambda b: b["failures"][0]["calls"][0].update(session="0"), ("calls[0].session",)),
    (lambda b: b["failures"][0]["calls"][0].update(cmd="stop"), ("calls[0]", "'cmd'")),
]


def scenario(body: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = body["failures"][0]["case"]["fields"]
    return fields


def deep(n: int) -> Any:
    return {"tuple": [deep(n - 1)]} if n else None


@pytest.mark.table(10)
@pytest.mark.parametrize(("spoil", "words"), HOSTILE)
def test_what_is_hostile_is_refused_with_its_place(
    spoil: Spoil, words: tuple[str, ...], bodies: list[dict[str, Any]], tmp_path: Path
) -> None:
    body = copy.deepcopy(bodies[0])
    spoil(body)
    refuses(json.dumps(sealed(body)), tmp_path, *words)


def test_a_run_that_never_ends_is_refused(tmp_path: Path) -> None:
    body = body_of("fednova-vr-sign", "follows-c-i", "fednova-vr")
    for event in scenario(body)["events"]["tuple"]:
        event["fields"]["steps"] = {"tuple": [10**9 for _ in event["fields"]["steps"]["tuple"]]}
    refuses(json.dumps(sealed(body)), tmp_path, "steps: got a number above 10000")


def test_words_of_a_capsule_are_shown_as_they_are(bodies: list[dict[str, Any]], tmp_path: Path) -> None:
    body = copy.deepcopy(bodies[0])
    body.update(subject="[red]x\x1b[2J\n", version=":smile:")
    body["failures"][0]["deviation"].update(note="\x1b]0;title\x07")
    path = tmp_path / "capsule.json"
    path.write_text(json.dumps(sealed(body)))
    ran = inside("replay", str(path), "spec", "--details")
    assert ran.code == 0 and "\x1b" not in ran.out and "[red]x\\x1b[2J\\n :smile:" in ran.out


def spoiled(body: dict[str, Any], rng: random.Random) -> bytes:
    """The text with a change, sealed again where it still is an object."""
    line: bytes = FUZZ.mutated(json.dumps(body).encode(), rng)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return json.dumps(sealed(value)).encode() if isinstance(value, dict) else line


def test_mutated_capsules_are_refused_or_played(bodies: list[dict[str, Any]], tmp_path: Path) -> None:
    rng, counts, path = random.Random(5), Counter[str](), tmp_path / "capsule.json"
    for k in range(COUNT):
        path.write_bytes(spoiled(bodies[k % 2], rng))
        try:
            kept = read(path)
        except FedspecError as error:
            assert str(path) in str(error) and "make it again" in str(error)
            counts["refused"] += 1
            continue
        try:
            counts.update(r.outcome.name for r in replay_capsule(kept, InProcess(SUBJECT)))
        except FedspecError:
            counts["not offered"] += 1
    assert counts["refused"] > COUNT // 2 and counts["PASSES"] > COUNT // 20, counts


def test_an_offer_that_cannot_be_judged_is_refused(bodies: list[dict[str, Any]], tmp_path: Path) -> None:
    body = copy.deepcopy(bodies[0])
    body["offer"]["algorithm"] = "fedbest"
    path = tmp_path / "capsule.json"
    path.write_text(json.dumps(sealed(body)))
    inside("replay", str(path), "spec").refused("does not claim fedbest/server", "sgd/client")
    assert isinstance(read(path).offer, Offer)
