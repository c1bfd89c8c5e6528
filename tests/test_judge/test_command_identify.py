"""``fedspec identify`` names what an implementation is, whatever it claims."""

from __future__ import annotations

import json

from test_judge.support import fedspec, py


def test_a_wrong_one_is_named() -> None:
    ran = fedspec("identify", py("wrong:forgetful"), "--json")
    (row,) = json.loads(ran.out)
    assert ran.code == 0 and not row["follows"]
    assert row["found"][0]["words"] == "all state but the model is forgotten before every event"
    assert row["found"][0]["equation"] == "fedadam.step" and row["found"][0]["parts"] == 1


def test_a_right_one_is_what_it_claims() -> None:
    ran = fedspec("identify", "spec", "--only", "fedavg/server", "--json")
    assert ran.code == 0
    assert [(r["claims"], r["follows"], r["found"]) for r in json.loads(ran.out)] == [
        ("mcmahan-2017", True, []),
        ("mcmahan-2017 weights=uniform", True, []),
        ("mcmahan-2017 weights=steps", True, []),
    ]


def test_what_nothing_explains_is_said() -> None:
    ran = fedspec("identify", py("wrong:sorted_blocks"), "--json")
    (row,) = json.loads(ran.out)
    assert ran.code == 1 and not row["found"]
    assert row["words"].startswith("no known variant; the numbers are those wanted, at other places")
    printed = fedspec("identify", py("wrong:sorted_blocks")).out
    assert "sorted_blocks (1)" in printed and "at other places" in " ".join(printed.split())


def test_one_that_does_not_answer_is_an_error() -> None:
    assert fedspec("identify", py("wrong:raises")).code == 2
