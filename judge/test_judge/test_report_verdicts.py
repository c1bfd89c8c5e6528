"""Output of ``fedspec check``: first a summary, then the table, within the width, the rest on request."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from test_judge.results import asked, printed, result, wrong

from fedspec_suite.diagnosis.diagnosis import FOLLOWS, NONE, SMALL, SOME
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.verdict import Conformity, Deviation, Result, Status, Unseen
from fedspec_suite.report import sentences
from fedspec_suite.report.sentences import unknown
from fedspec_suite.report.terminal import Plain
from fedspec_suite.report.verdicts import lines

WIDTHS = (60, 80, 100, 200)
COMMANDS = ("again: ", "one claim alone: ")
UNKNOWN = wrong(
    "no known variant; every step is the specified one times t^-1",
    *(asked(law, Status.FAIL) for law in ("follows-x", "unrolled", "zero-weight", "unanimous", "mean")),
    *(asked(law) for law in ("client-order", "mirrors", "rests")),
)
LONG = {
    "subject": "a-package-with-a-name-that-is-much-longer-than-a-table-has-room-for-in-one-line (variant "
    + "y" * 60
    + ")",
    "version": "2026.11.20+" + "f" * 60,
    "algorithm": "fednova-adaptive",
    "reading": "as-printed",
    "options": {
        "tau_eff_choice": "weighted-norm",
        "nova_weights": "implied",
        "solver": "proximal",
        "server": "adagrad",
    },
    "fixed": {"beta1": 0.0, "beta2": 0.999, "v0": 1e-06},
    "notes": "n" * 300,
}
MANY = [
    result(Conformity.CONFORMS, asked("follows-x")),
    wrong("A at fedavg.step (ratio 1)", subject="other"),
    UNKNOWN,
    wrong("B, and " + "much more " * 40, **LONG),
    result(Conformity.ERROR, asked("follows-x", Status.ERROR), first_deviation="adapter: " + "E" * 300, **LONG),
    result(Conformity.INCONCLUSIVE, asked("rests", Status.INCONCLUSIVE), level="round"),
]


def rows(lines: list[str]) -> list[str]:
    """The lines of the table, wrapped ones among them."""
    begin = next(k for k, line in enumerate(lines) if line and set(line) == {"─"})
    return lines[begin + 1 : lines.index("", begin)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("results", [*([r] for r in MANY), MANY])
def test_nothing_is_wider_than_a_hundred_columns(width: int, results: list[Result]) -> None:
    brief = [line for line in printed(results, width) if not line.startswith(COMMANDS)]
    long = [line for line in printed(results, width, details=True) if "fedspec check" not in line]
    assert max(map(len, [*brief, *long])) <= min(width, 100)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_shows_its_verdict_and_its_count_whole(width: int) -> None:
    table = rows(printed(MANY, width))
    for r in MANY:
        # A narrow table may wrap a verdict between its words.
        shown = str(r.verdict) if width >= 100 else str(r.verdict).split()[0]
        assert any(f" {shown} " in line and line.endswith(f" {r.passed}/{r.required}") for line in table)
    assert sum(line.endswith(tuple(f"{r.passed}/{r.required}" for r in MANY)) for line in table) == len(MANY)


PART = result(
    Conformity.IN_PART,
    *(asked("follows-x") for _ in range(1234)),
    algorithm="gossip-fedamsgrad",
    reading="karimireddy-2020",
    seen=("x", "m", "v"),
    unseen=(Unseen("scaffold.c", "c = c + ...", ("c",)), Unseen("scaffold.c_i", "c_i = c_i + ...", ("c_i",))),
)


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("others", [[], MANY])
def test_a_long_verdict_is_broken_between_its_words_and_no_number_or_head_is(width: int, others: list[Result]) -> None:
    lines = printed([PART, *others], width)
    head = next(k for k, line in enumerate(lines) if line.startswith("  algorithm "))
    table = lines[head:]
    assert max(map(len, table[: len(rows(lines)) + 2])) <= width
    assert table[0].split()[-1] == "passed" and {"algorithm", "level", "reading", "verdict"} <= {*table[0].split()}
    assert any(line.endswith(" 1234/1234") for line in table)
    start = table[0].index("verdict")
    cells = [line[start:-11].strip() for line in table[1:] if line.startswith("  ") and "gossip" in line]
    assert cells and all(PART.said.startswith(cell) and PART.said[len(cell) :][:1] in {" ", ""} for cell in cells)


def test_a_verdict_is_wrapped_before_a_word_of_the_claim_breaks() -> None:
    r = replace(wrong("", asked("follows-x", Status.FAIL)), algorithm="fedadam", options={"weights": "examples"})
    table = printed([r], 60)
    assert any("weights=examples" in line for line in table) and not any("does not conform" in line for line in table)


def test_long_names_are_wrapped_and_not_cut() -> None:
    table = "".join("".join(rows(printed([MANY[3]], 100))).split())
    assert LONG["version"] in table and "y" * 60 in table
    for n, v in LONG["options"].items():  # type: ignore[attr-defined]
        assert f"{n}={v}" in table
    assert "fixedbeta1=0beta2=0.999v0=1e-06" in table


def test_the_summary_comes_before_the_table_and_the_command_after_it() -> None:
    lines = printed(MANY)
    assert lines[0] == "1 of 6 claims conforms, 3 do not, 1 gave no answer, 1 is inconclusive."
    order = [
        lines.index("does not conform:"),
        lines.index("error:"),
        lines.index("inconclusive:"),
        next(k for k, line in enumerate(lines) if "reading claimed" in line),
        next(k for k, line in enumerate(lines) if line.startswith(COMMANDS)),
        lines.index("profile quick, seed 0, 1 s"),
    ]
    assert order == sorted(order) and order[-1] == len(lines) - 1


@pytest.mark.parametrize(("n", "said"), [(1, "1 of 1 claim conforms."), (3, "3 of 3 claims conform.")])
def test_where_all_conform_the_summary_is_one_line(n: int, said: str) -> None:
    lines = printed([result(Conformity.CONFORMS, asked("follows-x"))] * n)
    assert lines[:2] == [said, ""] and "reading claimed" in lines[2]


def test_every_offer_that_does_not_conform_has_its_sentence() -> None:
    lines = printed(MANY)
    summary = lines[: next(k for k, line in enumerate(lines) if "reading claimed" in line)]
    assert "  other 0.1 fedavg: A at fedavg.step; first seen in round 2: x[1] is 0.25, not 0.5" in summary
    assert sum(line.startswith("  ") and not line.startswith("    ") for line in summary) == 5


@pytest.mark.parametrize("r", MANY[1:])
def test_an_offer_has_three_lines_in_the_summary_and_one_for_each_fact_where_nothing_fits(r: Result) -> None:
    lines = printed([r])
    assert 1 <= lines.index("", 2) - 2 <= (len(sentences.facts(r)) + 2 if unknown(r) else 3)


@pytest.mark.parametrize("nearest", [SMALL, SOME, f"in some cases {FOLLOWS}, not v: {NONE}"])
def test_who_deviates_in_a_law_s_cases_alone_is_told_the_law(nearest: str) -> None:
    r = wrong(nearest, asked("tie-stays", Status.FAIL), asked("unanimous"))
    assert f"    fails: {all_laws()['tie-stays'].words}" in printed([r])
    assert not any("fails:" in line for line in printed([wrong("v is forgotten", *r.obligations)]))


def test_an_unknown_variant_says_what_is_broken_and_what_holds() -> None:
    told = printed([UNKNOWN])[2:]
    assert told[0] == "  mine 0.1 fedavg: no known variant"
    assert told[1].startswith("    first seen in ") and " is " in told[1]
    assert told[2] == "    every step is the specified one times t^-1"
    fails, holds = (next(line for line in told if line.startswith(f"    {what}: ")) for what in ("fails", "holds"))
    assert all_laws()["zero-weight"].words in fails and holds.endswith("; and 2 more (--details)")


def test_what_is_left_out_of_a_list_is_counted() -> None:
    told = " ".join(" ".join(printed([UNKNOWN])[4:6]).split())
    shown = [law for law in ("unrolled", "zero-weight", "unanimous", "mean") if sentences.words(law) in told]
    assert 0 < len(shown) < 4 and f"; and {4 - len(shown)} more" in told
    short = wrong("no known variant", asked("follows-x", Status.FAIL), asked("zero-weight", Status.FAIL))
    assert f"    fails: {all_laws()['zero-weight'].words}" in printed([short])


@pytest.mark.parametrize(
    "nearest", ["no known variant; {}", f"{SMALL}; it deviates {{}}", "yours: {}, wanted: 1 at a.b"]
)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_first_wrong_number_is_never_cut(nearest: str, width: int) -> None:
    r = wrong(nearest.format("where this is so and that is not, " * 20), asked("follows-x", Status.FAIL))
    lines = printed([r], width)
    told = " ".join(" ".join(lines[2 : lines.index("", 2)]).split())
    assert "in round 2" in told and "x[1] is 0.25, not 0.5" in told and "where this is so" in told
    assert unknown(r) == ("…" not in told)


def test_float32_inside_says_how_to_offer_no_more() -> None:
    deviation = UNKNOWN.obligations[0].deviation
    assert deviation is not None
    off = asked("follows-x", Status.FAIL, deviation=type(deviation)("fedavg.step", "round 1", 0, 1.0000001, 1.0, 4e8))
    lines = printed([wrong("no known variant", off, asked("follows-x", Status.PASS, "float32"))])
    assert "agrees to float32 accuracy only" in lines[2]
    assert any('dtypes=("float32",)' in line for line in lines[3:5])


def test_twins_are_told_apart_in_summary_and_table() -> None:
    twins = [wrong("A", fixed=fixed) for fixed in ({"eta": 1.0}, {"eta": 0.5})]
    lines = printed([*twins, *(wrong("A", options={"weights": "uniform"}) for _ in "ab")])
    for told in ("fixed eta=1", "fixed eta=0.5", "weights=uniform (1 of 2)", "weights=uniform (2 of 2)"):
        assert any(line.startswith(f"  mine 0.1 fedavg {told}: ") for line in lines)
        assert any(f"  mcmahan-2017 {told} " in line for line in rows(lines))


def test_the_command_is_of_the_first_claim_that_does_not_conform() -> None:
    def of(verdict: Conformity, name: str) -> Result:
        return result(verdict, command=f"fedspec check {name} --only fedavg/server", algorithm=name)

    good, bad, lost = of(Conformity.CONFORMS, "a"), of(Conformity.DOES_NOT, "b"), of(Conformity.ERROR, "c")
    for results, said in (
        ([good], "again: fedspec check a --only fedavg/server"),
        ([good, good], "one claim alone: fedspec check a --only fedavg/server"),
        ([good, bad, lost], "one claim alone: fedspec check b --only fedavg/server"),
        ([lost, bad], "one claim alone: fedspec check c --only fedavg/server"),
    ):
        assert [line for line in printed(results) if line.startswith(COMMANDS)] == [said]
    assert not any("fedspec check" in line for line in printed([result(command="")]))


def test_a_program_that_the_shell_does_not_find_is_named_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["a folder/fedspec"])
    monkeypatch.setenv("PATH", "")
    (line,) = (line for line in printed([NOTED[0]]) if line.startswith(COMMANDS))
    assert line == "again: 'a folder/fedspec' check noted"


NOTED = [
    result(
        Conformity.CONFORMS,
        asked("follows-x"),
        asked("follows-delta", Status.SKIP, reason="skipped: the adapter doesn't return delta"),
        notes="the adapter divides by n",
        command="fedspec check noted",
    ),
    UNKNOWN,
]


def test_notes_obligations_denominators_and_commands_come_on_request() -> None:
    wanted = (
        "the adapter divides by n",
        "the adapter doesn't return delta",
        "9 of 9 checks decided on 120 cases, 4 passed; 1 skipped; 2 claims",
        "fedavg.step round 2; got[1] 0.25, want 0.5; ratio 1e+15",
        all_laws()["rests"].words,
        all_laws()["unrolled"].words,
    )
    brief, long = (" ".join(" ".join(printed(NOTED, details=details)).split()) for details in (False, True))
    for words in wanted:
        assert words not in brief and words in long
    assert "1 check skipped; to run it, return delta from `step` and list it in `intermediates`" in brief


def test_a_traceback_comes_on_request_and_once() -> None:
    trace = "Traceback (most recent call last):\n  File \"a.py\", line 3, in step\n    [/red]\nKeyError: 'lr'\n"
    silent = [asked("follows-x", Status.ERROR, dtype, detail=trace) for dtype in ("float64", "float32")]
    r = result(Conformity.ERROR, *silent, first_deviation="adapter: KeyError: 'lr' (a.py, line 3)")
    assert not any("Traceback" in line for line in printed([r]))
    lines = printed([r], details=True)
    at = lines.index("    Traceback (most recent call last):")
    assert lines[at - 1] == "  what the adapter says of follows-x/float64:"
    assert lines[at + 1 : at + 4] == ['      File "a.py", line 3, in step', "        [/red]", "    KeyError: 'lr'"]
    assert sum("Traceback" in line for line in lines) == 1


def test_no_offers_print_no_rows() -> None:
    assert printed([])[0] == "0 of 0 claims conform."


@pytest.mark.parametrize("width", [60, 80, 120])
def test_words_of_the_table_of_checks_are_whole(width: int) -> None:
    note = "in a case with numbers of 9.31322574615478e-10, tau = 9.31322574615478e-10, and unusual magnitudes"
    at = Deviation("fednova-adaptive.tau_eff", "round 12", 3, 0.0435928645123, 0.0726423538456, 1.01e14, note=note)
    r = wrong("no known variant", asked("far-coordinates", Status.FAIL, deviation=at), asked("reading-requires"))
    narrow, wide = (" ".join(printed([r], w, details=True)).split() for w in (width, 100))
    # The summary leaves out what has no room.
    assert {word for word in narrow if not word.endswith("...")} <= {*wide} | {"─" * width}


def test_a_line_for_each_claim_gives_its_verdict_and_its_sizes() -> None:
    played = asked("follows-x", extent={"rounds": (1.0, 50.0), "clients": (3.0, 3.0), "coordinates": (1.0, 971.0)})
    silent = result(Conformity.ERROR, asked("rests", Status.ERROR), first_deviation="adapter: KeyError: 'lr'")
    out = StringIO()
    lines([result(Conformity.CONFORMS, played), silent, UNKNOWN], Plain(file=out, width=60))
    good, lost, bad = out.getvalue().splitlines()
    assert good.endswith(": conforms, 1 of 1 check passed; covers 1 to 50 rounds, 3 clients, 1 to 971 parameters")
    assert lost.endswith(": error: KeyError: 'lr'")
    assert bad.endswith(": does not conform, 3 of 8 checks passed")
