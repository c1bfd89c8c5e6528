"""Each profile runs its cases of a table, and make test and make outside together leave no function out."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

Choice = Callable[[str, list[Any]], list[Any]]


def case(name: str, **marks: tuple[int, ...]) -> Any:
    found = {mark: SimpleNamespace(args=args) for mark, args in marks.items()}
    return type("Case", (), {"nodeid": name, "get_closest_marker": lambda self, mark: found.get(mark)})()


def table(many: int, **marks: tuple[int, ...]) -> list[Any]:
    return [case(f"t.py::test_t[{k}]", **marks) for k in range(many)]


@pytest.mark.parametrize(
    ("marks", "quick", "test", "outside", "alone"),
    [
        ({}, 100, 100, 0, 100),
        ({"table": (20,)}, 2, 20, 20, 100),
        ({"table": (9,)}, 0, 9, 9, 100),
        ({"table": (70,)}, 7, 70, 30, 100),
        ({"table": (20, 60)}, 2, 20, 60, 100),
        ({"slow": ()}, 0, 0, 100, 100),
        ({"slow": (), "table": (3,)}, 0, 0, 3, 100),
        ({"outside": ()}, 0, 0, 100, 0),
        ({"outside": (), "table": (3,)}, 0, 0, 3, 0),
        ({"night": ()}, 0, 0, 0, 0),
    ],
)
def test_as_many_as_the_marks_say(
    choice: Choice, marks: dict[str, tuple[int, ...]], quick: int, test: int, outside: int, alone: int
) -> None:
    cases = table(100, **marks)
    ran = {p: choice(p, cases) for p in ("quick", "test", "outside", "full", "soak")}
    assert [len(found) for found in ran.values()] == [quick, test, outside, alone, 100]
    assert {*ran["quick"]} <= {*ran["test"]} and not {*ran["test"]} & {*ran["outside"]}
    assert ran["test"] == [c for c in cases if c in ran["test"]], "in the order of their collection"


def test_marks_of_single_cases_hold_for_them_alone(choice: Choice) -> None:
    cases = [*table(5), *(case(f"t.py::test_t[{k}]", slow=()) for k in range(5, 9))]
    assert choice("quick", cases) == choice("test", cases) == cases[:5]
    assert choice("outside", cases) == cases[5:]


def test_a_new_case_displaces_at_most_one(choice: Choice) -> None:
    cases = table(100, table=(6,))
    before, after = ({*choice("test", cases[:n])} for n in (99, 100))
    assert len(before) == 6 and len(before - after) <= 1


def test_no_function_is_run_by_neither(never_run: set[str]) -> None:
    assert not never_run


def test_an_undeclared_mark_is_refused() -> None:
    with pytest.raises(pytest.fail.Exception, match="'tabel' not found in `markers`"):
        pytest.mark.tabel  # noqa: B018
