"""Every profile has its share of each test, and between make test and make outside no case is run twice."""

from __future__ import annotations

import pytest
import shares
from shares import Share, once, spread, tables

CASES = [(f"tests/t.py::test_t[{k}]", k) for k in range(100)]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred cases of half a second each."""
    monkeypatch.setattr(shares, "TIMES", {"tests/t.py::test_t": [100, 50.0]})


@pytest.mark.usefixtures("timed")
@pytest.mark.parametrize(
    ("share", "many"), [(Share(1, 3, 1), 6), (Share(1, 0.1, 1), 1), (Share(0.4, 3, 1), 0), (Share(1, 50, 1), 100)]
)
def test_as_many_as_there_is_time_for(share: Share, many: int) -> None:
    assert len(share.of("tests/t.py::test_t", CASES)) == many
    assert share.of("tests/t.py::test_other", CASES) == list(range(100))


def test_a_case_that_takes_no_time_takes_the_least() -> None:
    assert len(Share(1, 0.1, 1, 0.02).of("tests/t.py::test_other", CASES)) == 5


@pytest.mark.usefixtures("timed")
def test_a_case_more_puts_out_at_most_one() -> None:
    share = Share(1, 3, 1)
    before, after = (set(share.of("tests/t.py::test_t", CASES[:n])) for n in (99, 100))
    assert len(before) == 6 and len(before - after) <= 1
    assert share.of("tests/t.py::test_t", CASES[::-1]) == share.of("tests/t.py::test_t", CASES)


def test_what_is_set_up_for_many_counts_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "TIMES", {"tests/t.py::@made": [1, 40.0]})
    assert Share(1, 1, 30).of("tests/t.py::test_t", CASES, ["tests/t.py::@made"]) == []
    assert len(Share(1, 1, 50).of("tests/t.py::test_t", CASES, ["tests/t.py::@made"])) == 100


def test_long_cases_begin_the_stretches_of_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "TIMES", {"t.py::long": [3, 60.0], "t.py::longer": [1, 90.0], "t.py::short": [9, 9.0]})
    names = [*(f"t.py::short[{k}]" for k in range(9)), *(f"t.py::long[{k}]" for k in range(3)), "t.py::longer"]
    order = spread([(name, name) for name in names], 2)
    assert sorted(order) == sorted(names)
    assert order[:2] == ["t.py::longer", "t.py::long[1]"] and order[6:8] == ["t.py::long[0]", "t.py::long[2]"]
    assert [name for name in order if "short" in name] == names[:9]
    assert spread([("", name) for name in names], 2) == names, "what has a set-up of its own stays where it is"
    assert spread([(name, name) for name in names], 40) and spread([], 3) == []


@pytest.fixture(scope="module")
def made_once() -> int:
    return 1


@pytest.mark.usefixtures("made_once", "tmp_path")
def test_what_a_file_sets_up_once_is_known(request: pytest.FixtureRequest) -> None:
    assert once(request.node) == ["tests/test_judge/test_shares.py::@made_once"]


@pytest.mark.usefixtures("tmp_path", "timed")
def test_what_is_set_up_for_each_is_not_set_up_once(request: pytest.FixtureRequest) -> None:
    assert once(request.node) == []


def test_cases_of_one_test_are_one_table() -> None:
    ids = [("a::t[x[y]]", 1), ("a::u", 2), ("a::t[z]", 3)]
    assert tables(ids) == {"a::t": [ids[0], ids[2]], "a::u": [ids[1]]}
