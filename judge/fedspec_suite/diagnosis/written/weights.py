"""Weights of a subject's mean, solved for from its models and written as a formula of what clients report.

The aggregate of a round is the sum of b_i times row i (``population.weigh``). It is found from the model; if the rows
are linearly independent, least squares gives each b_i. The formula search of ``formulas.py`` writes b_i from n_i,
tau_i, ||a_i||_1 and their sums. So an unlisted weighting has a name too, for example sqrt(n_i) / sum(sqrt(n_j)).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.source_text import copied, loaded
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.diagnosis.defects.shares import Row, over_rows, rows_of
from fedspec_suite.diagnosis.edits.edit import Put
from fedspec_suite.diagnosis.variants import CANNOT, Variant, equation_of, of_own
from fedspec_suite.diagnosis.written.notation import in_symbols
from fedspec_suite.diagnosis.written.plays import Play
from fedspec_suite.diagnosis.written.replay import as_shown
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.formulas import ROWS, evaluated, smallest, terms_of
from fedspec_suite.measure.reaching import WEIGH, OpenMean, flat_model, reach
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

FLOOR = "where_less(p_i, 1, 0 * p_i, 1 + 0 * p_i)"
"""Integer division of weights that are at most 1."""

REPORTED = ("n_i", "tau_i", "a_i")
"""Numbers that a client reports; the largest among the participants may divide."""

LEAVES = (*REPORTED, "n_i[::-1]", "log(1 + n_i)", FLOOR)
"""Numbers of a client, and functions of them that the formula search does not build."""

FORMS = (
    *("n_i**2", "sqrt(n_i)", "1 / n_i", "n_i + 1", "maximum(n_i, 1)", "tau_i**2", "sqrt(tau_i)", "1 / tau_i"),
    *("n_i * above_1", "n_i * rest", "tau_i + 1", "n_i * tau_i", "n_i / tau_i", "n_i * a_i", "n_i / a_i", "1 / a_i"),
)
"""Further functions of one client whose sums over the participants may divide."""

FAMILIES = ("minimum(n_i, {c})", "maximum(n_i, {c})", "n_i + {c}", "exp({c} * log(n_i))")
"""Such functions with a number that the subject has chosen."""

WORDS = {"S": "sum", "X": "max"}
"""Names of what is made of a form over the participants, by the first letter of its symbol."""

BRACKETS = {"first": "[i = 1]", "last": "[i = M]", "rest": "[i < M]", "above_1": "[n_i > 1]"}
"""Iverson brackets: 1 for the clients for which the condition holds, else 0."""

MEANT = {
    **{"M": "the number of participants", "N": "the number of clients", "n": "the examples of all clients"},
    "]": "1 if the condition holds, else 0",
}
"""Symbols of formulas that need an explanation."""

SLACK = 1e-7
"""Largest relative error of a weight that is solved for."""

NEAR_0 = 1e-9
"""Largest weight that is printed as 0."""

CONDITION = 1e4
"""Largest condition number of the rows of a round whose weights are solved for."""

TRIED = 4
"""Number of formulas that are checked in whole plays, the smallest first."""


@dataclass(frozen=True)
class Round:
    """Weights of one round.

    Attributes:
        b: the subject's weights.
        w: the claimed ones.
        rows: the participants.
        s: the case.
    """

    b: Array
    w: Array
    rows: Sequence[Row]
    s: Scenario


def weighted(plays: Sequence[Play], setting: Setting) -> Iterator[Variant]:
    """The claimed rule with the subject's weights, if one formula gives them in all plays."""
    rounds = _solved(plays, everywhere=False)
    if not rounds or all(near(r.b, r.w).all() for r in rounds):
        return
    lone = all(len(r.w) == 1 or near(r.b, r.w).all() for r in rounds)
    forms = (*LEAVES, *FORMS, *_own_forms(rounds))
    bracketed = (k for k, form in enumerate(forms) if form == FLOOR or any(name in form for name in BRACKETS))
    conditions = {"M", *BRACKETS, *(f"{which}{k}" for k in bracketed for which in "FSX")}
    wanted = next(_formulas(rounds, [r.w for r in rounds], forms, of_claimed=False), None)
    for formula in islice(_formulas(rounds, [r.b for r in rounds], forms, of_claimed=True), TRIED):
        if lone and loaded(formula) & conditions:
            # Such a formula is a condition on the number of participants, which is said better elsewhere.
            continue
        yield _variant(setting, formula, wanted, forms)


def observed(plays: Sequence[Play], *, alike: bool = True) -> str:
    """The subject's weights in the first round where they deviate, as numbers; empty if they deviate in none.

    Args:
        plays: the subject's runs.
        alike: True: also count weights that are the claimed ones times one factor, which may be a factor of the rate.
    """
    for r in _solved(plays, everywhere=True):
        if len(r.w) > 1 and not near(r.b, r.w).all() and (alike or np.ptp(r.b / r.w) > SLACK):
            columns = ([float(k.size) for k in r.rows], r.b, r.w)
            n, b, w = (", ".join(f"{v if abs(v) > NEAR_0 else 0:.4g}" for v in column) for column in columns)
            return f"clients with {n} examples weigh {b}, not {w}"
    return ""


def _own_forms(rounds: Sequence[Round]) -> Iterator[str]:
    """Members of the families whose number two clients of many rounds agree on."""
    for family in FAMILIES:
        found: Counter[float] = Counter()
        for r in rounds:
            n = np.array([float(row.size) for row in r.rows])
            for i, k in combinations(range(len(n)), 2):
                found.update({float(f"{c:.6g}") for c in _numbers(family, n[i], n[k], r.b[i], r.b[k]) if 0 < c < 1e4})
        for c, times in found.most_common(1):
            if times > len(rounds) / 4:
                yield family.format(c=f"{c:g}")


def _numbers(family: str, n: float, m: float, b: float, d: float) -> tuple[float, ...]:
    """Numbers of a family's member f for which f(n) / f(m) is b / d."""
    with np.errstate(all="ignore"):
        if "exp" in family:
            return (float(np.log(b / d) / np.log(n / m)),)
        return ((b * m - d * n) / (d - b),) if "+" in family and b != d else (n * d / b, m * b / d)


def near(a: Array, b: Array) -> Array:
    """Tell of each number whether it is the wanted one, but for roundings."""
    found: Array = np.abs(a - b) <= SLACK * (np.abs(b) + 1)
    return found


def weights_of(y: Array, rows: Array) -> Array | None:
    """Return the weights of the sum of rows that a vector is; None if the rows don't determine them.

    Raises:
        KeyError: the vector is no such sum.
    """
    # With one coordinate more than clients, a vector that is no weighted sum of the rows shows.
    if len(rows) >= rows.shape[1] or np.linalg.cond(rows) >= CONDITION:
        return None
    b: Array = np.linalg.lstsq(rows.T, y, rcond=None)[0]
    if not near(b @ rows, y).all():
        raise KeyError("no weighted sum of the rows")
    return b


def _solved(plays: Sequence[Play], *, everywhere: bool) -> list[Round]:
    """The weights of the rounds, in each case up to one that has none; no weights at all if ``everywhere``."""
    found: list[Round] = []
    for play in plays:
        try:
            found += _rounds(play)
        except (KeyError, *CANNOT):
            if everywhere:
                return []
    return found


def _rounds(play: Play) -> Iterator[Round]:
    """The weights of each round of a case.

    Raises:
        KeyError: a round takes another number of means than one, or no weighted mean leads to the subject's model.
    """
    mean = OpenMean()
    last: dict[str, Any] = {}
    session = play.session({WEIGH: mean.in_place})
    waits: list[Row] = []
    for k, (event, answer) in enumerate(zip(play.s.events, play.answers, strict=False)):
        waits += rows_of(session, event, k)
        before = {**vars(session)}

        def taken(y: Array | None, event: Any = event, before: Any = before) -> Array:
            vars(session).update(before)
            mean.now = y
            mean.calls.clear()
            last.clear()
            last.update(session.step(event))
            return flat_model(last)

        plain = taken(None)
        if len(mean.calls) != 1 or len(mean.calls[0][0]) != len(waits):
            if mean.calls:
                raise KeyError("not one mean of the waiting changes")
            continue
        w, rows = mean.calls[0]
        y = mean_of(session, answer, last, taken, w @ rows, plain)
        if (b := weights_of(y, rows)) is not None:
            yield Round(b, w, [*waits], play.s)
        waits.clear()


def mean_of(
    session: Any, answer: Shown, claimed: Mapping[str, Any], taken: Callable[[Array], Array], made: Array, plain: Array
) -> Array:
    """Return the mean that a subject took in an event: the one that leads to a quantity that it shows, or to its model.

    What is shown comes first: two means may lead to one model, as in FedYogi, whose v goes up or down.

    Args:
        session: the claimed rule's session after the event; it goes on from what the subject shows.
        answer: the subject's answer.
        claimed: the session's, made anew by ``taken``.
        taken: the model for what the mean is.
        made: the claimed mean.
        plain: the model that this leads to.

    Raises:
        KeyError: no mean leads to the model.
    """
    first = {n: np.asarray(v, float) for n, v in claimed.items() if n != "x" and n in answer}
    # The mean itself before what is made of it, which may be wrong too.
    for n, want in sorted(first.items(), key=lambda one: not np.array_equal(one[1], made)):
        if want.shape != made.shape:
            continue
        if np.array_equal(want, made):
            taken(y := np.asarray(answer[n], float))
            session.state = as_shown(session.state, answer)
            return y

        def through(y: Array, n: str = n) -> Array:
            taken(y)
            return np.asarray(claimed[n], float)

        up, down = through(made + 1), through(made - 1)
        if np.array_equal(up, want) or not np.allclose(up - want, want - down):
            # It doesn't move with the mean, or not in proportion to it.
            continue
        try:
            y = reach(through, np.asarray(answer[n], float), made, want)
        except KeyError:
            continue
        session.state = as_shown(session.state, answer)
        return y
    return reach(taken, np.asarray(answer["x"], float), made, plain)


def _values(w: Any, rows: Sequence[Row], s: Scenario, forms: Sequence[str]) -> dict[str, Any]:
    """Arrays that formulas may read, in the arithmetic of the weights: ``S3`` sums form 3, ``X3`` is its largest."""
    zero = 0 * w
    clients = s.case.problem.examples if s.case.problem else ()
    found: dict[str, Any] = {"p_i": w, "M": zero + len(rows)}
    found |= {"N": zero + len(clients), "n": zero + sum(clients)} if len(clients) else {}
    for name, field in (("n_i", "size"), ("tau_i", "steps"), ("a_i", "norm")):
        column = [getattr(r, field) for r in rows]
        if not any(value is None for value in column):
            found[name] = zero + np.array(column)
    place = np.arange(len(rows))
    masks = [place == 0, place == len(rows) - 1, place < len(rows) - 1, [bool(r.size > 1) for r in rows]]
    found |= {n: zero + np.array(mask, int) for n, mask in zip(BRACKETS, masks, strict=True)}
    for k, form in enumerate(forms):
        try:
            found[f"F{k}"] = zero + evaluated(form, found)
            found[f"S{k}"] = zero + sum(found[f"F{k}"].tolist())
            if form in REPORTED:
                found[f"X{k}"] = zero + max(found[f"F{k}"].tolist())
        except CANNOT:
            continue
    return found


def _formulas(
    rounds: Sequence[Round], wants: Sequence[Array], forms: Sequence[str], *, of_claimed: bool
) -> Iterator[ast.expr]:
    """Yield formulas that give the wanted weights in every round, the smallest first; p_i if ``of_claimed``."""
    values = [_values(r.w, r.rows, r.s, forms) for r in rounds]
    columns = {n: np.concatenate([v[n] for v in values]) for n in values[0] if all(n in v for v in values)}
    # A column of ones would stand for the constant 1: of lone clients, M does.
    usable = {n for n, v in columns.items() if np.isfinite(v).all() and not (v == 1).all()}
    columns = {n: v for n, v in columns.items() if n in usable and (n != "p_i" or of_claimed)}
    sizes = {n: 2 if n[0] in "SX" or n in {f"F{k}" for k in range(len(LEAVES), len(forms))} else 1 for n in columns}
    yield from fitting(columns, np.concatenate(wants), sizes)


def fitting(columns: Mapping[str, Array], want: Array, sizes: Mapping[str, int]) -> Iterator[ast.expr]:
    """Yield formulas of columns that give the wanted numbers, the smallest first."""
    rows = np.resize(np.random.default_rng(3).permutation(len(want)), ROWS)
    for answer in smallest(terms_of(columns, rows, sizes), want[rows], (SLACK * (np.abs(want) + 1))[rows]):
        if near(evaluated(ast.unparse(answer.expression), columns), want).all():
            yield answer.expression


def _variant(setting: Setting, formula: ast.expr, wanted: ast.expr | None, forms: Sequence[str]) -> Variant:
    """The claimed rule with other weights."""
    text = ast.unparse(formula)
    if wanted:
        written = Put(ast.Name("p_i", ast.Load()), wanted).visit(copied(formula))
    yours, claimed = (f"p_i = {_in_words(f, forms)}" if f else "" for f in (written if wanted else formula, wanted))

    def mean(there: Callable[..., Any], waits: Sequence[Row], x: Any, s: Scenario, w: Any, rows: Any) -> Any:
        own = len(w) == len(waits)
        return there(0 * w + evaluated(text, _values(w, waits, s, forms)) if own else w, rows)

    equation = equation_of(setting, "w") or equation_of(setting, "delta")
    return of_own(
        setting, yours, claimed, equation, defects=(Defect(words="", session=partial(over_rows, WEIGH, mean)),)
    )


def _in_words(formula: ast.expr, forms: Sequence[str]) -> str:
    """A formula as a person reads it."""

    def put(found: re.Match[str]) -> str:
        form = in_symbols(ast.parse(forms[int(found[2])], mode="eval").body, ()).replace("n_i[::-1]", "n_(M+1-i)")
        if forms[int(found[2])] == FLOOR:
            return "floor(n_i / sum(n_j))"
        form = re.sub(r"exp\((.*) log\(n_i\)\)", r"n_i^\1", form)
        if found[1] in WORDS:
            return f"{WORDS[found[1]]}({form.replace('_i', '_j')})"
        return f"({form})" if " + " in form.partition("(")[0] else form

    text = re.sub(r"\b([FSX])(\d+)\b", put, in_symbols(formula, ()))
    text = re.sub(r"\ba_([ij])", r"||a_\1||_1", text)
    for name, bracket in BRACKETS.items():
        text = re.sub(rf"\b{name}\b", bracket, text)
    meant = (f"{n.replace(']', '[...]')} = {w}" for n, w in MEANT.items() if re.search(rf"(?<!\w){n}(?!\w)", text))
    return "; ".join([text, *meant])
