"""Right implementations conform; wrong ones do not, at the right equation, under the right name."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from test_judge.support import check, py, standalone, statuses

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

RIGHT = [
    (py("right:fedavg"), "*"),
    (py("right:fedprox"), "*"),
    (py("right:fednova"), "*"),
    (py("right:closed_nova"), "*"),
    (py("right:fedadam"), "*"),
    (py("right:fedyogi"), "*"),
    (py("right:fedamsgrad"), "*"),
    (py("right:proximal"), "*"),
    (py("right:momentum"), "*"),
    (py("right:flat_momentum"), "*"),
    (py("right:list_momentum"), "*"),
    (py("right:adam"), "*"),
    (py("right:sm3"), "*"),
    (standalone(), "*"),
    (py("wrong:chatters"), "*"),
    (py("wrong:honest_one_at_a_time"), "*"),
]


@pytest.mark.parametrize(
    ("implementation", "only"), [pytest.param(*row, id=f"{row[0].rpartition('/')[2]}-{row[1]}") for row in RIGHT]
)
def test_right_ones_conform(implementation: str, only: str) -> None:
    ran = check(implementation, "--only", only, cases=2)
    for row in ran.rows:
        assert row["verdict"] == "conforms", row["first_deviation"]
        assert row["passed"] == row["exercised"] == row["required"] > 0
        assert not row["first_deviation"] and not row["nearest"]
    assert ran.code == 0


class Wrong(NamedTuple):
    """A wrong subject and what the judge must say of it; no explanation is looked for where none is told here."""

    subject: str
    law: str
    equation: str
    says: str = ""
    nearest: str = ""


FOLLOWS = "follows-*"
SAME = "x follows the claimed reading"

NUMBERS = [
    Wrong("zero", FOLLOWS, "fedavg.step", "got", "every answer is zero"),
    Wrong("late", FOLLOWS, "fedavg.step", "got", "one event late"),
    Wrong("uniform", "zero-weight", "fedavg.step", "check zero-weight", "weights = uniform"),
    Wrong("population", "bystander", "fedavg.step", "check bystander", "p_i = n_i / n"),
    Wrong("last_only", "client-order", "fedavg.step", "check client-order", "only the last client counts"),
    Wrong("sorted_blocks", "follows-x", "fedavg.step", "", "blocks or axes are in another order"),
    Wrong("twice", "rate", "fedadam.step", "check rate", "the server rate is applied twice"),
    Wrong("forgetful", FOLLOWS, "fedadam.m", "round 2", "forgotten before every event"),
    Wrong("from_momentum", FOLLOWS, "fedadam.v", "round 1", "momentum-in-v"),
    Wrong("steps_normaliser", "unrolled", "fednova.step", "check unrolled", "tau_i instead of ||a_i||_1"),
    Wrong("steps_tau_eff", "fednova-equal*", "fednova.step", "check fednova-equal", "reading weighted-steps"),
    Wrong("shown_tau_eff", FOLLOWS, "fednova.tau_eff", "got", "reading weighted-steps"),
    Wrong("never_reset", "round-afresh", "momentum.", "check round-afresh", "the buffer outlives the round"),
    Wrong("correction_late", FOLLOWS, "adam.step", "got", "exponent t+1"),
    Wrong("single", FOLLOWS, "fedavg.step", "ratio", "float32 somewhere inside"),
]

MANNERS = [
    Wrong("transposed", FOLLOWS, "fedavg.step", "adapter: x['w'] has shape (1, "),
    Wrong("short", FOLLOWS, "fedavg.step", "adapter: x has shape (8,), the model's blocks have (2, 3), (3,)"),
    Wrong("short", "inputs", "fedavg.step", "adapter: x has shape "),
    Wrong("renamed", FOLLOWS, "fedavg.step", "'w.weight'"),
    Wrong("nan", FOLLOWS, "fedavg.step", "x[0] is nan", "no known variant; x[0] is nan after round 1"),
    Wrong("inf", FOLLOWS, "fedavg.step", "x[0] is inf"),
    Wrong("double", "dtype", "fedavg.step", "float64 from float32", SAME),
    Wrong("half_double", "dtype", "fedavg.step", "float64", SAME),
    Wrong("in_place", "inputs", "fedavg.step", "in place: event 1", SAME),
    Wrong("in_place_start", "inputs", "fedavg.step", "in place: x0", SAME),
    Wrong("writes_at_start", "inputs", "fedavg.step", "arrays that were handed in were changed in place: x0"),
    Wrong("writes_back", "inputs", "fedavg.step", "arrays that were handed in were changed in place: event 1"),
    Wrong("writes_problem", "inputs", "fedavg.step", "in place: problem"),
    Wrong("leaks", "repeats", "fedadam.", "a second run", ""),
    Wrong("leaks", "isolated", "fedadam.", "a second session", ""),
    Wrong("random", "repeats", "fedavg.step", "a second run", ""),
    Wrong("hides", FOLLOWS, "fedavg.delta", "adapter: the answer has no delta, m or v; return them"),
]


@pytest.mark.parametrize(Wrong._fields, [*NUMBERS, *MANNERS])
def test_wrong_ones_do_not(subject: str, law: str, equation: str, says: str, nearest: str) -> None:
    ran = check(py(f"wrong:{subject}"), "--law", law, explained=bool(nearest))
    (row,) = ran.rows
    assert (ran.code, row["verdict"]) == (1, "does not conform")
    assert row["passed"] < row["required"]
    failed = [o for o in row["obligations"] if o["status"] == "fail"]
    first = next(o for o in failed if row["first_deviation"].startswith(o["call"]))
    assert first["call"].startswith(f"{row['algorithm']}/{row['level']}")
    assert first["deviation"]["equation"].startswith(equation)
    assert says in row["first_deviation"]
    assert nearest in row["nearest"]
    assert not row["nearest"].startswith("not diagnosed")
    if law in {FOLLOWS, "*"} and subject != "hides":
        assert "follows-x" in statuses(row)["fail"]


def test_two_sessions_at_once_must_not_disturb_each_other() -> None:
    ran = check(py("wrong:one_at_a_time"), "--law", "isolated", explained=False)
    assert ran.code == 1 and ran.rows[0]["passed"] == 0


ERRORS = [
    (py("wrong:raises"), "RuntimeError: no kernel for this device"),
    (py("wrong:hangs"), "no answer to 'step' within 1 s"),
    (py("wrong:hangs_at_start"), "no answer to 'start' within 1 s (--limit; imports inside start count: those"),
    (py("wrong:dies"), "exited (code 7)"),
    (py("wrong:quits"), "exited (code 0)"),
    (py("wrong:nothing"), "returned NoneType"),
    (py("wrong:no_x"), "the key 'x'"),
    (py("wrong:awkward"), "return real numbers"),
]


@pytest.mark.parametrize(("implementation", "says"), ERRORS)
def test_silence_and_nonsense_are_errors(implementation: str, says: str) -> None:
    ran = check(implementation, "--only", "fedavg/server", "--limit", "1")
    (row,) = ran.rows
    assert (ran.code, row["verdict"]) == (2, "error")
    assert row["passed"] == row["exercised"] == 0 < row["required"]
    assert says in row["first_deviation"]
    assert "Traceback" not in ran.err
    # The first play ends it.
    assert row["required"] == 1 < row["unasked"]


def test_a_model_that_is_not_finite_does_not_conform() -> None:
    ran = check(standalone("bare-nan"), "--only", "fedavg/server", "--law", "follows-x", explained=False)
    assert (ran.code, ran.rows[0]["verdict"]) == (1, "does not conform")
    assert "is nan" in ran.rows[0]["first_deviation"]


def test_a_line_too_many_is_an_error() -> None:
    ran = check(standalone("twice"), "--only", "fedavg/server", "--law", "follows-x")
    assert (ran.code, ran.rows[0]["verdict"]) == (2, "error")


def test_words_before_the_handshake_are_an_error() -> None:
    check(standalone("noisy")).refused("warming up", "print")


def test_a_program_that_ends_at_once_is_quoted() -> None:
    check(standalone("mute")).refused("exited (code 1)", "no licence found")
